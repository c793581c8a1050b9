"""Until when the gRPC call that this task serves has to be answered."""

from contextvars import ContextVar
from time import monotonic
from typing import Final

#: By the clock of the machine, which is that of the loop: to ask for the loop costs a system call.
#: None: the caller set no deadline, or there is no call.
_deadline: Final[ContextVar[float | None]] = ContextVar("quorate_rpc_deadline", default=None)


def begin(remaining: float | None) -> None:
    """Note in the task of a call how many seconds its caller gives it."""
    _deadline.set(None if remaining is None else monotonic() + remaining)


def remaining_s() -> float | None:
    """Return the seconds that are left to the call which this task serves.

    None outside of a call, and in one whose caller set no deadline: the node's own timeouts hold.
    """
    deadline = _deadline.get()
    return None if deadline is None else max(0.0, deadline - monotonic())


def within_s(otherwise: float) -> float:
    """Return the seconds that are left to the call, or another number where none is set."""
    left_s = remaining_s()
    return otherwise if left_s is None else left_s
