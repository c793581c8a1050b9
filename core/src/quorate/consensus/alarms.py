"""One timer for everything that is due in the same millisecond."""

import asyncio
from collections.abc import Callable
from math import ceil
from typing import Final

_PER_S: Final = 1_000
#: In milliseconds, what reading the clock twice and floating point may add to a moment that several
#: work out: it must not part them.
_NOISE: Final = 0.05


class Alarms:
    """Wakes the replicas of a node: those that are due together in the same turn of the loop.

    What they then send to the same node leaves in one frame, and so do the answers.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._due: Final[dict[int, dict[Callable[[int], None], None]]] = {}

    def set(self, delay_s: float, ring: Callable[[int], None]) -> int:
        """Call `ring` after a delay, once, with the number that this returns.

        There is no way to call it off: who set another one since knows by the number.
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
