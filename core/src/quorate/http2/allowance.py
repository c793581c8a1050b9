"""Bounds useless actions of the other end in number and rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final


class Allowance:
    """A number of events, which comes back over time."""

    __slots__ = ("_at", "_burst", "_clock", "_left", "_per_s")

    def __init__(self, burst: int, per_s: float, clock: Callable[[], float]) -> None:
        self._burst: Final = burst
        self._per_s: Final = per_s
        self._clock: Final = clock
        self._left = float(burst)
        self._at = clock()

    def take(self) -> bool:
        """Count an event; False: there were too many."""
        if self._left < 1:
            now = self._clock()
            self._left = min(self._burst, self._left + (now - self._at) * self._per_s)
            self._at = now
            if self._left < 1:
                return False
        self._left -= 1
        return True
