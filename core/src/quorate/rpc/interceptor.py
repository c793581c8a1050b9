"""What every call goes through: its size, its deadline, and the status that it fails with."""

from __future__ import annotations

import inspect
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, Final, TypeAlias

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from google.rpc import code_pb2, status_pb2

from quorate.config.sections import LimitsSection
from quorate.plugin import Invalid, Rejected
from quorate.rpc import deadline
from quorate.rpc.large_requests import LargeRequests
from quorate.rpc.status import DETAILS_KEY, status_of

_log = logging.getLogger(__name__)

#: The field that is blamed when it is the whole request.
REQUEST: Final = "request"

_CODES: Final = {code.value[0]: code for code in grpc.StatusCode}

Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"
Deserialize = Callable[[bytes], Any]


class StatusInterceptor(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # none when run
    """Answers whatever a servicer raises with a rich status, ours and a plugin's alike.

    Requests are read here, so that one that is too large or no message at all ends as
    INVALID_ARGUMENT before any servicer sees it. A method that takes bytes as they are, like those
    of the peers' streams, looks at them itself. A large one waits for its turn.
    """

    def __init__(self, limits: LimitsSection, large: LargeRequests) -> None:
        self._limits: Final = limits
        self._large: Final = large

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Return the method with all of that around it; gRPC itself refuses an unknown one."""
        handler = await continuation(handler_call_details)
        return handler and self._wrapped(str(handler_call_details.method), handler)

    def _wrapped(self, method: str, handler: Handler) -> Handler:
        read = self._reader(handler.request_deserializer)
        serialize = handler.response_serializer
        if handler.request_streaming:
            # What reading raises comes out of the servicer's own loop over its requests.
            if handler.response_streaming:
                return grpc.stream_stream_rpc_method_handler(
                    _streaming(method, handler.stream_stream, None), read, serialize
                )
            return grpc.stream_unary_rpc_method_handler(
                _answering(method, handler.stream_unary, None, self._large), read, serialize
            )
        if handler.response_streaming:
            return grpc.unary_stream_rpc_method_handler(
                _streaming(method, handler.unary_stream, read), None, serialize
            )
        return grpc.unary_unary_rpc_method_handler(
            _answering(method, handler.unary_unary, read, self._large), None, serialize
        )

    def _reader(self, deserialize: Deserialize | None) -> Deserialize | None:
        if deserialize is None:
            return None
        most = self._limits.grpc_message_bytes

        def read(content: bytes) -> Any:
            if len(content) > most:
                raise Invalid(
                    REQUEST,
                    f"{len(content)} bytes, and {most} are the most (limits.grpc_message_bytes); "
                    "send less at once",
                )
            try:
                return deserialize(content)
            except DecodeError:
                raise Invalid(
                    REQUEST, f"its {len(content)} bytes are no message of this method"
                ) from None

        return read


def _answering(method: str, serve: Any, read: Deserialize | None, large: LargeRequests) -> Any:
    async def answer(request: Any, context: Context) -> Any:
        async def answered() -> Any:
            found = serve(request if read is None else read(request), context)
            return await found if inspect.isawaitable(found) else found

        try:
            deadline.begin(context.time_remaining())
            if read is not None and large.gives_way(size := len(request)):
                async with large.turn(size):
                    return await answered()
            return await answered()
        except grpc.aio.AbortError:
            raise
        except Exception as error:  # noqa: BLE001 - each one becomes a status
            await _fail(method, error, context)

    return answer


def _streaming(method: str, serve: Any, read: Deserialize | None) -> Any:
    async def answer(request: Any, context: Context) -> None:
        try:
            deadline.begin(context.time_remaining())
            found = serve(request if read is None else read(request), context)
            if inspect.isawaitable(found):
                await found
                return
            try:
                async for each in found:
                    await context.write(each)
            finally:
                # What it holds is not left to the collector of garbage.
                if isinstance(found, AsyncGenerator):
                    await found.aclose()
        except grpc.aio.AbortError:
            raise
        except Exception as error:  # noqa: BLE001 - each one becomes a status
            await _fail(method, error, context)

    return answer


async def _fail(method: str, error: Exception, context: Context) -> None:
    if context.cancelled() or context.done() or _says_stopped(error):
        # Nobody is there to be told.
        return
    status = told(method, error)
    details = ((DETAILS_KEY, status.SerializeToString()),)
    await context.abort(_CODES[status.code], status.message, details)


def _says_stopped(error: Exception) -> bool:
    """Whether gRPC says that its server has stopped, for which it has no public name.

    Of its own errors it is the one that blames neither the servicer nor gRPC.
    """
    blames = grpc.aio.UsageError | grpc.aio.InternalError
    return isinstance(error, grpc.aio.BaseError) and not isinstance(error, blames)


def told(what: str, error: Exception) -> status_pb2.Status:
    """Return what a caller is told of an exception; log one that is a fault of this node's code."""
    status = status_of(error)
    if status.code == code_pb2.INTERNAL and not isinstance(error, Rejected):
        _log.error("%s failed", what, exc_info=error)
    return status
