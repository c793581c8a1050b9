"""Who waits for what a shard wrote to the log to be durable."""

import asyncio
from typing import Final


class LogWaits:
    """Ends each wait with the sync that its writes are within."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def until(self, sequence: int) -> asyncio.Future[None]:
        """Return when the log's writes up to this number are durable."""
        told: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append((sequence, told))
        return told

    def synced(self, sequence: int) -> None:
        """Record that the log's writes up to this number are durable."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        for needs, told in waiting:
            if needs > sequence:
                self._waiting.append((needs, told))
            elif not told.done():
                told.set_result(None)

    def end(self, error: Exception) -> None:
        """End every wait in vain."""
        for _, told in self._waiting:
            if not told.done():
                told.set_exception(error)
        self._waiting.clear()
