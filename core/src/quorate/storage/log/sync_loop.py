"""Syncs the node's log off the event loop, one sync at a time for all waiting shards."""

import asyncio
from collections.abc import Callable
from functools import partial
from time import perf_counter
from typing import Final

from quorate.observe.histogram import SECONDS, Histogram
from quorate.storage.engine.port import EngineError
from quorate.storage.log.node_log import NodeLog
from quorate.storage.log.work_thread import Thread, WorkThread


class SyncLoop:
    """While anything is unsynced, a sync runs; what is written meanwhile waits for the next.

    `on_synced` gets the number up to which writes are durable. `on_failed` gets the error that
    ended it all: no sync follows, since a second one may succeed without what the first lost.
    """

    def __init__(
        self,
        log: NodeLog,
        loop: asyncio.AbstractEventLoop,
        on_synced: Callable[[int], None],
        on_failed: Callable[[Exception], None],
        *,
        thread: Thread | None = None,
    ) -> None:
        #: The durations of successful syncs.
        self.durations: Final = Histogram(SECONDS)
        self._log: Final = log
        self._loop: Final = loop
        self._on_synced: Final = on_synced
        self._on_failed: Final = on_failed
        self._thread: Final = WorkThread(loop, "log-sync") if thread is None else thread
        self._synced = log.written
        #: From the request until nothing is left to sync; for good after a failure.
        self._begun = False
        self._running = False
        #: Done once the last sync has ended.
        self._ended: asyncio.Future[None] | None = None
        self._stopped = False

    def request(self) -> None:
        """Schedule a sync, which covers all writes of this turn of the loop."""
        if not self._begun and not self._stopped:
            self._begun = True
            self._loop.call_soon(self._begin)

    async def close(self) -> None:
        """Start no more syncs, and wait for the running one; its outcome is still reported."""
        self._stopped = True
        if self._running:
            self._ended = self._loop.create_future()
            await self._ended
        self._thread.close()

    def _begin(self) -> None:
        sequence = self._log.begin_sync()
        if self._stopped or sequence == self._synced:
            self._begun = False
            return
        self._running = True
        self._thread.start(self._sync, partial(self._end, sequence))

    def _sync(self) -> None:
        began = perf_counter()
        self._log.sync()
        self.durations.observe(perf_counter() - began)

    def _end(self, sequence: int, error: Exception | None) -> None:
        self._running = False
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)
        try:
            if error is not None:
                raise error
            self._log.synced(sequence)
        except (EngineError, OSError) as failure:
            self._on_failed(failure)
            return
        self._synced = sequence
        self._on_synced(sequence)
        # A sync for writes made meanwhile may have been requested during this one.
        self._begin()
