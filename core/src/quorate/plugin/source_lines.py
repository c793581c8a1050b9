"""Where declarations are written, so that a problem names its line."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable
from traceback import walk_tb
from types import FrameType
from typing import Any, Final, TypeVar

_HOST: Final = "quorate.plugin"
_MACHINERY: Final = ("<string>", dataclasses.__file__)

D = TypeVar("D", bound="Declaration")


class Declaration:
    """What a plugin declares knows its line: `path:line`, or "" where the host derived it."""

    __slots__ = ("where",)

    where: str

    def __post_init__(self) -> None:
        """Note who makes it."""
        frame: Any = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename in _MACHINERY:
            frame = frame.f_back
        own = frame is None or f"{frame.f_globals.get('__name__')}.".startswith(f"{_HOST}.")
        placed(self, "" if own else f"{frame.f_code.co_filename}:{frame.f_lineno}")


def placed(declaration: D, where: str) -> D:
    """Return a declaration that is derived of something written there."""
    object.__setattr__(declaration, "where", where)
    return declaration


def place_in(subjects: Iterable[tuple[str, str]], what: str) -> str:
    """Return the place of the subject that a sentence names first; "": of none."""
    found = [
        (what.find(f"{subject} "), -len(subject), where)
        for subject, where in subjects
        if where and f"{subject} " in f"{what} "
    ]
    return min(found)[2] if found else ""


def place_of_hook(function: object) -> str:
    """Return where a hook is defined; "": it is made by the host."""
    code = getattr(function, "__code__", None)
    if code is None or f"{getattr(function, '__module__', '')}.".startswith(f"{_HOST}."):
        return ""
    return f"{code.co_filename}:{code.co_firstlineno}"


def place_of_error(error: BaseException) -> str:
    """Return the last line of a plugin's own that an exception passed; "": it passed none."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    lines = [
        f"{frame.f_code.co_filename}:{line}"
        for frame, line in walk_tb(error.__traceback__)
        if _is_own(frame)
    ]
    return lines[-1] if lines else ""


def _is_own(frame: FrameType) -> bool:
    module = f"{frame.f_globals.get('__name__')}."
    file = frame.f_code.co_filename
    foreign = ("importlib.", "_frozen_importlib", "pluggy.", "google.", f"{_HOST}.")
    return not module.startswith(foreign) and not file.startswith("<")
