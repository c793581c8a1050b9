"""The layer around every method: size of requests, deadline, and the status of a failure.

A method is wrapped once, when the server is made: a successful call makes no task, and raises
nothing.
"""

import inspect
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Final, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from google.rpc import code_pb2, error_details_pb2, status_pb2

from quorate.config.sections import LimitsSection
from quorate.consensus.peer.streams import end_call
from quorate.http2.grpc.codes import Code
from quorate.http2.grpc.context import CallContext
from quorate.http2.grpc.server_call import AbortError
from quorate.observe import requests
from quorate.observe.frames import drop_frames
from quorate.plugin import Invalid, Rejected
from quorate.rpc import deadline
from quorate.rpc.large_requests import LargeRequests
from quorate.rpc.status import DETAILS_KEY, detail, status_of
from quorate.shards.routing.routes import check_size

_log = logging.getLogger(__name__)

#: The field that is blamed when it is the whole request.
REQUEST: Final = "request"

#: A servicer has ended its call itself.
_ABORTED: Final = (grpc.aio.AbortError, AbortError)

Context: TypeAlias = CallContext
#: What serves a method, streams included: it is given the request, or the requests, and the
#: context of the call. Its answer is None where it has written messages itself.
Behaviour: TypeAlias = Callable[[Any, Context], Awaitable[Any]]
#: Puts something around a method, which is named by its path.
Around = Callable[[str, Behaviour], Behaviour]
Read = Callable[[bytes], Any]
#: Refuses a request, or a stream of requests.
Demand = Callable[[Any], None]
#: Ends the call of a method with the status of an exception.
Failing = Callable[[str, Exception, Context], Awaitable[None]]


def reading(parse: Read, limits: LimitsSection, command: str = "") -> Read:
    """Return a parser of requests, which raises `Invalid` and parses nothing that is too large.

    `command` is the full name of the request where it is a command itself.
    """
    most = limits.grpc_message_bytes

    def read(content: bytes) -> Any:
        if len(content) > most:
            raise Invalid(
                REQUEST,
                f"{len(content)} bytes; at most {most} allowed (limits.grpc_message_bytes); "
                "send less at once",
            )
        if command:
            check_size(command, len(content), limits)
        try:
            return parse(content)
        except DecodeError:
            raise Invalid(
                REQUEST, f"its {len(content)} bytes are no message of this method"
            ) from None

    return read


def answering(
    path: str,
    serve: Any,
    read: Read | None,
    large: LargeRequests,
    demand: Demand | None = None,
    failing: Failing | None = None,
) -> Behaviour:
    """Return a behaviour that answers with the message of `serve`, or the status of its error.

    `demand` refuses requests that the caller may not make; `failing` ends failed calls otherwise
    than `fail`.

    Without `read` the requests are a stream, or bytes that the servicer looks at itself. With it a
    large request waits for its turn.
    """
    waits = inspect.iscoroutinefunction(serve)
    failing = failing or fail

    async def answer(request: Any, context: Context) -> Any:
        try:
            deadline.begin(context.time_remaining())
            if read is not None:
                if large.gives_way(size := len(request)):
                    async with large.turn(size):
                        return await answered(read(request), context)
                request = read(request)
            if demand is not None:
                demand(request)
            return await serve(request, context) if waits else serve(request, context)
        except _ABORTED as aborted:
            drop_frames(aborted)
        except Exception as error:  # noqa: BLE001 - each one becomes a status
            await failing(path, error, context)

    async def answered(request: Any, context: Context) -> Any:
        if demand is not None:
            demand(request)
        return await serve(request, context) if waits else serve(request, context)

    return answer


def streaming(
    path: str,
    serve: Any,
    read: Read | None,
    demand: Demand | None = None,
    failing: Failing | None = None,
) -> Behaviour:
    """Return a behaviour that writes the messages of `serve`, or awaits it if it writes itself.

    `demand` and `failing` are those of `answering`.
    """
    writes = inspect.iscoroutinefunction(serve)
    failing = failing or fail

    async def answer(request: Any, context: Context) -> None:
        try:
            deadline.begin(context.time_remaining())
            if read is not None:
                request = read(request)
            if demand is not None:
                demand(request)
            found = serve(request, context)
            if writes:
                await found
                return
            try:
                async for each in found:
                    await context.write(each)
            finally:
                # Its resources are not left to the garbage collector.
                if isinstance(found, AsyncGenerator):
                    await found.aclose()
        except _ABORTED as aborted:
            drop_frames(aborted)
        except Exception as error:  # noqa: BLE001 - each one becomes a status
            await failing(path, error, context)

    return answer


async def fail(method: str, error: Exception, context: Context) -> None:
    """End a call with the status of an exception."""
    if context.cancelled() or context.done() or _says_stopped(error):
        # Nobody waits for the answer.
        drop_frames(error)
        return
    status = failed_status(method, error)
    details = ((DETAILS_KEY, status.SerializeToString()),)
    await end_call(context, Code(status.code), status.message, details)


def _says_stopped(error: Exception) -> bool:
    """Whether gRPC says that its server has stopped, for which it has no public name.

    Of its own errors it is the one that blames neither the servicer nor gRPC.
    """
    blames = grpc.aio.UsageError | grpc.aio.InternalError
    return isinstance(error, grpc.aio.BaseError) and not isinstance(error, blames)


def failed_status(what: str, error: Exception) -> status_pb2.Status:
    """Return the status of an exception, which lets go of its frames; log a bug of this node."""
    status = status_of(error)
    reason = detail(status, error_details_pb2.ErrorInfo).reason
    requests.failed(what, code_pb2.Code.Name(status.code), reason)
    if status.code == code_pb2.INTERNAL and not isinstance(error, Rejected):
        _log.error("%s failed", what, exc_info=error, extra={"request": requests.current()})
    drop_frames(error)
    return status
