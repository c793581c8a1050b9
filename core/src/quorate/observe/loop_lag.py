"""Measures how long an event loop is blocked."""

import asyncio
from collections import deque
from collections.abc import Callable
from time import perf_counter
from typing import Final

from quorate.observe.histogram import SECONDS, Histogram

_EVERY_S: Final = 0.1
#: The number of recent samples, of at least a minute.
_REMEMBERED: Final = 600


class LoopLag:
    """Wakes up ten times a second, and records its delays."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, clock: Callable[[], float] = perf_counter
    ) -> None:
        self.late: Final = Histogram(SECONDS)
        self._loop: Final = loop
        # The loop's own clock does not advance within a turn.
        self._clock: Final = clock
        self._newest: Final = deque[float](maxlen=_REMEMBERED)
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    @property
    def longest_s(self) -> float:
        """The longest time that the loop was blocked in the last minute."""
        return max(self._newest, default=0.0)

    def start(self) -> None:
        """Start."""
        # Aligned with the node's other work at such intervals.
        delay_s = 1.5 * _EVERY_S - (self._loop.time() + _EVERY_S / 2) % _EVERY_S
        self._due = self._clock() + delay_s
        self._timer = self._loop.call_later(delay_s, self._woken)

    def stop(self) -> None:
        """Stop."""
        if self._timer is not None:
            self._timer.cancel()

    def _woken(self) -> None:
        late_s = max(0.0, self._clock() - self._due)
        self.late.observe(late_s)
        self._newest.append(late_s)
        self.start()
