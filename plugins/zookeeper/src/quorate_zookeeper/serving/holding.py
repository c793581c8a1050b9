"""What a node holds for clients that do not take it, or do not send the rest of it."""

from __future__ import annotations

from typing import Final, Protocol

#: Less than this is not counted: what a client takes or sends in time never comes to it.
LARGE: Final = 1 << 16
#: Maximum number of bytes of all connections together.
MOST_BYTES: Final = 128 << 20


class Holder(Protocol):
    """A connection."""

    @property
    def held_bytes(self) -> int:
        """Return what the node holds for it now: what it did not take, and unfinished requests."""

    def evict(self) -> None:
        """End it: what it holds is needed for others."""


class Held:
    """Bounds what is held for all connections: who has made no progress for longest is evicted."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most: Final = most_bytes
        #: Who took nothing for the longest time comes first.
        self._by_holder: Final[dict[Holder, int]] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return self._bytes

    def mind(self, holder: Holder) -> None:
        """Count what is held for a connection by now; connections are evicted if it is too much."""
        self._count(holder)
        if self._bytes <= self._most:
            return
        for each in list(self._by_holder):
            # It may have taken some of it since.
            self._count(each)
            if self._bytes <= self._most:
                return
        while self._bytes > self._most:
            evicted = next(iter(self._by_holder))
            self.forget(evicted)
            evicted.evict()

    def forget(self, holder: Holder) -> None:
        """Count nothing for a connection any more."""
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
