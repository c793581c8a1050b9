"""The user of the call that this task serves."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

#: Empty: none was shown.
_user: Final[ContextVar[str]] = ContextVar("quorate_etcd_user", default="")


def user() -> str:
    """Return the user of the call that this task serves."""
    return _user.get()


def serve(name: str) -> None:
    """Record the user of the call that this task serves."""
    _user.set(name)
