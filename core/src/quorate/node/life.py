"""How far a node has come: for those who wait for it, and for those who ask."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final

STOPPING: Final = "this node is stopping; ask another node"


class Life:
    """A node begins, settles, is ready, and stops; at any time something may end it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._ended: Final[asyncio.Future[None]] = loop.create_future()
        self._settling: asyncio.Task[None] | None = None
        self._unsettled: Callable[[], Sequence[str]] = list
        self._lacking: Callable[[], Sequence[str]] = list
        self._stopping = False

    def settle(
        self,
        settling: Coroutine[Any, Any, None],
        missing: Callable[[], Sequence[str]],
        lacking: Callable[[], Sequence[str]] = list,
    ) -> None:
        """Be ready when this has ended; `missing` says what it still waits for.

        From then on `lacking` says what keeps it from being ready again.
        """
        self._unsettled, self._lacking = missing, lacking
        self._settling = self._loop.create_task(settling)
        self._settling.add_done_callback(self._settled)

    async def settled(self) -> None:
        """Wait until the node is ready; raises what ended it before that."""
        if self._settling is None:
            raise RuntimeError("start the node first")
        await asyncio.wait([self._settling, self._ended], return_when=asyncio.FIRST_COMPLETED)
        if self._ended.done():
            self._ended.result()
        await self._settling

    def end(self, error: Exception) -> None:
        """Record that the node cannot go on; the first reason counts."""
        if not self._ended.done():
            self._ended.set_exception(error)
            # Waiters get the exception; if there are none, the node's stop is on its way.
            self._ended.exception()

    async def ended(self) -> None:
        """Wait until the node cannot go on; raises what stopped it."""
        await asyncio.shield(self._ended)

    def stop(self) -> None:
        """Record that the node stops."""
        self._stopping = True

    async def stop_settling(self) -> None:
        """Wait for nothing more."""
        if self._settling is not None:
            self._settling.cancel()
            await asyncio.wait([self._settling])

    def missing(self) -> Sequence[str]:
        """Return what keeps the node from being ready; nothing when it is."""
        if self._stopping:
            return [STOPPING]
        if self._ended.done():
            return [f"this node cannot go on: {self._ended.exception()}"]
        if self._settling is None:
            return ["this node is starting: it has no cluster yet, or its plugins begin"]
        return self._lacking() if self._settling.done() else self._unsettled()

    def _settled(self, settling: asyncio.Task[None]) -> None:
        if not settling.cancelled() and (error := settling.exception()) is not None:
            self.end(error if isinstance(error, Exception) else RuntimeError(str(error)))
