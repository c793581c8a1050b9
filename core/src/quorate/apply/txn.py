"""The implementations of `quorate.plugin.Reader` and `quorate.plugin.Txn`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, repeat
from struct import Struct
from typing import Final

from google.protobuf.message import Message

from quorate.apply import deadlines, fences, history, writers
from quorate.apply.deadlines import Deadline
from quorate.apply.entries import Copies
from quorate.apply.history import History
from quorate.apply.layers import Layer, Rows
from quorate.apply.outcomes import TOO_LARGE, CopyBehind
from quorate.apply.scope import Family, Scope
from quorate.apply.writers import Writer
from quorate.plugin import Rejected, Row
from quorate.plugin.advanced import Splice
from quorate.plugin.batches import AT_A_TIME, in_parts
from quorate.plugin.deprecations import deprecated
from quorate.plugin.keys import successor
from quorate.plugin.splicing import spliced
from quorate.storage.events import EventRow, Kind
from quorate.storage.families import COUNTS, SEQUENCES
from quorate.storage.rows import REVISION
from quorate.v1.command_pb2 import Command

#: An id is the shard's number and, in the low bits, the number in its sequence.
SEQUENCE_BITS: Final = 48
#: Bytes that a row may have in addition to the longest value of a client.
ROW_SLACK: Final = 64 << 10
#: The default limit of a row's value.
ROW_BYTES: Final = (1 << 20) + ROW_SLACK
#: The sequences of a generation begin at a multiple of this bit.
_GENERATION_BIT: Final = 32
#: The prefix of a public row's value, for code that runs per row.
_HEAD: Final = REVISION.size
_BYTES: Final = {bytes}
_revision: Final = REVISION.unpack_from
#: The constructor of a named tuple takes as long as a read of a row.
_new_row: Final = tuple.__new__
_PUT: Final = Kind.PUT
_NUMBER: Final = Struct(">Q")


class ShardReader:
    """A view of the rows of a shard."""

    __slots__ = ("_copies", "_now_ms", "_reads", "_revision", "_rows", "_scope", "_shard")

    def __init__(
        self,
        rows: Rows,
        scope: Scope,
        *,
        revision: int,
        now_ms: int,
        shard: int,
        copies: Copies = Copies.FRESH,
    ) -> None:
        self._rows = rows
        self._copies: Final = copies
        self._scope: Final = scope
        self._reads: Final = scope.reads
        self._revision: Final = revision
        self._now_ms: Final = now_ms
        self._shard: Final = shard

    @property
    def shard(self) -> int:
        """The number of the shard within its group."""
        return self._shard

    @property
    def revision(self) -> int:
        """The newest revision in this view; in a transaction that of its command."""
        return self._revision

    @property
    def now_ms(self) -> int:
        """The shard's logical time."""
        return self._now_ms

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return the value of a row, or None."""
        declared = self._reads.get(family)
        if declared is None:
            raise self._scope.undeclared_read(family)
        if type(key) is not bytes:
            raise _not_bytes("key", key)
        stored = self._rows.get(family, key)
        return stored[_HEAD:] if stored is not None and declared.public else stored

    def get_row(self, family: str, key: bytes) -> Row | None:
        """Return a row with its revision, or None."""
        declared = self._reads.get(family)
        if declared is None:
            raise self._scope.undeclared_read(family)
        if type(key) is not bytes:
            raise _not_bytes("key", key)
        stored = self._rows.get(family, key)
        if stored is None:
            return None
        if not declared.public:
            return _new_row(Row, (key, stored, 0))
        return _new_row(Row, (key, stored[_HEAD:], _revision(stored)[0]))

    def get_rows(self, family: str, keys: Iterable[bytes]) -> list[Row | None]:
        """Return the current rows of keys in their order."""
        declared = self._readable(family)
        named = _checked(keys)
        found = zip(named, self._rows.get_many(family, named), strict=True)
        new, revision = _new_row, _revision
        if not declared.public:
            return [None if value is None else new(Row, (key, value, 0)) for key, value in found]
        return [
            None if value is None else new(Row, (key, value[_HEAD:], revision(value)[0]))
            for key, value in found
        ]

    def get_values(self, family: str, keys: Iterable[bytes]) -> list[bytes | None]:
        """Return the current values of keys in their order."""
        declared = self._readable(family)
        values = self._rows.get_many(family, _checked(keys))
        if not declared.public:
            return values
        return [None if value is None else value[_HEAD:] for value in values]

    def get_starts(self, family: str, keys: Iterable[bytes], size: int) -> list[bytes | None]:
        """Return the first bytes of the current values of keys in their order."""
        declared, named = self._readable(family), _checked(keys)
        start = _HEAD if declared.public else 0
        part = slice(start, start + size)
        found: list[bytes | None] = []
        # Few whole values are in memory at a time: they may be large.
        for some in in_parts(named, AT_A_TIME):
            values = self._rows.get_many(family, some)
            found += [None if value is None else value[part] for value in values]
        return found

    def writer(self, family: str, row: Row) -> Writer | None:
        """Return the writer of a row of this view, if that was kept."""
        found = writers.find(self._rows, family, row.key)
        return found if found is not None and found.revision == row.revision else None

    def changes(self, family: str, key: bytes, before: int) -> History:
        """Return the changes of a row before a revision, or the newest with 0, as far as kept."""
        self._readable(family)
        return history.changes(self._rows, family, key, before)

    def due_of(self, timers: Iterable[str], key: bytes) -> Iterator[tuple[str, bytes, int]]:
        """Yield timer, key and time of the deadlines of a key, or of keys that begin with it."""
        return history.deadlines(self._rows, timers, key)

    def deadline(self, timer: str, key: bytes) -> int | None:
        """Return the deadline of a key, if any."""
        self._scope.check_timer(timer)
        if type(key) is not bytes:
            raise _not_bytes("key", key)
        found = deadlines.deadline_of(self._rows, timer, key)
        return None if found is None else found.at_ms

    def newest_id(self, sequence: str) -> int:
        """Return the last number of a sequence that this shard gave out."""
        stored = self._rows.get(SEQUENCES, sequence.encode())
        return self._shard << SEQUENCE_BITS | (0 if stored is None else number_of(stored))

    def newest_fence(self, name: bytes) -> int:
        """Return the newest token that this shard knows of a fence; 0: none."""
        return fences.token_of(self._rows, name)

    def refresh(self, family: str) -> None:
        """Return once the copy of a mirrored family has all writes answered before the call."""
        self._readable(family)
        if self._copies is Copies.FRESH:
            return
        if self._copies is Copies.DOUBTED:
            raise CopyBehind
        raise Rejected(
            "UNAVAILABLE",
            f"shard 0 of metadata did not say in time whether the copy of {family} is up to date,"
            " and what was asked for is not in it: try again",
        )

    def count(self, family: str) -> int:
        """Return the number of rows of a counted family in this shard."""
        if not self._readable(family).counted:
            raise ValueError(f"column family {family} is not counted: declare it with counted=True")
        stored = self._rows.get(COUNTS, family.encode())
        return 0 if stored is None else number_of(stored)

    @deprecated("since 0.2: write get_rows(family, keys), and build the answers of the rows")
    def get_spliced(self, family: str, keys: Iterable[bytes], splice: Splice) -> list[bytes | None]:
        """Return the rows of keys in their order, prefixed by key and revision."""
        rows = self.get_rows(family, keys)
        return [None if row is None else spliced(*splice, row) for row in rows]

    def scan(
        self,
        family: str,
        start: bytes,
        end: bytes,
        *,
        limit: int | None = None,
        reverse: bool = False,
    ) -> Iterator[Row]:
        """Yield at most `limit` current rows with `start <= key < end`; without it all, in turn."""
        declared = self._readable(family)
        _check_bytes("bound of a range", (start, end))
        if limit is None:
            return self._scan_all(family, start, end, reverse=reverse)
        if limit < 1:
            raise ValueError(f"a scan of {family} with limit {limit}: the limit must be at least 1")
        if start >= end:
            return iter(())
        stored = islice(self._rows.iterate(family, start, end, reverse=reverse), limit)
        new, revision = _new_row, _revision
        if not declared.public:
            return iter([new(Row, (key, value, 0)) for key, value in stored])
        return iter([new(Row, (key, value[_HEAD:], revision(value)[0])) for key, value in stored])

    def _scan_all(self, family: str, start: bytes, end: bytes, *, reverse: bool) -> Iterator[Row]:
        while start < end:
            rows = list(self.scan(family, start, end, limit=AT_A_TIME, reverse=reverse))
            yield from rows
            if len(rows) < AT_A_TIME:
                return
            start, end = (start, rows[-1].key) if reverse else (successor(rows[-1].key), end)

    def _readable(self, family: str) -> Family:
        declared = self._reads.get(family)
        if declared is None:
            raise self._scope.undeclared_read(family)
        return declared


class ShardTxn(ShardReader):
    """The transaction of a handler: its changes go to a layer, which the evaluator merges or drops.

    Its events are appended to the entry's, and the evaluator rolls them back.
    """

    __slots__ = (
        "_carry_out",
        "_events",
        "_generation",
        "_head",
        "_layer",
        "_parts",
        "_put_here",
        "_row_bytes",
        "_run",
    )

    _rows: Layer

    def __init__(
        self,
        layer: Layer,
        scope: Scope,
        events: EventRow,
        *,
        revision: int,
        at_ms: int,
        shard: int,
        generation: int = 0,
        row_bytes: int = ROW_BYTES,
        copies: Copies = Copies.FRESH,
        carry_out: Callable[[Layer, Command], bytes | None] | None = None,
    ) -> None:
        super().__init__(layer, scope, revision=revision, now_ms=at_ms, shard=shard, copies=copies)
        self._layer = layer
        self._carry_out: Final = carry_out
        self._generation: Final = generation
        self._row_bytes: Final = row_bytes
        self._events: Final = events
        self._parts: Final = events.parts
        self._head: Final = REVISION.pack(revision)
        #: The rows of families in which a put is only a new value and an event.
        self._put_here: Final[dict[str, dict[bytes, bytes | None]]] = {}
        #: The rows whose puts are the last run of events.
        self._run: dict[bytes, bytes | None] | None = None

    def end(self) -> None:
        """Refuse all further calls: the handler has returned."""
        self._layer = self._rows = _ENDED
        self._put_here.clear()

    @property
    def layer(self) -> Layer:
        """The rows, for changes by core's own commands."""
        return self._layer

    @property
    def proposed_at_ms(self) -> int:
        """The logical time of this command."""
        return self._now_ms

    @property
    def generation(self) -> int:
        """How many times the cluster was restored from a backup."""
        return self._generation

    def put(self, family: str, key: bytes, value: bytes) -> None:
        """Write a row, and record its event."""
        rows = self._put_here.get(family)
        if rows is None:
            rows = self._put_elsewhere(family, key, value)
            if rows is None:
                return
        if type(key) is not bytes or type(value) is not bytes:
            raise _not_bytes("key", key) if type(key) is not bytes else _not_bytes("value", value)
        if len(value) > self._row_bytes:
            raise self._too_large(family, len(value))
        if rows is not self._run:
            self._events.begin(family, _PUT)
            self._run = rows
        rows[key] = stored = self._head + value
        self._parts.append(key)
        self._parts.append(stored)

    def put_each(self, family: str, rows: Mapping[bytes, bytes]) -> None:
        """Write rows in the given order, and record their events."""
        declared = self._writable(family)
        if declared.previous or declared.counted:
            for key, value in rows.items():
                self.put(family, key, value)
            return
        _check_bytes("value", rows.values())
        head = self._head
        stored = [head + value for value in rows.values()] if declared.public else rows.values()
        self._put_all(declared, rows, list(stored))

    def put_joined(self, family: str, keys: Collection[bytes], *parts: Iterable[bytes]) -> None:
        """Write a row for each of different keys, its value joined of one of each of the parts."""
        declared = self._writable(family)
        join = b"".join
        if declared.previous or declared.counted:
            for key, value in zip(keys, map(join, zip(*parts, strict=True)), strict=True):
                self.put(family, key, value)
            return
        if declared.public:
            parts = (repeat(self._head, len(keys)), *parts)
        # Joined with their revision, values are copied once.
        self._put_all(declared, keys, list(map(join, zip(*parts, strict=True))))

    def delete(self, family: str, key: bytes) -> None:
        """Delete a row, if it is there, and record its event."""
        declared = self._writable(family)
        if type(key) is not bytes:
            raise _not_bytes("key", key)
        if not declared.public and not declared.counted:
            # Without an event or a count it does not matter whether there was a row.
            self._layer.delete(family, key)
            return
        old = self._layer.get(family, key)
        if old is None:
            return
        self._layer.delete(family, key)
        if declared.counted:
            self.count_more(family, -1)
        if declared.previous and declared.public:
            self._record(family, Kind.DELETED_OVER, key, self._head, old[_HEAD:])
        elif declared.public:
            self._record(family, Kind.DELETED, key, self._head)

    def delete_range(self, family: str, start: bytes, end: bytes) -> None:
        """Delete every row with `start <= key < end` of a private family."""
        declared = self._writable(family)
        _check_range(start, end)
        if declared.public:
            raise ValueError(
                f"delete_range on column family {family}, whose rows are watched: "
                "scan it and delete row by row, so that watches get each deletion"
            )
        if declared.counted:
            self.count_more(family, -sum(1 for _ in self._layer.iterate(family, start, end)))
        self._layer.delete_range(family, start, end)

    def purge(self, family: str, keys: Sequence[bytes]) -> None:
        """Delete rows of an undeclared family.

        Each deletion is an event, for watches that were opened before.
        """
        for key in keys:
            self._layer.delete(family, key)
            self._record(family, Kind.DELETED, key, self._head)
        counted = self._layer.get(COUNTS, family.encode())
        if counted is not None:
            # It excludes rows from before the family was counted.
            left = max(0, number_of(counted) - len(keys))
            self._layer.put(COUNTS, family.encode(), _NUMBER.pack(left))

    def forget(self, family: Family, key: bytes) -> None:
        """Delete a row that is in another shard now, without an event."""
        self._layer.delete(family.name, key)
        if family.public:
            self._events.silent.append((family.name, key))
        if family.counted:
            self.count_more(family.name, -1)

    def next_id(self, sequence: str) -> int:
        """Return the next number of a sequence, with the shard's number in the top 16 bits.

        It jumps with the generation, so that numbers given out after a backup are never repeated.
        """
        least = self._generation << _GENERATION_BIT
        return self._shard << SEQUENCE_BITS | self._add(SEQUENCES, sequence, 1, least)

    def schedule(
        self, timer: str, key: bytes, at_ms: int | None, *, ttl_ms: int | None = None
    ) -> None:
        """Set the deadline of a key under a declared timer, or cancel it with None."""
        self._scope.check_timer(timer)
        if type(key) is not bytes:
            raise _not_bytes("key", key)
        deadline = None if at_ms is None else Deadline(at_ms, ttl_ms)
        deadlines.schedule(self._layer, timer, key, deadline)

    def schedule_each(self, timer: str, times: Mapping[bytes, int | None]) -> None:
        """Set or cancel the deadlines of keys under a declared timer."""
        self._scope.check_timer(timer)
        _check_bytes("key", times)
        if times:
            deadlines.schedule_each(self._layer, timer, times)

    def emit(self, event: Message) -> None:
        """Record an event that is not a change of a row."""
        if self._layer is _ENDED:
            raise _ended()
        content = event.SerializeToString(deterministic=True)
        self._record(event.DESCRIPTOR.full_name, Kind.EMITTED, self._head + content)

    def raise_fence(self, name: bytes, token: int, *, held: bool = False) -> None:
        """Refuse later commands that carry an older token of the name."""
        fences.raise_to(self._layer, name, token, self._now_ms, held=held)

    def carry_out(self, command: Command) -> bytes | None:
        """Carry out another command, and return its reply; None if it cannot be done here."""
        # It continues the events.
        self._run = None
        return None if self._carry_out is None else self._carry_out(self._layer, command)

    def _put_elsewhere(
        self, family: str, key: bytes, value: bytes
    ) -> dict[bytes, bytes | None] | None:
        """Put a row of an unusual family; of a usual one return the table to put into."""
        declared = self._writable(family)
        rows = self._layer.table(family).rows
        if declared.public and not declared.previous and not declared.counted:
            self._put_here[family] = rows
            return rows
        if type(key) is not bytes or type(value) is not bytes:
            raise _not_bytes("key", key) if type(key) is not bytes else _not_bytes("value", value)
        if len(value) > self._row_bytes:
            raise self._too_large(family, len(value))
        if not declared.public and not declared.counted:
            rows[key] = value
            return None
        stored = self._head + value if declared.public else value
        old = self._layer.get(family, key) if declared.previous or declared.counted else None
        rows[key] = stored
        if declared.counted and old is None:
            self.count_more(family, 1)
        if declared.public and declared.previous and old is not None:
            self._record(family, Kind.REPLACED, key, stored, old[_HEAD:])
        elif declared.public:
            self._record(family, Kind.PUT, key, stored)
        return None

    def _put_all(self, declared: Family, keys: Collection[bytes], stored: list[bytes]) -> None:
        """Write rows as they are stored to a usual family, and record their events."""
        _check_bytes("key", keys)
        if not stored:
            return
        longest = max(map(len, stored)) - (_HEAD if declared.public else 0)
        if longest > self._row_bytes:
            raise self._too_large(declared.name, longest)
        self._layer.table(declared.name).rows.update(zip(keys, stored, strict=True))
        if not declared.public:
            return
        self._run = None
        self._events.begin(declared.name, Kind.PUT)
        parts = [b""] * (2 * len(stored))
        parts[::2], parts[1::2] = keys, stored
        self._parts.extend(parts)

    def _too_large(self, family: str, size: int) -> Rejected:
        return Rejected(
            TOO_LARGE,
            f"a row of {family} would have {size} bytes; at most {self._row_bytes} allowed"
            " (limits.value_bytes); nothing was written",
        )

    def _record(self, family: str, kind: Kind, *parts: bytes) -> None:
        self._run = None
        self._events.begin(family, kind)
        self._parts.extend(parts)

    def _writable(self, family: str) -> Family:
        declared = self._scope.writes.get(family)
        if declared is None:
            raise self._scope.undeclared_write(family)
        return declared

    def count_more(self, family: str, rows: int) -> None:
        """Add to the number of rows of a counted family."""
        self._add(COUNTS, family, rows)

    def _add(self, family: str, name: str, more: int, least: int = 0) -> int:
        key = name.encode()
        old = self._layer.get(family, key)
        number = max(least, 0 if old is None else number_of(old)) + more
        self._layer.put(family, key, _NUMBER.pack(number))
        return number


def number_of(stored: bytes) -> int:
    """Parse the row of a sequence or a count."""
    return int(_NUMBER.unpack(stored)[0])


def number_row(number: int) -> bytes:
    """Return the row of a sequence or a count."""
    return _NUMBER.pack(number)


class _EndedLayer(Layer):
    """Replaces the layer of a transaction that has ended."""

    def __getattribute__(self, name: str) -> object:
        raise _ended()


class _Nothing:
    """No rows."""

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return None."""
        return None

    def get_many(self, family: str, keys: list[bytes]) -> list[bytes | None]:
        """Return None for each."""
        return [None] * len(keys)

    def iterate(
        self, family: str, start: bytes, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Return nothing."""
        return iter(())


NOTHING: Final = _Nothing()
_ENDED: Final = _EndedLayer(NOTHING)


def _ended() -> RuntimeError:
    return RuntimeError("this transaction has ended: a handler must not keep it")


def _not_bytes(what: str, part: object) -> TypeError:
    return TypeError(f"a {what} must be bytes, not {type(part).__name__}")


def _checked(keys: Iterable[bytes]) -> list[bytes]:
    named = list(keys)
    _check_bytes("key", named)
    return named


def _check_bytes(what: str, parts: Collection[bytes]) -> None:
    if set(map(type, parts)) - _BYTES:
        raise _not_bytes(what, next(part for part in parts if type(part) is not bytes))


def _check_range(start: bytes, end: bytes) -> None:
    _check_bytes("bound of a range", (start, end))
    if start > end:
        raise ValueError(f"a range starts at {start!r} and ends before that, at {end!r}")
