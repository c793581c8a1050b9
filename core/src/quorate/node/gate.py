"""Lets clients' calls in while the node serves, and knows when the last of them has ended."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeAlias

import grpc
import grpc.aio

Behaviour = Callable[[Any, Any], Any]
Handler: TypeAlias = "grpc.RpcMethodHandler[Any, Any]"

_KINDS: Final[dict[tuple[bool, bool], tuple[str, Callable[..., Any]]]] = {
    (False, False): ("unary_unary", grpc.unary_unary_rpc_method_handler),
    (False, True): ("unary_stream", grpc.unary_stream_rpc_method_handler),
    (True, False): ("stream_unary", grpc.stream_unary_rpc_method_handler),
    (True, True): ("stream_stream", grpc.stream_stream_rpc_method_handler),
}


class Gate(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # none when run
    """Closed at first; the services of `ungated` are between nodes, and never ask it.

    It stands before `StatusInterceptor`, behind which every method is a coroutine.
    """

    def __init__(self, ungated: Collection[str]) -> None:
        self._ungated: Final = frozenset(ungated)
        self._closed: str | None = "this node is starting; try again, or ask another node"
        #: The calls that were let in and have not ended.
        self.inside = 0
        self._empty: asyncio.Event = asyncio.Event()
        self._empty.set()

    def open(self) -> None:
        """Let calls in."""
        self._closed = None

    def close(self, why: str) -> None:
        """Let no call in any more; clients are told why, with UNAVAILABLE."""
        self._closed = why

    async def emptied(self, timeout_s: float) -> bool:
        """Wait until no call is inside; False when some still are after that time."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._empty.wait()
        except TimeoutError:
            return False
        return True

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Any]],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> Any:
        """Count a call, or refuse it; gRPC itself refuses an unknown one."""
        found = await continuation(handler_call_details)
        if not found:
            return found
        service = str(handler_call_details.method).strip("/").partition("/")[0]
        if service in self._ungated:
            return found
        name, make = _KINDS[bool(found.request_streaming), bool(found.response_streaming)]
        serve = self._refuse if self._closed is not None else self._counted(getattr(found, name))
        return make(serve, found.request_deserializer, found.response_serializer)

    async def _refuse(self, _: object, context: Any) -> None:
        await context.abort(grpc.StatusCode.UNAVAILABLE, self._closed or "")

    def _counted(self, serve: Behaviour) -> Behaviour:
        async def served(request: Any, context: Any) -> Any:
            with self._let_in():
                found = serve(request, context)
                return await found if inspect.isawaitable(found) else found

        return served

    @contextmanager
    def _let_in(self) -> Iterator[None]:
        self.inside += 1
        self._empty.clear()
        try:
            yield
        finally:
            self.inside -= 1
            if not self.inside:
                self._empty.set()
