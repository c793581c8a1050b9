"""Bounds the memory held for clients that do not read replies or complete requests."""

from __future__ import annotations

from typing import Final, Protocol

#: Smaller amounts are not counted: a client that reads and sends in time stays below it.
LARGE: Final = 1 << 16
#: Maximum number of bytes of all connections together.
MOST_BYTES: Final = 128 << 20


class Holder(Protocol):
    """A connection."""

    @property
    def held_bytes(self) -> int:
        """Return the bytes held for it: unread replies, and unfinished requests."""

    def evict(self) -> None:
        """Abort the connection, to free its memory for others."""


class Held:
    """Bounds the bytes held for all connections; the longest without progress is evicted first."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most: Final = most_bytes
        #: The connection without progress for the longest time comes first.
        self._by_holder: Final[dict[Holder, int]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return self._bytes

    def mind(self, holder: Holder) -> None:
        """Count the bytes held for a connection; evict connections while the total is too large."""
        self._count(holder)
        if self._bytes <= self._most:
            return
        for each in list(self._by_holder):
            # It may have made progress since.
            self._count(each)
            if self._bytes <= self._most:
                return
        while self._bytes > self._most:
            evicted = next(iter(self._by_holder))
            self.forget(evicted)
            evicted.evict()

    def forget(self, holder: Holder) -> None:
        """Stop counting a connection."""
        self._bytes -= self._by_holder.pop(holder, 0)

    def _count(self, holder: Holder) -> None:
        size = holder.held_bytes
        before = self._by_holder.get(holder, 0)
        if size < LARGE:
            self.forget(holder)
            return
        if size < before:
            # Progress: it comes last.
            del self._by_holder[holder]
        self._by_holder[holder] = size
        self._bytes += size - before
