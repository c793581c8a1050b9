"""The deadlines of many calls, looked at by one timer."""

from __future__ import annotations

import asyncio
from heapq import heappop, heappush
from typing import Final, Protocol

#: How late a deadline may be noticed.
_GRAIN_S: Final = 0.02
#: A timer rings at the latest after this time: what has no deadline any more is not kept longer.
_LONGEST_S: Final = 60.0
#: Former deadlines that are kept.
_FORMER: Final = 1_000


class Late(Protocol):
    """Something with a deadline."""

    def expire(self) -> None:
        """The deadline has passed."""


class Deadlines:
    """Calls `expire` of each item added and not removed, once its deadline has passed.

    Most items are removed in time, so one timer does for all: it rings for the first deadline,
    removed or not, and is then set for the next one.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        #: The items of each deadline, in grains.
        self._due: Final[dict[int, set[Late]]] = {}
        #: A heap of these grains, and of former ones.
        self._grains: Final[list[int]] = []
        self._timer: asyncio.TimerHandle | None = None
        #: The grain that the timer was set for.
        self._rings_for = 0

    def add(self, late: Late, at: float) -> int:
        """Watch a deadline on the loop's clock; return its key for `remove`."""
        grain = int(at / _GRAIN_S) + 1
        due = self._due.get(grain)
        if due is not None:
            due.add(late)
            return grain
        self._due[grain] = {late}
        if len(self._grains) > _FORMER + 2 * len(self._due):
            self._grains[:] = sorted(self._due)
        else:
            heappush(self._grains, grain)
        if self._timer is None or grain < self._rings_for:
            self._set(grain)
        return grain

    def remove(self, late: Late, grain: int) -> None:
        """Watch it no more."""
        due = self._due.get(grain)
        if due is not None:
            due.discard(late)
            if not due:
                del self._due[grain]

    def _set(self, grain: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._rings_for = grain
        at = min(grain * _GRAIN_S, self._loop.time() + _LONGEST_S)
        self._timer = self._loop.call_at(at, self._ring)

    def _ring(self) -> None:
        self._timer = None
        passed = self._loop.time() / _GRAIN_S
        grains, due = self._grains, self._due
        while grains and (grains[0] <= passed or grains[0] not in due):
            for late in due.pop(heappop(grains), ()):
                late.expire()
        if grains and self._timer is None:
            self._set(grains[0])
