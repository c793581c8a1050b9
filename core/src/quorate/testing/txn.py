"""`quorate.plugin.Txn` in memory: what a handler is given by the kit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Final

from google.protobuf.message import Message

from quorate.plugin import ColumnFamily, EmittedEvent, Event, Row, RowEvent
from quorate.plugin.catalog import Catalog
from quorate.testing.installed import catalog_of
from quorate.testing.layers import Deadline, Layer
from quorate.testing.scope import Scope

#: A revision is the index of the entry, and in the low bits the command's position in it.
POSITION_BITS: Final = 20
#: An id is the shard's number, and in the low bits the number that its sequence has reached.
SEQUENCE_BITS: Final = 48


def revision_of(index: int, position: int) -> int:
    """Return the revision of the command at a position of the entry at an index."""
    return index << POSITION_BITS | position


class ShardReader:
    """`quorate.plugin.Reader` over a layer; without a scope every family may be named."""

    def __init__(self, layer: Layer, scope: Scope | None, *, revision: int, now_ms: int) -> None:
        self._shown: Final = layer
        self._scope: Final = scope
        self._revision: Final = revision
        self._now_ms: Final = now_ms

    @property
    def _layer(self) -> Layer:
        return self._shown

    @property
    def revision(self) -> int:
        """The newest revision that this view holds."""
        return self._revision

    @property
    def now_ms(self) -> int:
        """The shard's logical time."""
        return self._now_ms

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return the value of a row, or None when there is none."""
        row = self.get_row(family, key)
        return row.value if row is not None else None

    def get_row(self, family: str, key: bytes) -> Row | None:
        """Return a row with its revision, or None when there is none."""
        self._check_read(family)
        return self._layer.row(family, _checked(key, "key"))

    def scan(
        self, family: str, start: bytes, end: bytes, *, limit: int, reverse: bool = False
    ) -> Iterator[Row]:
        """Yield at most `limit` rows with `start <= key < end`, as they are at this call."""
        self._check_read(family)
        _check_range(start, end)
        if limit < 1:
            raise ValueError(f"a scan of {family} with limit {limit}: a limit is at least 1")
        return iter(list(islice(self._layer.span(family, start, end, reverse=reverse), limit)))

    def _check_read(self, family: str) -> None:
        if self._scope is not None:
            self._scope.check_read(family)


class ShardTxn(ShardReader):
    """`quorate.plugin.Txn` over a layer of its own, which its maker merges or drops."""

    def __init__(
        self, layer: Layer, scope: Scope | None, *, revision: int, at_ms: int, shard: int
    ) -> None:
        super().__init__(layer, scope, revision=revision, now_ms=at_ms)
        self._shard: Final = shard
        self._ended = False
        #: What happened, in order.
        self.events: Final[list[Event]] = []

    @property
    def _layer(self) -> Layer:
        if self._ended:
            raise RuntimeError("this transaction has ended: a handler keeps none for later")
        return self._shown

    def end(self) -> None:
        """Refuse every use from now on: the handler has returned."""
        self._ended = True

    @property
    def proposed_at_ms(self) -> int:
        """The logical time of this command."""
        return self._now_ms

    def put(self, family: str, key: bytes, value: bytes) -> None:
        """Write a row, and note its event."""
        declared = self._check_write(family)
        public = self._is_public(declared)
        row = Row(_checked(key, "key"), _checked(value, "value"), self._revision if public else 0)
        self._note(family, declared, key, value)
        self._layer.write(family, key, row)

    def delete(self, family: str, key: bytes) -> None:
        """Delete a row if there is one, and note its event."""
        declared = self._check_write(family)
        if self._layer.row(family, _checked(key, "key")) is not None:
            self._note(family, declared, key, None)
            self._layer.write(family, key, None)

    def delete_range(self, family: str, start: bytes, end: bytes) -> None:
        """Delete every row with `start <= key < end` of a private family."""
        declared = self._check_write(family)
        _check_range(start, end)
        if declared is not None and declared.row is not None:
            raise ValueError(
                f"delete_range on column family {family}, whose rows are watched: "
                "scan it and delete row by row, so that every watcher hears of each"
            )
        for row in list(self._layer.span(family, start, end, reverse=False)):
            self._layer.write(family, row.key, None)

    def next_id(self, sequence: str) -> int:
        """Return the next number of a sequence, with the shard's number in the top 16 bits."""
        return self._shard << SEQUENCE_BITS | self._layer.advance_sequence(sequence)

    def schedule(
        self, timer: str, key: bytes, at_ms: int | None, *, ttl_ms: int | None = None
    ) -> None:
        """Set the deadline of a key under a declared timer, or cancel it with None."""
        self._check_timer(timer)
        deadline = Deadline(at_ms, ttl_ms) if at_ms is not None else None
        self._layer.schedule(timer, _checked(key, "key"), deadline)

    def deadline(self, timer: str, key: bytes) -> int | None:
        """Return the deadline that stands for a key."""
        self._check_timer(timer)
        found = self._layer.deadline(timer, _checked(key, "key"))
        return found.at_ms if found is not None else None

    def emit(self, event: Message) -> None:
        """Note an event that is no row."""
        copy = type(event)()
        copy.CopyFrom(event)
        self.events.append(EmittedEvent(message=copy))

    def _note(
        self, family: str, declared: ColumnFamily | None, key: bytes, value: bytes | None
    ) -> None:
        if self._is_public(declared):
            old = self._layer.row(family, key) if declared and declared.previous else None
            previous = old.value if old is not None else None
            self.events.append(RowEvent(family=family, key=key, value=value, previous=previous))

    def _check_write(self, family: str) -> ColumnFamily | None:
        if self._scope is None:
            return None
        self._scope.check_write(family)
        return self._scope.families[family]

    def _check_timer(self, timer: str) -> None:
        if self._scope is not None:
            self._scope.check_timer(timer)

    @staticmethod
    def _is_public(declared: ColumnFamily | None) -> bool:
        return declared is None or declared.row is not None


class MemoryTxn(ShardTxn):
    """A transaction for unit tests of handlers: no Raft, no disk, no node.

    Without `plugin` and `catalog` every column family and timer may be named, and every row gives
    an event. With one, only what the plugin declares. `rows` are there before the transaction.
    """

    def __init__(
        self,
        at_ms: int = 0,
        *,
        rows: Mapping[str, Mapping[bytes, bytes]] | None = None,
        plugin: str | None = None,
        catalog: Catalog | None = None,
        shard: int = 0,
    ) -> None:
        store = Layer()
        for family, content in (rows or {}).items():
            for key, value in content.items():
                store.write(family, key, Row(key, value, revision_of(1, 0)))
        scope: Scope | None = None
        if plugin is not None:
            scope = Scope.of_plugin(catalog or catalog_of([plugin]), plugin)
        elif catalog is not None:
            raise ValueError("MemoryTxn needs to know whose handler runs: give plugin with catalog")
        self._start(store, scope, index=2, at_ms=at_ms, shard=shard)

    def _start(
        self, store: Layer, scope: Scope | None, *, index: int, at_ms: int, shard: int
    ) -> None:
        self._index = index
        super().__init__(
            Layer(store), scope, revision=revision_of(index, 0), at_ms=at_ms, shard=shard
        )

    def then(self, at_ms: int) -> MemoryTxn:
        """Keep what this transaction wrote, and return the one of the next command."""
        if at_ms < self._now_ms:
            raise ValueError(f"logical time runs backwards, from {self._now_ms} ms to {at_ms} ms")
        following = MemoryTxn.__new__(MemoryTxn)
        following._start(
            self._layer, self._scope, index=self._index + 1, at_ms=at_ms, shard=self._shard
        )
        return following

    def rows(self, family: str) -> dict[bytes, bytes]:
        """Return the rows of a family, own writes among them, in the order of their keys."""
        found = self._layer.contents().families.get(family, ())
        return {row.key: row.value for row in found}

    @property
    def deadlines(self) -> dict[tuple[str, bytes], int]:
        """The deadlines that stand, by timer and key."""
        return {name: due.at_ms for name, due in self._layer.contents().deadlines.items()}


def _checked(part: bytes, what: str) -> bytes:
    if not isinstance(part, bytes):
        raise TypeError(f"a {what} is bytes, not {type(part).__name__}")
    return part


def _check_range(start: bytes, end: bytes) -> None:
    if start > end:
        raise ValueError(f"a range that starts at {start!r} and ends before it, at {end!r}")
