"""Admits clients' calls while the node serves, and tracks them until the last has ended."""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final

from quorate.rpc.methods import Behaviour, fail
from quorate.shards.refusals import NotServingError
from quorate.shards.timing import pause


class Gate:
    """Refuses calls until it is opened; services and methods of `ungated` bypass it.

    Methods of `awaited` are never refused either, but count as inside while they run. A method is
    named `<service>/<method>`.
    """

    def __init__(self, ungated: Collection[str], awaited: Collection[str] = ()) -> None:
        self._ungated: Final = frozenset(ungated)
        self._awaited: Final = frozenset(awaited)
        #: Why calls are refused, or None.
        self.closed: str | None = "this node is starting; try again, or ask another node"
        #: Time of the last refusal, or of the last close.
        self._refused_at = float("-inf")
        #: The admitted calls that have not ended, by method.
        self.inside: Final[Counter[str]] = Counter()
        self._count = 0
        self._empty: Final = asyncio.Event()
        self._empty.set()

    def open(self) -> None:
        """Admit calls."""
        self.closed = None

    def close(self, why: str) -> None:
        """Refuse further calls with UNAVAILABLE and the reason."""
        self.closed = why
        self._refused_at = asyncio.get_running_loop().time()

    async def emptied(self, timeout_s: float) -> bool:
        """Wait until no call is inside; return False if some still are after the timeout."""
        try:
            async with asyncio.timeout(timeout_s):
                await self._empty.wait()
        except TimeoutError:
            return False
        return True

    async def silent(self, for_s: float, *, within_s: float) -> None:
        """Wait until no call has been refused for some time: clients have moved to other nodes.

        Gives up after `within_s`.
        """
        loop = asyncio.get_running_loop()
        latest = loop.time() + within_s
        while (until := min(self._refused_at + for_s, latest)) > loop.time():
            await pause(loop, until - loop.time())

    def around(self, path: str, serve: Behaviour) -> Behaviour:
        """Wrap a method: refuse its calls while the gate is closed, and count those inside."""
        method = path.strip("/")
        awaited = method in self._awaited
        if not awaited and not self._ungated.isdisjoint((method, method.partition("/")[0])):
            return serve

        async def served(request: Any, context: Any) -> Any:
            if self.closed is not None and not awaited:
                self._refused_at = asyncio.get_running_loop().time()
                return await fail(path, NotServingError(self.closed), context)
            self._come(method)
            try:
                return await serve(request, context)
            finally:
                self._leave(method)

        return served

    @contextmanager
    def within(self, method: str) -> Iterator[None]:
        """Count work as a call inside, for a call in a stream that bypasses the gate."""
        self._come(method)
        try:
            yield
        finally:
            self._leave(method)

    def _come(self, method: str) -> None:
        self.inside[method] += 1
        self._count += 1
        if self._count == 1:
            self._empty.clear()

    def _leave(self, method: str) -> None:
        self.inside[method] -= 1
        self._count -= 1
        if not self._count:
            self._empty.set()
