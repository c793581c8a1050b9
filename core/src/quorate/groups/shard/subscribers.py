"""Subscribers of a shard's data on this node."""

import asyncio
import logging
from collections.abc import Callable
from typing import Final, TypeVar

from quorate.plugin.shard_id import ShardId

C = TypeVar("C")

_log = logging.getLogger(__name__)


class Subscribers:
    """Followers of applied entries, and readers that must release the database in time."""

    def __init__(self, shard: ShardId, loop: asyncio.AbstractEventLoop) -> None:
        self._shard: Final = shard
        self._loop: Final = loop
        self._following: Final[dict[object, Callable[[int], None]]] = {}
        self._reading: Final[dict[object, Callable[[], None]]] = {}
        self._applied = 0
        self._telling: asyncio.Handle | None = None

    def follow(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Call back with the newest applied index; returns the cancel."""
        return _register(self._following, callback)

    def read(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back before the database is released; returns the cancel."""
        return _register(self._reading, callback)

    def applied(self, index: int) -> None:
        """Call the followers in a turn of the loop, once for all entries applied before."""
        self._applied = index
        if self._following and self._telling is None:
            self._telling = self._loop.call_soon(self._tell)

    def end_readers(self) -> None:
        """Call the readers now."""
        for callback in list(self._reading.values()):
            callback()

    def end(self) -> None:
        """Call the readers, and remove all subscribers."""
        self.end_readers()
        self._following.clear()
        self._reading.clear()

    def _tell(self) -> None:
        self._telling = None
        for callback in list(self._following.values()):
            try:
                callback(self._applied)
            except Exception:  # noqa: BLE001 - later subscribers would wait forever
                _log.exception("a subscriber of shard %s failed", self._shard)


def _register(registered: dict[object, C], callback: C) -> Callable[[], None]:
    key = object()
    registered[key] = callback

    def cancel() -> None:
        registered.pop(key, None)

    return cancel
