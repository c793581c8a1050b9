"""What the runtime asks of an ordered store with families, atomic batches and a write-ahead log."""

from collections.abc import Iterator
from enum import IntEnum
from typing import Final, Protocol


class EngineError(Exception):
    """The engine cannot do what it was asked: what, where, and what to do about it."""


class DamagedError(EngineError):
    """Bytes on disk are not those that were written."""


class StalledError(EngineError):
    """Writes are stopped until flushes or compactions have caught up; nothing was written."""


class FullError(EngineError):
    """The file system has no space left; the write may have left a torn tail."""


class Change(IntEnum):
    """What one operation of a batch does."""

    PUT = 1
    DELETE = 2
    DELETE_RANGE = 3


class Batch:
    """Changes that happen together or not at all, in the order in which they were given.

    It survives its write, a failed one too, and may be written again.
    """

    __slots__ = ("operations",)

    def __init__(self) -> None:
        #: (change, family, key, value), or (DELETE_RANGE, family, start, end).
        self.operations: Final[list[tuple[Change, str, bytes, bytes]]] = []

    def put(self, family: str, key: bytes, value: bytes) -> None:
        """Set a key."""
        self.operations.append((Change.PUT, family, key, value))

    def delete(self, family: str, key: bytes) -> None:
        """Remove a key, which need not be there."""
        self.operations.append((Change.DELETE, family, key, b""))

    def delete_range(self, family: str, start: bytes, end: bytes) -> None:
        """Remove every key from `start` up to, not including, `end`."""
        self.operations.append((Change.DELETE_RANGE, family, start, end))


class Engine(Protocol):
    """An open database. All but `flush_wal` are called from one thread and may hold the GIL."""

    @property
    def families(self) -> tuple[str, ...]:
        """The families that are open, in order: those asked for and those found on disk."""

    @property
    def stalled(self) -> bool:
        """Tell whether writes are stopped right now: a write would be refused, or would wait."""

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return a value; None where there is no such key."""

    def write(self, batch: Batch, *, patient: bool = False) -> None:
        """Write a batch to the write-ahead log, unsynced, and make it visible.

        A killed process loses nothing of it; a power loss keeps some beginning of the batches
        that were not synced. While writes are stopped it raises `StalledError`, or, if patient,
        waits with the GIL held. After any other error the tail of the log is in doubt.
        """

    def iterate(
        self, family: str, start: bytes, end: bytes, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Return the rows from `start` up to, not including, `end`, as they are now.

        The view is taken by this call: later writes do not show. A damaged row raises
        `DamagedError` where it is reached; the rows never just end there.
        """

    def flush_wal(self) -> None:
        """Make durable whatever was written before this call; other threads run meanwhile."""

    def close(self) -> None:
        """Close the database; whoever uses it later gets `EngineError`."""
