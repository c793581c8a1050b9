"""The port to an ordered store with families and atomic batches."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple, Protocol


class EngineError(Exception):
    """An operation failed; the text says which, where, and what to do."""


class DamagedError(EngineError):
    """Data on disk is damaged."""


class StalledError(EngineError):
    """Writes are stopped until flushes or compactions catch up; nothing was written."""


class FullError(EngineError):
    """The file system is full; the write may have left a torn tail."""


class Segment(NamedTuple):
    """Changes of one family: ranges are deleted first, then rows change."""

    #: (start, end): every key with `start <= key < end` is deleted.
    ranges: list[tuple[bytes, bytes]]
    #: The new value of each key; None deletes it.
    rows: dict[bytes, bytes | None]


class Batch:
    """Atomic changes, applied in order within a family.

    It survives its write, a failed one too, and may be written again.
    """

    __slots__ = ("segments",)

    def __init__(self) -> None:
        #: Of each family, in order.
        self.segments: Final[dict[str, list[Segment]]] = {}

    def rows(self, family: str) -> dict[bytes, bytes | None]:
        """Return the newest rows of a family, which may be changed directly, for speed.

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
        """Delete a key, if it is there."""
        self.rows(family)[key] = None

    def delete_range(self, family: str, start: bytes, end: bytes) -> None:
        """Delete every key with `start <= key < end`."""
        segments = self.segments.setdefault(family, [])
        if not segments or segments[-1].rows:
            segments.append(Segment([], {}))
        segments[-1].ranges.append((start, end))


class MemoryUse(NamedTuple):
    """The memory of a database in bytes, without the shared cache."""

    #: Rows that are not flushed to files yet.
    write_buffers: int
    #: Indexes and filters of open files.
    table_readers: int


class FileUse(NamedTuple):
    """The files of a database in bytes."""

    #: Live sorted tables, and the large values beside them.
    tables: int
    #: Bytes that compactions have yet to rewrite.
    pending_compaction: int


class View(Protocol):
    """A consistent view of a family's rows."""

    def iterate(self, start: bytes, end: bytes | None) -> Iterator[tuple[bytes, bytes]]:
        """Return the rows with `start <= key < end`; without an end, all from `start` on.

        It ends those that were asked for before. A damaged row raises `DamagedError` where it is
        reached; the rows never just end.
        """

    def last(self) -> bytes | None:
        """Return the last key, or None. It ends running iterations."""


class Engine(Protocol):
    """An open database.

    `sync` and `flush` may be called from any thread and run beside the others; all else is
    called from one thread and may hold the GIL.
    """

    @property
    def families(self) -> tuple[str, ...]:
        """The open families in order: those requested and those found on disk."""

    @property
    def orphans(self) -> tuple[str, ...]:
        """The families on disk that were not requested."""

    def add_family(self, family: str) -> None:
        """Open a family that was not requested when the database was opened."""

    @property
    def stalled(self) -> bool:
        """Whether a write would be refused or wait now."""

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""

    def get_many(self, family: str, keys: list[bytes]) -> list[bytes | None]:
        """Return the values of keys, in their order, with less overhead than `get`."""

    def write(self, batch: Batch, *, patient: bool = False) -> None:
        """Write a batch, unsynced, and make it visible.

        A crash keeps some beginning of the batches that were not synced; if only the process is
        killed, the node's log keeps all of them. While writes are stopped it raises `StalledError`,
        or, if patient, waits with the GIL held. After any other error the end is in doubt.
        """

    def iterate(
        self, family: str, start: bytes, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Return the current rows with `start <= key < end`.

        None as the end is after every key. The view is taken by this call: later writes do not
        show. A damaged row raises `DamagedError` where it is reached; the rows never just end.
        """

    def view(self, family: str) -> View:
        """Return a view of a family; release it before the database is closed."""

    def estimated_rows(self, family: str) -> int:
        """Return the approximate number of rows of a family, at no cost."""

    def file_rows(self) -> int:
        """Return the number of rows in all files; one that is in two of them counts twice."""

    def tables(self) -> Sequence[Path]:
        """Return the files of its rows, which must be there; none for a database in memory."""

    def memory(self) -> MemoryUse:
        """Return the memory of the database."""

    def files(self) -> FileUse:
        """Return the disk space of the database, without its write-ahead log."""

    def ingest(self, files: Mapping[str, Sequence[Path]]) -> None:
        """Put the rows of sorted files in place, by family, over all rows of the same keys.

        The files lie on the same file system and stay as they are. The rows of a family are there
        durably and all at once; those of all families at the end. It may be repeated. It is short
        right after a flush. Files that cannot be read raise
        `DamagedError`, and nothing of their family is in place.
        """

    def sync(self) -> None:
        """Make all writes before this call durable, without the GIL."""

    def flush(self) -> None:
        """Write all rows to files, durably, without the GIL."""

    def checkpoint(self, target: Path) -> None:
        """Create a copy of this database at `target`.

        It is short right after a flush. `target` must not exist, lies on
        the same file system, and its files may share their bytes with those of this database.
        """

    def close(self) -> None:
        """Close the database; later calls raise `EngineError`."""
