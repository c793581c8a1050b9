"""Bounds useless actions of the other end in number and rate."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from quorate.http2.errors import ConnectionFault, ErrorCode


class Allowance:
    """A number of events, which comes back over time."""

    __slots__ = ("_at", "_burst", "_clock", "_excess", "_left", "_per_s")

    def __init__(self, burst: int, per_s: float, excess: str, clock: Callable[[], float]) -> None:
        """`excess` says that there are too many."""
        self._burst: Final = burst
        self._per_s: Final = per_s
        self._excess: Final = excess
        self._clock: Final = clock
        self._left = float(burst)
        self._at = clock()

    def take(self) -> None:
        """Count an event; raises `ConnectionFault` when there are too many."""
        if self._left < 1:
            now = self._clock()
            self._left = min(self._burst, self._left + (now - self._at) * self._per_s)
            self._at = now
            if self._left < 1:
                raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, self._excess)
        self._left -= 1
