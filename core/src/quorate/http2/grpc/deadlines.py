"""The deadlines of many calls, looked at by few timers."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol

#: How late a deadline may be noticed.
_GRAIN_S: Final = 0.02


class Late(Protocol):
    """Something with a deadline."""

    def expire(self) -> None:
        """The deadline has passed."""


class Deadlines:
    """Calls `expire` of each item added and not removed, once its deadline has passed."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        #: The items of each deadline, in grains, with its timer.
        self._due: Final[dict[int, tuple[set[Late], asyncio.TimerHandle]]] = {}

    def add(self, late: Late, at: float) -> int:
        """Watch a deadline on the loop's clock; return its key for `remove`."""
        grain = int(at / _GRAIN_S) + 1
        due = self._due.get(grain)
        if due is None:
            timer = self._loop.call_at(grain * _GRAIN_S, self._expire, grain)
            due = self._due[grain] = set[Late](), timer
        due[0].add(late)
        return grain

    def remove(self, late: Late, grain: int) -> None:
        """Watch it no more."""
        due = self._due.get(grain)
        if due is not None:
            due[0].discard(late)
            if not due[0]:
                # Callers choose the times: a timer each would stay for years.
                due[1].cancel()
                del self._due[grain]

    def _expire(self, grain: int) -> None:
        for late in self._due.pop(grain)[0]:
            late.expire()
