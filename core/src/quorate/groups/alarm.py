"""One timer for many deadlines."""

import asyncio
from collections.abc import Callable
from typing import Final

#: Deadlines that are closer together than this are met in one go.
_TOGETHER_S: Final = 0.005


class Alarm:
    """Rings at the earliest time that it was told of.

    `ring` gets the time, and returns when to ring again, or None. Nothing is kept per deadline:
    whoever is rung looks through what waits.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        clock: Callable[[], float],
        ring: Callable[[float], float | None],
    ) -> None:
        self._loop: Final = loop
        self._clock: Final = clock
        self._ring: Final = ring
        self._timer: asyncio.TimerHandle | None = None
        #: When it rings next; nothing later needs to be told.
        self.due = float("inf")

    def by(self, when: float) -> None:
        """Ring at `when` or earlier."""
        if when >= self.due:
            return
        self.due = when
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(max(0.0, when - self._clock()), self._rings)

    def stop(self) -> None:
        """Ring no more."""
        if self._timer is not None:
            self._timer.cancel()
        # Whatever it is told from now on is not earlier.
        self.due = float("-inf")

    def _rings(self) -> None:
        self._timer, self.due = None, float("inf")
        now = self._clock()
        again = self._ring(now)
        if again is not None:
            self.by(max(again, now + _TOGETHER_S))
