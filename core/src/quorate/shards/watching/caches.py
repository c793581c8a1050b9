"""Declared caches: rows in memory on every node, fed by watches of their families."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from quorate.plugin import CacheView, RowEvent
from quorate.plugin.node import CompleteCacheView
from quorate.shards.timing import Background, pause
from quorate.shards.watching.watch import Watch

_log = logging.getLogger(__name__)

#: The first and the longest pause after a watch that failed during its list.
RETRY_MIN_S: Final = 0.1
RETRY_MAX_S: Final = 5.0


class CacheKeeper(Background):
    """Feeds one cache: reset, then every row, then every change; and again after a resync.

    An error of the view is logged with the cache's name, and the cache is rebuilt.
    """

    def __init__(
        self,
        name: str,
        view: CacheView,
        open_watch: Callable[[], Watch],
        *,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__(loop)
        self.name: Final = name
        self.view: Final = view
        self._open_watch: Final = open_watch
        self._watch: Watch | None = None
        #: Done once the cache had every row for the first time; cancelled when it is stopped.
        self.filled: Final[asyncio.Future[None]] = loop.create_future()
        #: How many times it was rebuilt.
        self.builds = 0

    async def stop(self) -> None:
        """Stop, and cancel waits for the cache to be filled."""
        self.filled.cancel()
        await super().stop()

    def age_ms(self) -> int | None:
        """Return the staleness of the cache; None while it does not have every row."""
        return None if self._watch is None else self._watch.age_ms()

    async def _run(self) -> None:
        delay_s = RETRY_MIN_S
        while True:
            watch = self._watch = self._open_watch()
            try:
                await self._feed(watch)
            except Exception:  # noqa: BLE001 - whatever it is, a new cache may do better
                _log.exception("cache %s failed and is rebuilt", self.name)
            finally:
                watch.close()
            delay_s = RETRY_MIN_S if watch.listed else min(2 * delay_s, RETRY_MAX_S)
            await pause(self._loop, delay_s)

    async def _feed(self, watch: Watch) -> None:
        self.view.reset()
        self.builds += 1
        complete = False
        async for seen in watch:
            event = seen.event
            if isinstance(event, RowEvent):
                if event.value is None:
                    self.view.delete(event.family, event.key)
                else:
                    self.view.put(event.family, event.key, event.value)
            if watch.listed and not watch.ready:
                if not complete and isinstance(self.view, CompleteCacheView):
                    self.view.listed()
                complete = True
                if not self.filled.done():
                    self.filled.set_result(None)
