"""One timer for all deadlines of the same millisecond."""

import asyncio
from collections.abc import Callable
from math import ceil
from typing import Final

_PER_S: Final = 1_000
#: Milliseconds that rounding and two clock reads may add to a common deadline.
_NOISE: Final = 0.05


class Alarms:
    """Wakes all replicas with the same deadline in one turn of the loop.

    Their messages to a node then share a frame, and so do the answers.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._due: Final[dict[int, dict[Callable[[int], None], None]]] = {}

    def set(self, delay_s: float, ring: Callable[[int], None]) -> int:
        """Call `ring` once after a delay, with the number that this returns.

        It cannot be cancelled; compare the number to ignore an alarm that is out of date.
        """
        moment = ceil((self._loop.time() + delay_s) * _PER_S - _NOISE)
        due = self._due.get(moment)
        if due is None:
            due = self._due[moment] = {}
            self._loop.call_at(moment / _PER_S, self._ring, moment)
        due[ring] = None
        return moment

    def _ring(self, moment: int) -> None:
        for ring in self._due.pop(moment):
            ring(moment)
