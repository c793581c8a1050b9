"""Who makes the gRPC call that this task serves."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final

import grpc.aio

from quorate.plugin import Caller
from quorate.rpc.methods import Around, Behaviour, Context, fail

#: Nobody has proved who they are.
NOBODY: Final = Caller()
#: This node itself: what runs outside of a call acts as it.
NODE: Final = Caller(node=True)

_caller: Final[ContextVar[Caller]] = ContextVar("quorate_rpc_caller", default=NODE)

#: Tells who makes a call; raises `Rejected` (UNAUTHENTICATED) for what proves nothing.
Identify = Callable[[Context], Caller]


def caller() -> Caller:
    """Return who makes the call that this task serves; outside of a call, the node itself."""
    return _caller.get()


def begin(made_by: Caller) -> None:
    """Note in the task of a call who makes it."""
    _caller.set(made_by)


def nobody(_: Context) -> Caller:
    """Ask for no identity."""
    return NOBODY


def certified(context: Context) -> Caller:
    """Return the owner of the certificate that was shown: its common name, or its first other."""
    shown = context.auth_context()
    for names in ("x509_common_name", "x509_subject_alternative_name"):
        for name in shown.get(names, ()):
            return Caller(name=name.decode())
    return NOBODY


def around(identify: Identify) -> Around:
    """Return what lets each call of a method know its caller; what refuses ends the call."""

    def put(path: str, serve: Behaviour) -> Behaviour:
        async def served(request: Any, context: Context) -> Any:
            try:
                made_by = identify(context)
            except grpc.aio.AbortError:
                raise
            except Exception as error:  # noqa: BLE001 - each one becomes a status
                return await fail(path, error, context)
            begin(made_by)
            return await serve(request, context)

        return served

    return put
