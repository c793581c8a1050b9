"""Cuts the rows of a partition into numbered batches, one sequence for each shard.

What a batch holds depends on the rows and their order alone, never on time: a task that runs again
makes the same batches, and a shard knows by their numbers which of them it has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from operator import methodcaller
from typing import Any, Final

import pyarrow as pa
from google.protobuf.message import Message
from quorate.plugin import Invalid
from quorate.plugin.slots import slots_of

from quorate_spark.source.columns import lacks_values, lists, normalized
from quorate_spark.source.dead_letters import BadRow, values_of
from quorate_spark.source.shards import ShardPlan
from quorate_spark.source.tables import FoundTable

#: A batch ends with the row that fills it.
BATCH_BYTES: Final = 512 << 10
#: The default limit of a node for a row, plus room for its framing.
MOST_ROW_BYTES: Final = (1 << 20) + (16 << 10)

_serialized: Final = methodcaller("SerializeToString")

#: The Arrow batch of a row, its place there, and its number in the partition.
Origin = tuple[pa.RecordBatch, int, int]
#: The number of the first row of an Arrow batch, and the batch. Rows are identified by their
#: numbers alone while all goes well: a tuple for each of them would keep the garbage collector
#: busy.
Source = tuple[int, pa.RecordBatch]


class Batch:
    """Rows of one shard, by the number that names them there."""

    __slots__ = (
        "contents",
        "items",
        "keys",
        "number",
        "rows",
        "shard",
        "shard_key",
        "size",
        "slots",
        "sources",
    )

    def __init__(self, shard: int, number: int, shard_key: bytes, source: Source) -> None:
        self.shard: Final = shard
        self.number: Final = number
        #: Of one of its rows.
        self.shard_key: Final = shard_key
        self.items: Final[list[Message]] = []
        #: The serialized form of each item.
        self.contents: Final[list[bytes]] = []
        #: The number of each of its rows in the partition.
        self.rows: Final[list[int]] = []
        #: Where its rows come from, in the order of the rows; nothing else is kept in memory.
        self.sources: Final[list[Source]] = [source]
        self.keys: Final[set[bytes]] = set()
        #: Of its rows.
        self.slots: Final[set[int]] = set()
        self.size = 0

    def fitting(self, keys: list[bytes], sizes: list[int]) -> int:
        """Return how many of these rows fit; the row that fills the batch is its last.

        No batch names a key twice: the later row goes into a later batch.
        """
        if self.size + sum(sizes) < BATCH_BYTES and len(self.keys.union(keys)) == (
            len(self.keys) + len(keys)
        ):
            return len(keys)
        named, size = set(self.keys), self.size
        for at, key in enumerate(keys):
            if key in named:
                return at
            named.add(key)
            size += sizes[at]
            if size >= BATCH_BYTES:
                return at + 1
        return len(keys)

    def bad_row(self, at: int, column: str, reason: str) -> BadRow:
        """Return the description of a row of the batch."""
        row = self.rows[at]
        first, record_batch = next(each for each in reversed(self.sources) if each[0] <= row)
        return bad_row((record_batch, row - first, row), column, reason)


class Batching:
    """Takes the rows of a partition in their order, and gives batches as they become full."""

    def __init__(self, found: FoundTable, plan: ShardPlan, *, insert_only: bool, rows: int) -> None:
        table = found.table
        self._table: Final = table
        self._plan: Final = plan
        self._to_item: Final = (table.to_insert or table.to_item) if insert_only else table.to_item
        self._key: Final = found.items.key
        names = [column.name for column in table.columns]
        #: Where the columns of the key are.
        self._key_at: Final = [names.index(name) for name in table.key]
        self._shard_key: Final = found.items.shard_key
        self._rows: Final = rows
        self._open: Final[dict[int, Batch]] = {}
        self._numbers: Final[dict[int, int]] = {}
        self._taken = 0
        #: Rows that are in no batch, for they cannot be right.
        self.bad: Final[list[BadRow]] = []

    def take(
        self, record_batch: pa.RecordBatch, shards: Collection[int] | None = None
    ) -> Iterator[Batch]:
        """Take rows, all of them or those of some shards, and yield the batches that they fill."""
        first = self._taken + 1
        self._taken += record_batch.num_rows
        if shards is not None and not shards:
            return
        columns = normalized(self._table, record_batch)
        values = lists(self._table, columns)
        items, contents, places = self._items(record_batch, columns, values, first)
        shard_keys = keys = list(map(self._shard_key, items))
        if self._key is None:
            keys = [self._key_of(values, place) for place in places]
        elif self._key is not self._shard_key:
            keys = list(map(self._key, items))
        slots, sizes = slots_of(shard_keys), list(map(len, contents))
        source = first, record_batch
        for shard, mine in self._plan.by_shard(slots).items():
            if shards is not None and shard not in shards:
                continue
            begin = 0
            while begin < len(mine):
                filling = self._open.get(shard)
                if filling is None:
                    filling = self._begin(shard, shard_keys[mine[begin]], source)
                elif filling.sources[-1] is not source:
                    filling.sources.append(source)
                part = mine[begin : begin + self._rows - len(filling.items)]
                fitting = filling.fitting([keys[at] for at in part], [sizes[at] for at in part])
                del part[fitting:]
                begin += fitting
                filling.keys.update([keys[at] for at in part])
                filling.slots.update([slots[at] for at in part])
                filling.items.extend([items[at] for at in part])
                filling.contents.extend([contents[at] for at in part])
                filling.rows.extend([first + places[at] for at in part])
                filling.size += sum([sizes[at] for at in part])
                full = len(filling.items) == self._rows or filling.size >= BATCH_BYTES
                if full or begin < len(mine):
                    yield self._open.pop(shard)

    def rest(self) -> Iterator[Batch]:
        """Yield the unfinished batches, in the order of the shards."""
        for shard in sorted(self._open):
            yield self._open[shard]
        self._open.clear()

    def _begin(self, shard: int, shard_key: bytes, source: Source) -> Batch:
        number = self._numbers[shard] = self._numbers.get(shard, 0) + 1
        batch = self._open[shard] = Batch(shard, number, shard_key, source)
        return batch

    def _key_of(self, values: list[list[Any]], at: int) -> bytes:
        return self._table.to_key(*(values[column][at] for column in self._key_at))

    def _items(
        self,
        record_batch: pa.RecordBatch,
        columns: list[pa.Array],
        values: list[list[Any]],
        first: int,
    ) -> tuple[list[Message], list[bytes], Sequence[int]]:
        """Return the items of the well-formed rows, their serialized forms and their positions."""
        if not lacks_values(self._table, columns):
            try:
                items = list(map(self._to_item, *values))
                contents = list(map(_serialized, items))
                if max(map(len, contents), default=0) <= MOST_ROW_BYTES:
                    return items, contents, range(len(items))
            except (Invalid, ValueError, TypeError):
                # Which rows it was is found out row by row.
                pass
        found = [
            self._item(row, (record_batch, at, first + at))
            for at, row in enumerate(zip(*values, strict=True))
        ]
        places = [at for at, item in enumerate(found) if item is not None]
        items = [item for item in found if item is not None]
        return items, list(map(_serialized, items)), places

    def _item(self, row: tuple[Any, ...], origin: Origin) -> Message | None:
        for column, value in zip(self._table.columns, row, strict=True):
            if value is None and not column.nullable:
                self.bad.append(bad_row(origin, column.name, "is null"))
                return None
        try:
            item = self._to_item(*row)
            if (size := item.ByteSize()) <= MOST_ROW_BYTES:
                return item
            reason = f"the row takes {size} bytes; at most {MOST_ROW_BYTES} allowed"
            self.bad.append(bad_row(origin, "", reason))
        except Invalid as error:
            self.bad.append(bad_row(origin, error.field, error.reason))
        except (ValueError, TypeError) as error:
            self.bad.append(bad_row(origin, "", str(error)))
        return None


def bad_row(origin: Origin, column: str, reason: str) -> BadRow:
    """Return the description of a row."""
    record_batch, at, row = origin
    return BadRow(row=row, column=column, reason=reason, values=values_of(record_batch, at))
