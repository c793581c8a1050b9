"""Admission of watches: at a bounded rate, and callers in turn."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Final

#: Watches that are opened in a turn: each takes a fraction of a millisecond of the loop.
TURN_WATCHES: Final = 4
TURN_S: Final = 0.005


class Openings:
    """Spreads a burst of new watches over time, so that other calls run in between.

    Of several callers each gets its turn: who opens thousands delays its own.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._left = TURN_WATCHES
        #: By caller, the one whose turn is next first.
        self._waiting: Final[dict[str, deque[asyncio.Future[None]]]] = {}
        self._timer: asyncio.TimerHandle | None = None

    async def admit(self, who: str) -> None:
        """Return once a caller may open a watch."""
        if self._timer is None:
            self._timer = self._loop.call_later(TURN_S, self._turn)
        if self._left:
            self._left -= 1
            return
        admitted: asyncio.Future[None] = self._loop.create_future()
        self._waiting.setdefault(who, deque()).append(admitted)
        await admitted

    def _turn(self) -> None:
        self._left = TURN_WATCHES
        while self._left and self._waiting:
            who = next(iter(self._waiting))
            queue = self._waiting.pop(who)
            admitted = queue.popleft()
            if not admitted.done():
                admitted.set_result(None)
                self._left -= 1
            if queue:
                self._waiting[who] = queue
        idle = self._left == TURN_WATCHES
        self._timer = None if idle else self._loop.call_later(TURN_S, self._turn)
