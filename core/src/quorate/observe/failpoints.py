"""Failpoints: places at which a test makes the process fail."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

#: The environment variable with failpoints to arm at start: "name=kill,name=kill".
VARIABLE: Final = "QUORATE_FAILPOINTS"

_armed: Final[dict[str, Callable[[], None]]] = {}


def failpoint(name: str) -> None:
    """Trigger the failpoint, if it is armed."""
    if _armed and (action := _armed.get(name)) is not None:
        action()


@contextmanager
def arm(name: str, action: Callable[[], None]) -> Iterator[None]:
    """Arm a failpoint within the `with` block."""
    _armed[name] = action
    try:
        yield
    finally:
        _armed.pop(name, None)


@contextmanager
def disarmed() -> Iterator[None]:
    """Disarm all failpoints within the `with` block."""
    armed = dict(_armed)
    _armed.clear()
    try:
        yield
    finally:
        _armed.update(armed)


def arm_from(text: str) -> None:
    """Arm failpoints from a text like "install.swapped=kill", for the life of the process.

    Raises `ValueError` for an invalid text.
    """
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, _, action = part.partition("=")
        if not name or action != "kill":
            raise ValueError(f"{VARIABLE} holds {part!r}: write <failpoint>=kill")
        _armed[name] = _kill


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


arm_from(os.environ.get(VARIABLE, ""))
