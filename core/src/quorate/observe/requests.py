"""The id of the call that a task serves, for errors, logs and flight recorders.

It comes with the name of the call's span, if the call is traced: see `Traces`.
"""

from __future__ import annotations

import os
from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from quorate.observe.recorder import Recorder

#: The key of the metadata with the caller's span and its sampling decision.
SPAN_KEY: Final = "traceparent"
#: Differs in each process.
_PREFIX: Final = os.urandom(4).hex()
_numbers: Final = count(1)
#: Id, span and recorder.
_Call: TypeAlias = "tuple[str, str, Recorder | None]"
_NONE: Final[_Call] = ("", "", None)
_current: Final[ContextVar[_Call]] = ContextVar("quorate_request", default=_NONE)


def begin(recorder: Recorder | None, span: str = "") -> str:
    """Assign an id to the call that this task serves, and return it."""
    request = f"{_PREFIX}-{next(_numbers):x}"
    _current.set((request, span, recorder))
    return request


def current() -> str:
    """Return the id of the call that this task serves; outside of a call an empty text."""
    return _current.get()[0]


def origin() -> tuple[str, str]:
    """Return the id of the call that this task serves, and the name of its span."""
    return _current.get()[:2]


def trace_of(span: str) -> str:
    """Return the id of the trace of a span by its name, which is that of W3C's Trace Context."""
    return span[3:35]


def failed(what: str, outcome: str, reason: str) -> None:
    """Record that the call, or one of its commands, failed."""
    request, _, recorder = _current.get()
    if recorder is not None:
        recorder.event("failed", request=request, what=what, outcome=outcome, reason=reason)


def forget() -> None:
    """Detach this task from its call, as it goes on to serve others with their own ids."""
    _current.set(_NONE)
