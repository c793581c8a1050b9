"""Cuts the rows of a partition into numbered batches, one sequence for each shard.

What a batch holds depends on the rows and their order alone, never on time: a task that runs again
makes the same batches, and a shard knows by their numbers which of them it has.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
from google.protobuf.message import Message
from quorate.plugin import Invalid

from quorate_spark.source.columns import normalized
from quorate_spark.source.dead_letters import BadRow, values_of
from quorate_spark.source.shards import ShardPlan
from quorate_spark.source.tables import FoundTable

#: A batch ends with the row that fills it.
BATCH_BYTES: Final = 512 << 10
#: What a node takes by default, with room for what stands around a row.
MOST_ROW_BYTES: Final = (1 << 20) + (16 << 10)

#: The Arrow batch of a row, its place there, and its number in the partition.
Origin = tuple[pa.RecordBatch, int, int]


class Batch:
    """Rows of one shard, by the number that names them there."""

    __slots__ = ("items", "keys", "number", "origins", "shard", "shard_key", "size")

    def __init__(self, shard: int, number: int, shard_key: bytes) -> None:
        self.shard: Final = shard
        self.number: Final = number
        #: Of one of its rows.
        self.shard_key: Final = shard_key
        self.items: Final[list[Message]] = []
        self.origins: Final[list[Origin]] = []
        self.keys: Final[set[bytes]] = set()
        self.size = 0

    def bad_row(self, at: int, column: str, reason: str) -> BadRow:
        """Return what is told of a row of the batch."""
        return bad_row(self.origins[at], column, reason)


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

    def take(self, record_batch: pa.RecordBatch) -> Iterator[Batch]:
        """Take rows, and yield the batches that they fill."""
        first = self._taken + 1
        self._taken += record_batch.num_rows
        columns = normalized(self._table, record_batch)
        values = [column.to_pylist() for column in columns]
        for at, item in enumerate(self._items(record_batch, columns, values, first)):
            if item is not None:
                yield from self._put(
                    item, self._key_of(item, values, at), (record_batch, at, first + at)
                )

    def rest(self) -> Iterator[Batch]:
        """Yield what is left, in the order of the shards."""
        for shard in sorted(self._open):
            yield self._open[shard]
        self._open.clear()

    def _key_of(self, item: Message, values: list[list[Any]], at: int) -> bytes:
        if self._key is not None:
            return self._key(item)
        return self._table.to_key(*(values[column][at] for column in self._key_at))

    def _put(self, item: Message, key: bytes, origin: Origin) -> Iterator[Batch]:
        size = item.ByteSize()
        if size > MOST_ROW_BYTES:
            reason = f"the row takes {size} bytes, and {MOST_ROW_BYTES} are the most"
            self.bad.append(bad_row(origin, "", reason))
            return
        shard_key = self._shard_key(item)
        shard = self._plan.shard_of(shard_key)
        batch = self._open.get(shard)
        if batch is not None and key in batch.keys:
            # No batch names a key twice; the later row comes in a later one.
            yield self._open.pop(shard)
            batch = None
        if batch is None:
            number = self._numbers[shard] = self._numbers.get(shard, 0) + 1
            batch = self._open[shard] = Batch(shard, number, shard_key)
        batch.keys.add(key)
        batch.items.append(item)
        batch.origins.append(origin)
        batch.size += size
        if len(batch.items) >= self._rows or batch.size >= BATCH_BYTES:
            yield self._open.pop(shard)

    def _items(
        self,
        record_batch: pa.RecordBatch,
        columns: list[pa.Array],
        values: list[list[Any]],
        first: int,
    ) -> list[Message | None]:
        if not any(
            column.null_count and not declared.nullable
            for declared, column in zip(self._table.columns, columns, strict=True)
        ):
            try:
                return list(map(self._to_item, *values))
            except (Invalid, ValueError, TypeError):
                # Which rows it was is found out row by row.
                pass
        return [
            self._item(row, (record_batch, at, first + at))
            for at, row in enumerate(zip(*values, strict=True))
        ]

    def _item(self, row: tuple[Any, ...], origin: Origin) -> Message | None:
        for column, value in zip(self._table.columns, row, strict=True):
            if value is None and not column.nullable:
                self.bad.append(bad_row(origin, column.name, "is null"))
                return None
        try:
            return self._to_item(*row)
        except Invalid as error:
            self.bad.append(bad_row(origin, error.field, error.reason))
        except (ValueError, TypeError) as error:
            self.bad.append(bad_row(origin, "", str(error)))
        return None


def bad_row(origin: Origin, column: str, reason: str) -> BadRow:
    """Return what is told of a row."""
    record_batch, at, row = origin
    return BadRow(row=row, column=column, reason=reason, values=values_of(record_batch, at))
