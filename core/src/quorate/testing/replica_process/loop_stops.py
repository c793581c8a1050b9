"""How long an event loop stands still."""

import asyncio
from time import perf_counter
from typing import Final, Self

_EVERY_S: Final = 0.001


class LoopStops:
    """Wakes up every millisecond until it is stopped, and remembers how late it was at worst."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.longest_s = 0.0
        self._loop: Final = loop
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> Self:
        """Begin."""
        self._wait()
        return self

    def stop(self) -> None:
        """Look no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _wait(self) -> None:
        # The loop's own clock stands still within a turn.
        self._due = perf_counter() + _EVERY_S
        self._timer = self._loop.call_later(_EVERY_S, self._woken)

    def _woken(self) -> None:
        self.longest_s = max(self.longest_s, perf_counter() - self._due)
        self._wait()
