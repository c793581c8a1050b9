"""Syncs the node's log off the event loop, for all shards that wait, one sync at a time."""

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
        #: How long each sync took that did not fail.
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
        """See to it that what was written becomes durable; all of this turn's writes go along."""
        if not self._begun and not self._stopped:
            self._begun = True
            self._loop.call_soon(self._begin)

    async def close(self) -> None:
        """Begin no more syncs and wait for the one that runs; its outcome is still told."""
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
        # What was written meanwhile may have been asked for while this one ran.
        self._begin()
