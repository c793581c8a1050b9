"""The callbacks that others register with a replica."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeVar

from quorate.plugin.shard_id import ShardId

_log = logging.getLogger(__name__)

C = TypeVar("C")


@dataclass(eq=False)
class Subscribers:
    """Calls back after entries were applied, in a turn of the loop of its own.

    It is the second one from then: the answers to the writers of the entries leave before.
    """

    _shard: ShardId
    _loop: asyncio.AbstractEventLoop
    _applied: Callable[[], int]
    _callbacks: dict[object, Callable[[int], None]] = field(default_factory=dict, init=False)
    _informing: asyncio.Handle | None = field(default=None, init=False)

    def subscribe(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Call back with the newest applied index after entries were applied; returns the cancel.

        Calls have their own turn of the loop, and cover all entries applied before.
        """
        return _register(self._callbacks, callback)

    def inform(self) -> None:
        """Call all back soon."""
        if self._callbacks and self._informing is None:
            self._informing = self._loop.call_soon(self._give_way)

    def end(self) -> None:
        """Call none back any more."""
        self._callbacks.clear()

    def _give_way(self) -> None:
        self._informing = self._loop.call_soon(self._inform)

    def _inform(self) -> None:
        self._informing = None
        applied = self._applied()
        for callback in list(self._callbacks.values()):
            try:
                callback(applied)
            except Exception:  # noqa: BLE001 - later subscribers would wait forever
                _log.exception("a subscriber of shard %s failed", self._shard)


class StoreReaders:
    """Readers that must release the database before it is replaced or closed."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._callbacks: Final[dict[object, Callable[[], None]]] = {}
        self._ended = False

    def add(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back before the database is replaced or closed; returns the cancel."""
        if self._ended:
            # There will be no more calls.
            self._loop.call_soon(callback)
        return _register(self._callbacks, callback)

    def release(self) -> None:
        """Have all release the database."""
        for callback in list(self._callbacks.values()):
            callback()

    def end(self) -> None:
        """Have all release the database for good."""
        self._ended = True
        self.release()
        self._callbacks.clear()


def _register(registered: dict[object, C], callback: C) -> Callable[[], None]:
    key = object()
    registered[key] = callback

    def cancel() -> None:
        registered.pop(key, None)

    return cancel
