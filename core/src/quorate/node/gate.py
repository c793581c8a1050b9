"""Lets clients' calls in while the node serves, and knows when the last of them has ended."""

from __future__ import annotations

import asyncio
import inspect
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import grpc
import grpc.aio

from quorate.groups.pause import pause
from quorate.groups.refusals import NotServingError
from quorate.rpc.handlers import Behaviour, around
from quorate.rpc.status import DETAILS_KEY, status_of


class Gate(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # none when run
    """Closed at first; the services and the methods of `ungated` never ask it.

    Those of `awaited` are never refused either, and are inside while they last. A method is named
    `<service>/<method>`. It stands before `StatusInterceptor`, behind which every method is a
    coroutine.
    """

    def __init__(self, ungated: Collection[str], awaited: Collection[str] = ()) -> None:
        self._ungated: Final = frozenset(ungated)
        self._awaited: Final = frozenset(awaited)
        self._closed: str | None = "this node is starting; try again, or ask another node"
        #: When a call was refused last, or the gate was closed.
        self._refused_at = float("-inf")
        #: The calls that were let in and have not ended, by their methods.
        self.inside: Final[Counter[str]] = Counter()
        self._empty: asyncio.Event = asyncio.Event()
        self._empty.set()

    def open(self) -> None:
        """Let calls in."""
        self._closed = None

    def close(self, why: str) -> None:
        """Let no call in any more; clients are told why, with UNAVAILABLE."""
        self._closed = why
        self._refused_at = asyncio.get_running_loop().time()

    async def emptied(self, timeout_s: float) -> bool:
        """Wait until no call is inside; False when some still are after that time."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._empty.wait()
        except TimeoutError:
            return False
        return True

    async def silent(self, for_s: float, *, within_s: float) -> None:
        """Wait until no call was refused for some time: clients have gone elsewhere.

        It gives up after `within_s`.
        """
        loop = asyncio.get_running_loop()
        latest = loop.time() + within_s
        while (until := min(self._refused_at + for_s, latest)) > loop.time():
            await pause(loop, until - loop.time())

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
        if method in self._awaited:
            return around(found, partial(self._counted, method))
        if not self._ungated.isdisjoint((method, method.partition("/")[0])):
            return found
        if self._closed is not None:
            return around(found, lambda _: self._refuse)
        return around(found, partial(self._counted, method))

    async def _refuse(self, _: object, context: Any) -> None:
        self._refused_at = asyncio.get_running_loop().time()
        status = status_of(NotServingError(self._closed))
        details = ((DETAILS_KEY, status.SerializeToString()),)
        await context.abort(grpc.StatusCode.UNAVAILABLE, status.message, details)

    def _counted(self, method: str, serve: Behaviour) -> Behaviour:
        async def served(request: Any, context: Any) -> Any:
            with self._let_in(method):
                found = serve(request, context)
                return await found if inspect.isawaitable(found) else found

        return served

    @contextmanager
    def _let_in(self, method: str) -> Iterator[None]:
        self.inside[method] += 1
        self._empty.clear()
        try:
            yield
        finally:
            self.inside[method] -= 1
            if not self.inside.total():
                self._empty.set()
