"""The event log of a shard: one row per entry that changed a watched family or emitted.

A row is keyed by the entry's index. It holds runs of changes of one family and one kind, then the
lengths of all parts, then the parts; a part that is a stored value carries its revision. The bytes
are a promise, whose old ones stand under tests/compat.
"""

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from io import BytesIO
from itertools import accumulate, pairwise
from struct import Struct, error as StructError, pack, unpack_from
from typing import Final, NamedTuple, Protocol

from quorate.storage.families import EVENTS
from quorate.storage.rows import REVISION

#: A revision is the index of the entry, and below it the position of the command.
_POSITION_BITS: Final = 20
_LAST_POSITION: Final = (1 << _POSITION_BITS) - 1
_INDEX: Final = Struct(">Q")
_FORMAT: Final = 1
#: Format, logical time, number of runs, number of parts.
_HEAD: Final = Struct(">BqII")
#: Kind, number of the parts of this run, length of the family's name.
_RUN: Final = Struct(">BIH")
#: Every row's key is smaller, every other key of the family larger.
ROWS_END: Final = b"\xff" * 8
#: The index up to which rows were trimmed.
LOW_KEY: Final = ROWS_END + b"low"
_TIME: Final = ROWS_END + b"mark"
#: The range of the keys of `time_key`.
TIMES: Final = (_TIME, ROWS_END + b"marl")


class Kind(IntEnum):
    """What happened, and the parts that describe it."""

    #: Key, stored value.
    PUT = 1
    #: Key, stored value, value before.
    REPLACED = 2
    #: Key, revision.
    DELETED = 3
    #: Key, revision, value before.
    DELETED_OVER = 4
    #: Revision and serialized message; the run's family is the full name of the message.
    EMITTED = 5
    #: No parts: rows of the family came from files, and their changes are not here.
    INGESTED = 6


_PARTS: Final = {Kind.PUT: 2, Kind.REPLACED: 3, Kind.DELETED: 2, Kind.DELETED_OVER: 3}
_WITHOUT_ROWS: Final = frozenset({Kind.EMITTED, Kind.INGESTED})
_DELETIONS: Final = frozenset({Kind.DELETED, Kind.DELETED_OVER})


class RowChange(NamedTuple):
    """A change of a row; `value` is None if the row was deleted.

    `previous` is the value before, and is kept only for families that ask for it.
    """

    family: str
    key: bytes
    value: bytes | None
    previous: bytes | None = None


class Emitted(NamedTuple):
    """An event that is not a change of a row: the full name of its message, and the message."""

    type: str
    payload: bytes


class StoredEvent(NamedTuple):
    """An event, the revision of the command that caused it, and its logical time."""

    revision: int
    at_ms: int
    change: RowChange | Emitted


class HistoryGoneError(Exception):
    """The events after a revision are not complete: list the rows, and read on from there."""

    def __init__(self, after_revision: int, oldest: int) -> None:
        super().__init__(
            f"the events after revision {after_revision} are no longer complete: the oldest entry"
            f" that is has index {oldest}; list the rows again and read on from there"
        )
        self.oldest: Final = oldest


class IngestedError(Exception):
    """Rows of a selected family came from files: their changes have no events."""


class Savepoint(NamedTuple):
    """A place in an `EventRow` to roll back to."""

    runs: int
    parts: int
    silent: int


class EventRow:
    """The events of an entry, in order."""

    __slots__ = ("parts", "runs", "silent")

    def __init__(self) -> None:
        #: What was deleted from watched families without an event: the family and the key.
        self.silent: Final[list[tuple[str, bytes]]] = []
        #: (family, kind, position of the first part) of each run.
        self.runs: Final[list[tuple[str, Kind, int]]] = []
        self.parts: Final[list[bytes]] = []

    def begin(self, family: str, kind: Kind) -> None:
        """Begin a run of changes of this kind; append their parts after it."""
        runs = self.runs
        if not runs or runs[-1][0] != family or runs[-1][1] is not kind:
            runs.append((family, kind, len(self.parts)))

    def savepoint(self) -> Savepoint:
        """Return the current end of the row, for `rollback_to`."""
        return Savepoint(len(self.runs), len(self.parts), len(self.silent))

    def rollback_to(self, savepoint: Savepoint) -> None:
        """Drop what was added after a savepoint."""
        del self.runs[savepoint.runs :]
        del self.parts[savepoint.parts :]
        del self.silent[savepoint.silent :]

    def size_since(self, savepoint: Savepoint) -> int:
        """Return the bytes of what was added after a savepoint."""
        return sum(map(len, self.parts[savepoint.parts :]))

    def encode(self, at_ms: int) -> bytes:
        """Return the row's value."""
        parts, count = self.parts, len(self.parts)
        edges = [*(first for _, _, first in self.runs), count][1:]
        encoded = [_HEAD.pack(_FORMAT, at_ms, len(self.runs), count)]
        for (family, kind, first), end in zip(self.runs, edges, strict=True):
            name = family.encode()
            encoded += (_RUN.pack(kind, end - first, len(name)), name)
        encoded.append(pack(f">{count}I", *map(len, parts)))
        encoded += parts
        return b"".join(encoded)


def event_key(index: int) -> bytes:
    """Return the key of an entry's row."""
    return _INDEX.pack(index)


def index_of_key(key: bytes) -> int:
    """Return the index of the entry whose row has this key."""
    return int(_INDEX.unpack(key)[0])


def oldest_entry(low: bytes | None) -> int:
    """Return the index of the first entry with complete events, by the row of `LOW_KEY`."""
    return 1 if low is None else index_of_key(low) + 1


def time_key(index: int) -> bytes:
    """Return the key of the row with the logical time of an entry; trimming reads it."""
    return _TIME + _INDEX.pack(index)


def timed_index(key: bytes) -> int:
    """Return the index in a key of `time_key`."""
    return int(_INDEX.unpack_from(key, len(_TIME))[0])


def decode(value: bytes, selection: Mapping[str, bytes] | None = None) -> Iterator[StoredEvent]:
    """Yield the events of a row; raises `ValueError` for invalid bytes.

    A selection names families, or full names of emitted messages, each with the prefix that keys
    must have. Raises `IngestedError` where rows of one came from files.
    """
    at_ms, found, ends = _runs(value)
    first = 0
    for family, kind, length in found:
        prefix = b"" if selection is None else selection.get(family)
        if prefix is not None and kind is Kind.INGESTED:
            raise IngestedError(family)
        if prefix is not None:
            edges = ends[first : first + length + 1]
            yield from _changes(value, edges, family, kind, at_ms, prefix)
        first += length


def rows_of(value: bytes) -> Iterator[tuple[str, dict[bytes, bytes | None]]]:
    """Yield the changes of a row in order, as runs of stored rows; None is a deletion.

    Where something was emitted it is the full name of the message, without rows, and so is a family
    whose rows came from files. Raises
    `ValueError` for bytes that are no event row.
    """
    _, found, lengths, at = _head(value)
    parts = split_at(value, at, lengths)
    first = 0
    for family, kind, length in found:
        if kind in _WITHOUT_ROWS:
            yield family, {}
        else:
            step, last = _PARTS[kind], first + length
            keys = parts[first:last:step]
            if kind in _DELETIONS:
                yield family, dict.fromkeys(keys)
            else:
                yield family, dict(zip(keys, parts[first + 1 : last : step], strict=True))
        first += length


def split_at(value: bytes, at: int, lengths: Iterable[int]) -> list[bytes]:
    """Return parts of these lengths, one after the other from a position on."""
    # A stream counts by itself: there is no position and no slice of each part.
    stream = BytesIO(value)
    stream.seek(at)
    return list(map(stream.read, lengths))


def _runs(value: bytes) -> tuple[int, list[tuple[str, Kind, int]], list[int]]:
    """Return logical time, (family, kind, number of parts) of each run, and the parts' edges."""
    at_ms, found, lengths, at = _head(value)
    return at_ms, found, list(accumulate(lengths, initial=at))


def _head(value: bytes) -> tuple[int, list[tuple[str, Kind, int]], tuple[int, ...], int]:
    """Return logical time, (family, kind, number of parts) of each run, and where parts are.

    These are their lengths, and the position of the first one.
    """
    try:
        form, at_ms, runs, count = _HEAD.unpack_from(value)
        if form != _FORMAT:
            raise ValueError(f"an event row of format {form} was written by a newer version")
        at = _HEAD.size
        found: list[tuple[str, Kind, int]] = []
        for _ in range(runs):
            kind, length, name_length = _RUN.unpack_from(value, at)
            at += _RUN.size
            found.append((value[at : at + name_length].decode(), Kind(kind), length))
            at += name_length
        lengths = unpack_from(f">{count}I", value, at)
    except StructError:
        raise ValueError(f"an event row of {len(value)} bytes is cut off") from None
    at += 4 * count
    if at + sum(lengths) != len(value) or sum(length for _, _, length in found) != count:
        raise ValueError(f"an event row of {len(value)} bytes has the wrong length")
    return at_ms, found, lengths, at


def _changes(
    value: bytes, edges: list[int], family: str, kind: Kind, at_ms: int, prefix: bytes
) -> Iterator[StoredEvent]:
    size = REVISION.size
    if kind is Kind.EMITTED:
        for start, end in pairwise(edges):
            [revision] = REVISION.unpack_from(value, start)
            yield StoredEvent(revision, at_ms, Emitted(family, value[start + size : end]))
        return
    step = _PARTS[kind]
    deleted = kind in _DELETIONS
    for first in range(0, len(edges) - 1, step):
        key = value[edges[first] : edges[first + 1]]
        if not key.startswith(prefix):
            continue
        start, end = edges[first + 1 : first + 3]
        [revision] = REVISION.unpack_from(value, start)
        row = None if deleted else value[start + size : end]
        previous = value[end : edges[first + 3]] if step > 2 else None
        yield StoredEvent(revision, at_ms, RowChange(family, key, row, previous))


class Rows(Protocol):
    """The stored rows of a shard, as the event log reads them."""

    @property
    def applied(self) -> int:
        """The index of the newest applied entry."""

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""

    def iterate(
        self, family: str, start: bytes, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Return the current rows with `start <= key < end`."""


class EventLog:
    """Reads a shard's events without changing anything."""

    def __init__(self, rows: Rows) -> None:
        self._rows: Final = rows

    @property
    def oldest(self) -> int:
        """The index of the first entry with complete events."""
        return oldest_entry(self._rows.get(EVENTS, LOW_KEY))

    @property
    def newest(self) -> int:
        """The index of the newest entry with events."""
        return self._rows.applied

    def read(
        self,
        after_revision: int,
        selection: Mapping[str, bytes] | None = None,
        *,
        max_rows: int,
        max_bytes: int,
    ) -> tuple[list[StoredEvent], int]:
        """Return the selected events after a revision, and the revision to read on from.

        It ends after a whole entry, and looks at no more entries once it has found `max_rows`
        events, or looked at as many entries or at `max_bytes`; so it may find nothing and yet come
        further. Where there is nothing more it returns `after_revision` itself or the revision
        after the newest entry. Raises `HistoryGoneError` when there were more events after that
        revision than are kept.
        """
        oldest = self.oldest
        if oldest > 1 and after_revision < (oldest << _POSITION_BITS) - 1:
            raise HistoryGoneError(after_revision, oldest)
        newest = self.newest << _POSITION_BITS | _LAST_POSITION
        first = _INDEX.pack((after_revision + 1) >> _POSITION_BITS)
        found: list[StoredEvent] = []
        looked = room = 0
        # A token from a replica that is ahead reads nothing here, and never goes back.
        if after_revision >= newest:
            return found, after_revision
        for key, value in self._rows.iterate(EVENTS, first, ROWS_END):
            try:
                events = list(decode(value, selection))
            except IngestedError:
                oldest = int(_INDEX.unpack(key)[0]) + 1
                raise HistoryGoneError(after_revision, oldest) from None
            found += (event for event in events if event.revision > after_revision)
            looked, room = looked + 1, room + len(value)
            if max(len(found), looked) >= max_rows or room >= max_bytes:
                return found, int(_INDEX.unpack(key)[0]) << _POSITION_BITS | _LAST_POSITION
        return found, newest
