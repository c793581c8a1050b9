"""`quorate.plugin.Txn` in memory: the transaction that the kit passes to a handler."""

from __future__ import annotations

from collections.abc import Mapping

from quorate.apply.entries import revision_of
from quorate.apply.layers import Layer
from quorate.apply.scope import UNLIMITED, Scope
from quorate.apply.txn import NOTHING, ShardTxn
from quorate.plugin.advanced import Event
from quorate.plugin.catalog import Catalog
from quorate.storage.events import EventRow, decode
from quorate.testing.installed import catalog_of
from quorate.testing.stored import deadlines_in, events_of, rows_in


class MemoryTxn(ShardTxn):
    """A transaction for unit tests of handlers: no Raft, no disk, no node.

    Without `plugin` and `catalog` every column family and timer may be named, and every row gives
    an event. With a plugin, only its declared ones. `rows` exist before the transaction.
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
        scope = everything = UNLIMITED
        if plugin is not None:
            catalog = catalog or catalog_of([plugin])
            scope = Scope.of_plugin(catalog, plugin)
            everything = Scope.of_reads(catalog, catalog.families)
        elif catalog is not None:
            raise ValueError("MemoryTxn needs to know whose handler runs: give plugin with catalog")
        store = Layer(NOTHING)
        self._start(store, scope, everything, index=2, at_ms=at_ms, shard=shard)
        _fill(store, everything, rows or {})

    def _start(
        self, below: Layer, scope: Scope, everything: Scope, *, index: int, at_ms: int, shard: int
    ) -> None:
        self._index = index
        #: The scope of all families, which a test may read.
        self._everything = everything
        super().__init__(
            Layer(below),
            scope,
            EventRow(),
            revision=revision_of(index, 0),
            at_ms=at_ms,
            shard=shard,
        )

    def then(self, at_ms: int) -> MemoryTxn:
        """Keep the writes of this transaction, and return the transaction of the next command."""
        if at_ms < self.now_ms:
            raise ValueError(f"logical time runs backwards, from {self.now_ms} ms to {at_ms} ms")
        following = MemoryTxn.__new__(MemoryTxn)
        following._start(
            self.layer,
            self._scope,
            self._everything,
            index=self._index + 1,
            at_ms=at_ms,
            shard=self._shard,
        )
        return following

    @property
    def events(self) -> list[Event]:
        """The events, in order."""
        return list(events_of(decode(self._events.encode(self.now_ms))))

    @property
    def deadlines(self) -> dict[tuple[str, bytes], int]:
        """The pending deadlines, by timer and key."""
        return {name: deadline.at_ms for name, deadline in deadlines_in(self.layer).items()}

    def rows(self, family: str) -> dict[bytes, bytes]:
        """Return the rows of a family, including own writes, in the order of their keys."""
        kept = self._everything.reads.get(family)
        if kept is None:
            return {}
        return {row.key: row.value for row in rows_in(self.layer, kept)}


def _fill(store: Layer, everything: Scope, rows: Mapping[str, Mapping[bytes, bytes]]) -> None:
    scope = Scope(everything.reads, everything.reads, None)
    before = ShardTxn(store, scope, EventRow(), revision=revision_of(1, 0), at_ms=0, shard=0)
    for family, content in rows.items():
        for key, value in content.items():
            before.put(family, key, value)
