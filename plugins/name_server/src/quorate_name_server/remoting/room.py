"""Room for large frames: what all connections together hold of them is bounded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final


class Room:
    """Bytes that are given out in the order in which they are asked for."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes
        self._waiting: Final[deque[tuple[int, Callable[[], None]]]] = deque()

    def take(self, size: int, ready: Callable[[], None]) -> bool:
        """Take room; False: there is none, and `ready` is called once it has been taken."""
        if self._waiting or size > self._left:
            self._waiting.append((size, ready))
            return False
        self._left -= size
        return True

    def give(self, size: int) -> None:
        """Give room back."""
        self._left += size
        while self._waiting and self._waiting[0][0] <= self._left:
            taken, ready = self._waiting.popleft()
            self._left -= taken
            ready()
