"""Waits for a condition, never for a fixed time."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

#: Time limit for any condition that a test waits for.
PATIENCE_S: Final = 60.0
_POLL_S: Final = 0.005

T = TypeVar("T")


def until(find: Callable[[], T | None]) -> T:
    """Poll until `find` returns an answer; raises `TimeoutError`."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := find()) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{find} found nothing in {PATIENCE_S} s")
        time.sleep(_POLL_S)
    return found
