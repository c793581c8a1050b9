"""What the runtime asks of an ordered store with families, atomic batches and a write-ahead log."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple, Protocol


class EngineError(Exception):
    """The engine cannot do what it was asked: what, where, and what to do about it."""


class DamagedError(EngineError):
    """Bytes on disk are not those that were written."""


class StalledError(EngineError):
    """Writes are stopped until flushes or compactions have caught up; nothing was written."""


class FullError(EngineError):
    """The file system has no space left; the write may have left a torn tail."""


class Segment(NamedTuple):
    """Changes of one family: first the ranges go, then the rows change."""

    #: (start, end): every key from `start` up to, not including, `end` goes.
    ranges: list[tuple[bytes, bytes]]
    #: The new value of each key; None removes the key.
    rows: dict[bytes, bytes | None]


class Batch:
    """Changes that happen together or not at all, those of one family in the order given.

    It survives its write, a failed one too, and may be written again.
    """

    __slots__ = ("segments",)

    def __init__(self) -> None:
        #: Of each family, in order.
        self.segments: Final[dict[str, list[Segment]]] = {}

    def rows(self, family: str) -> dict[bytes, bytes | None]:
        """Return the newest rows of a family, which may be changed directly: that is the fast way.

        They are the newest until the family's next `delete_range`.
        """
        segments = self.segments.get(family)
        if segments is None:
            segments = self.segments[family] = [Segment([], {})]
        return segments[-1].rows

    def put(self, family: str, key: bytes, value: bytes) -> None:
        """Set a key."""
        self.rows(family)[key] = value

    def delete(self, family: str, key: bytes) -> None:
        """Remove a key, which need not be there."""
        self.rows(family)[key] = None

    def delete_range(self, family: str, start: bytes, end: bytes) -> None:
        """Remove every key from `start` up to, not including, `end`."""
        segments = self.segments.setdefault(family, [])
        if not segments or segments[-1].rows:
            segments.append(Segment([], {}))
        segments[-1].ranges.append((start, end))


class MemoryUse(NamedTuple):
    """How many bytes of memory a database takes, beside a cache that it shares with others."""

    #: Rows that were written and are not in files yet.
    write_buffers: int
    #: Indexes and filters of open files.
    table_readers: int


class FileUse(NamedTuple):
    """How many bytes of files a database has."""

    #: Sorted tables, as far as they are in use.
    tables: int
    #: What compactions would have to rewrite to bring the tables in order.
    pending_compaction: int


class View(Protocol):
    """The rows of a family as they were at one moment, for as long as this is held."""

    def iterate(self, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """Return the rows from `start` up to, not including, `end`, None being behind every key.

        It ends those that were asked for before. A damaged row raises `DamagedError` where it is
        reached; the rows never just end.
        """

    def last(self) -> bytes | None:
        """Return the last key; None where there are no rows. It ends what was iterated."""


class Engine(Protocol):
    """An open database.

    `flush_wal` and `flush` may be called from any thread and run beside the others; all else is
    called from one thread and may hold the GIL.
    """

    @property
    def families(self) -> tuple[str, ...]:
        """The families that are open, in order: those asked for and those found on disk."""

    @property
    def orphans(self) -> tuple[str, ...]:
        """The families that were found on disk and that nobody asked for."""

    def add_family(self, family: str) -> None:
        """Open one more family, which nobody asked for when the database was opened."""

    @property
    def stalled(self) -> bool:
        """Tell whether writes are stopped right now: a write would be refused, or would wait."""

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return a value; None where there is no such key."""

    def get_many(self, family: str, keys: list[bytes]) -> list[bytes | None]:
        """Return the values of keys, in their order: less work than one `get` for each."""

    def write(self, batch: Batch, *, patient: bool = False) -> None:
        """Write a batch to the write-ahead log, unsynced, and make it visible.

        A killed process loses nothing of it; a power loss keeps some beginning of the batches
        that were not synced. While writes are stopped it raises `StalledError`, or, if patient,
        waits with the GIL held. After any other error the tail of the log is in doubt.
        """

    def iterate(
        self, family: str, start: bytes, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Return the rows from `start` up to, not including, `end`, as they are now.

        None as the end is behind every key. The view is taken by this call: later writes do not
        show. A damaged row raises `DamagedError` where it is reached; the rows never just end.
        """

    def view(self, family: str) -> View:
        """Take a view of a family. It is let go of before the database is closed."""

    def estimated_rows(self, family: str) -> int:
        """Return about how many rows a family has, at no cost."""

    def memory(self) -> MemoryUse:
        """Return what the database takes of memory."""

    def files(self) -> FileUse:
        """Return what the database takes of the disk, its write-ahead log left aside."""

    def flush_wal(self) -> None:
        """Make durable whatever was written before this call; other threads run meanwhile."""

    def flush(self, family: str) -> None:
        """Move a family's written rows into files; other threads run meanwhile."""

    def checkpoint(self, target: Path) -> None:
        """Make a database at `target` that holds what this one holds now.

        It is short when every family was flushed right before. `target` must not exist, lies on
        the same file system, and its files may share their bytes with those of this database.
        """

    def close(self) -> None:
        """Close the database; whoever uses it later gets `EngineError`."""
