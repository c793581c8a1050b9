"""Syncs the node's log off the event loop, one sync at a time for all waiting shards."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from time import perf_counter
from typing import Final

from quorate.observe.histogram import SECONDS, Histogram
from quorate.storage.engine.port import EngineError
from quorate.storage.log.node_log import NodeLog


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
    ) -> None:
        #: The durations of successful syncs.
        self.durations: Final = Histogram(SECONDS)
        self._log: Final = log
        self._loop: Final = loop
        self._on_synced: Final = on_synced
        self._on_failed: Final = on_failed
        self._executor: Final = ThreadPoolExecutor(1, thread_name_prefix="log-sync")
        self._synced = log.written
        #: From the request until nothing is left to sync; for good after a failure.
        self._begun = False
        self._running: asyncio.Future[None] | None = None
        self._stopped = False

    def request(self) -> None:
        """Schedule a sync, which covers all writes of this turn of the loop."""
        if not self._begun and not self._stopped:
            self._begun = True
            self._loop.call_soon(self._begin)

    async def close(self) -> None:
        """Start no more syncs, and wait for the running one; its outcome is still reported."""
        self._stopped = True
        if self._running is not None:
            await asyncio.wait([self._running])
        self._executor.shutdown()

    def _begin(self) -> None:
        sequence = self._log.begin_sync()
        if self._stopped or sequence == self._synced:
            self._begun = False
            return
        self._running = self._loop.run_in_executor(self._executor, self._sync)
        self._running.add_done_callback(lambda done: self._end(sequence, done))

    def _sync(self) -> None:
        began = perf_counter()
        self._log.sync()
        self.durations.observe(perf_counter() - began)

    def _end(self, sequence: int, done: asyncio.Future[None]) -> None:
        self._running = None
        try:
            done.result()
            self._log.synced(sequence)
        except (EngineError, OSError) as error:
            self._on_failed(error)
            return
        self._synced = sequence
        self._on_synced(sequence)
        # A sync for writes made meanwhile may have been requested during this one.
        self._begin()
