"""The caller of the gRPC call that this task serves."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from quorate.plugin import Caller
from quorate.plugin.node import NODE
from quorate.rpc.methods import Context
from quorate.shards.routing.forwarding import Asked

#: A caller that has proved no name.
NOBODY: Final = Caller()

_caller: Final[ContextVar[Caller]] = ContextVar("quorate_rpc_caller", default=NODE)
_asked: Final[ContextVar[Asked | None]] = ContextVar("quorate_rpc_asked", default=None)


def caller() -> Caller:
    """Return the caller of the call that this task serves; outside of a call, the node itself."""
    return _caller.get()


def begin(made_by: Caller) -> None:
    """Record a call's caller in its task, and forget the request of an earlier call of the task."""
    _caller.set(made_by)
    if _asked.get() is not None:
        _asked.set(None)


@contextmanager
def acting(user: str, address: str) -> Iterator[None]:
    """Let this node act for a user that a plugin has admitted."""
    before = _caller.set(Caller(name=user, node=True, address=address))
    try:
        yield
    finally:
        _caller.reset(before)


def asked() -> Asked | None:
    """Return the request of the call that this task serves; None: its caller needs no right."""
    return _asked.get()


def ask(what: Asked | None) -> None:
    """Record the granted request of a call in its task."""
    _asked.set(what)


def certified(context: Context) -> Caller:
    """Return the owner of the certificate that was shown: its common name, or its first other."""
    shown = context.auth_context()
    for names in ("x509_common_name", "x509_subject_alternative_name"):
        for name in shown.get(names, ()):
            return Caller(name=name.decode())
    return NOBODY
