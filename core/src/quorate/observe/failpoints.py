"""Failpoints: places at which a test makes the process fail."""

import errno
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

#: The environment variable with failpoints to arm at start: "name=kill,name=full:/a/path".
VARIABLE: Final = "QUORATE_FAILPOINTS"

_FULL: Final = "full:"
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

    "name=full:/a/path" simulates a full disk while a file exists at the path.
    Raises `ValueError` for an invalid text.
    """
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, _, action = part.partition("=")
        if name and action == "kill":
            _armed[name] = _kill
        elif name and action.startswith(_FULL):
            _armed[name] = partial(_be_full, Path(action.removeprefix(_FULL)))
        else:
            raise ValueError(f"{VARIABLE} holds {part!r}: write <failpoint>=kill")


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _be_full(path: Path) -> None:
    if path.exists():
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


arm_from(os.environ.get(VARIABLE, ""))
