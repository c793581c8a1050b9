"""One timer for many deadlines."""

import asyncio
from collections.abc import Callable
from typing import Final

#: Deadlines closer together than this share a call.
_TOGETHER_S: Final = 0.005


class Alarm:
    """Rings at the earliest time that was set.

    `ring` gets the time, and returns when to ring again, or None. Deadlines are not stored: `ring`
    checks everything that waits.
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
        #: When it rings next; later times need not be set.
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
        """Stop."""
        if self._timer is not None:
            self._timer.cancel()
        # From now on no time is earlier.
        self.due = float("-inf")

    def _rings(self) -> None:
        self._timer, self.due = None, float("inf")
        now = self._clock()
        again = self._ring(now)
        if again is not None:
            self.by(max(again, now + _TOGETHER_S))
