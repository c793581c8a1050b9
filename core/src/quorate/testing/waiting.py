"""Waits for a condition, and never for an amount of time."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

#: How long anything may take that a test waits for.
PATIENCE_S: Final = 60.0
_POLL_S: Final = 0.005

T = TypeVar("T")


def until(find: Callable[[], T | None]) -> T:
    """Ask until there is an answer; raises `TimeoutError`."""
    deadline = time.monotonic() + PATIENCE_S
    while (found := find()) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(f"{find} found nothing in {PATIENCE_S} s")
        time.sleep(_POLL_S)
    return found
