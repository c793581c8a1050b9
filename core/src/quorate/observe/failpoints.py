"""Places at which a test makes the process fail: nothing happens where nothing is armed."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

#: What is armed in a process that is started: "name=kill,name=kill".
VARIABLE: Final = "QUORATE_FAILPOINTS"

_armed: Final[dict[str, Callable[[], None]]] = {}


def failpoint(name: str) -> None:
    """Do what was armed under this name, if anything was."""
    if _armed and (action := _armed.get(name)) is not None:
        action()


@contextmanager
def arm(name: str, action: Callable[[], None]) -> Iterator[None]:
    """Let a failpoint do something inside the `with` block."""
    _armed[name] = action
    try:
        yield
    finally:
        _armed.pop(name, None)


@contextmanager
def disarmed() -> Iterator[None]:
    """Let no failpoint do anything inside the `with` block, which arms none itself."""
    armed = dict(_armed)
    _armed.clear()
    try:
        yield
    finally:
        _armed.update(armed)


def arm_from(text: str) -> None:
    """Arm what a text like "install.swapped=kill" names, for the life of the process.

    Raises `ValueError` for anything that is no such text.
    """
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, _, action = part.partition("=")
        if not name or action != "kill":
            raise ValueError(f"{VARIABLE} holds {part!r}: write <failpoint>=kill")
        _armed[name] = _kill


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


arm_from(os.environ.get(VARIABLE, ""))
