"""Lets clients' calls in while the node serves, and knows when the last of them has ended."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final

import grpc
import grpc.aio

from quorate.groups.refusals import NotProposedError
from quorate.rpc.handlers import Behaviour, around
from quorate.rpc.status import DETAILS_KEY, status_of


class Gate(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # none when run
    """Closed at first; the services and the methods of `ungated` never ask it.

    A method is named `<service>/<method>`. It stands before `StatusInterceptor`, behind which every
    method is a coroutine.
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
        method = str(handler_call_details.method).strip("/")
        if not self._ungated.isdisjoint((method, method.partition("/")[0])):
            return found
        return around(found, self._counted if self._closed is None else lambda _: self._refuse)

    async def _refuse(self, _: object, context: Any) -> None:
        status = status_of(NotProposedError(self._closed))
        details = ((DETAILS_KEY, status.SerializeToString()),)
        await context.abort(grpc.StatusCode.UNAVAILABLE, status.message, details)

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
