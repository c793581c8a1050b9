"""Cuts the columns of rows by shard, for rows that are made without an item for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from quorate.plugin.advanced import ColumnLoad, Table
from quorate.plugin.slots import slots_of

from quorate_spark.source.columns import lacks_values, lists, normalized
from quorate_spark.source.shards import ShardPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnPart:
    """The rows of one shard."""

    shard: int
    shard_keys: list[bytes]
    columns: Sequence[Sequence[Any]]
    #: Of its rows.
    slots: set[int]


def parts_of(
    table: Table, load: ColumnLoad, plan: ShardPlan, record_batch: pa.RecordBatch
) -> list[ColumnPart] | None:
    """Return the rows of each shard; None: not all of them are usual."""
    arrays = normalized(table, record_batch)
    if not record_batch.num_rows or lacks_values(table, arrays):
        return None
    columns = lists(table, arrays)
    shard_keys = load.shard_keys(*columns)
    if shard_keys is None:
        return None
    slots = slots_of(shard_keys)
    return [
        ColumnPart(
            shard=shard,
            shard_keys=[shard_keys[at] for at in mine],
            columns=[[column[at] for at in mine] for column in columns],
            slots={slots[at] for at in mine},
        )
        for shard, mine in plan.by_shard(slots).items()
    ]
