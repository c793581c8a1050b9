"""The reader: views of all shards, taken on the driver and read by tasks, a range of keys each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition
from pyspark.sql.types import StructType
from quorate.client import Client, QuorateError, UnavailableError
from quorate.v1 import view_pb2 as views

from quorate_spark.source import ranges
from quorate_spark.source.columns import spark_schema
from quorate_spark.source.connecting import client_of
from quorate_spark.source.decoding import Decoder
from quorate_spark.source.errors import SourceError, meant
from quorate_spark.source.options import ReadOptions
from quorate_spark.source.ranges import KeyRange
from quorate_spark.source.shards import VIEWS, ShardPlan, plan_of
from quorate_spark.source.tables import find

#: Approximate number of rows of a task.
_ROWS_A_RANGE: Final = 250_000
_MOST_RANGES: Final = 16
#: Fewer rows than this that filters choose in a shard are one task.
_FEW_ROWS: Final = 50_000


@dataclass(frozen=True)
class ShardRange(InputPartition):
    """The part of one task: ranges of the keys of a shard, in a view that its node holds."""

    node: str
    shard: int
    view: str
    keys: tuple[KeyRange, ...]


#: Ranges in which every key lies.
EVERY: Final = (KeyRange(b"", None),)


def schema_of(options: ReadOptions) -> StructType:
    """Return the columns that are read, in the order of the table; raises `SourceError`."""
    every = spark_schema(find(options.table).table)
    unknown = sorted(set(options.columns) - set(every.fieldNames()))
    if unknown:
        raise SourceError(
            f"{options.table} has no column {', '.join(unknown)}; it has"
            f" {', '.join(every.fieldNames())}."
            f"{''.join(meant(each, every.fieldNames()) for each in unknown)}"
        )
    chosen = options.columns or every.fieldNames()
    return StructType([each for each in every.fields if each.name in chosen])


def planned(
    client: Client,
    group: str,
    family: str,
    wanted: Sequence[KeyRange],
    *,
    ranges_per_shard: int,
    view_ttl_s: float,
) -> list[ShardRange]:
    """Take a view of every shard, and divide the keys that are wanted of it.

    Tasks that run at the same time read different shards, and so different nodes, if they can.
    """
    plan = plan_of(client.topology(), group)
    opened = _views(client, plan, family, view_ttl_s)
    while len({view.published for view in opened.values()}) > 1:
        # They were taken while files were published, unless views taken now say the same.
        before, opened = opened, _views(client, plan, family, view_ttl_s)
        for shard, view in before.items():
            request = views.CloseViewRequest(view=view.view)
            client.at(plan.leaders[shard]).call(f"{VIEWS}/Close", request, views.CloseViewResponse)
        if all(opened[shard].published == view.published for shard, view in before.items()):
            break
    parts: list[tuple[int, ShardRange]] = []
    for shard, view in opened.items():
        node = plan.leaders[shard]
        if not view.HasField("first"):
            continue
        hit = [each for each in wanted if ranges.overlap(each, view.first, view.last)]
        if len(hit) == 1:
            many = ranges_per_shard or min(view.estimated_rows // _ROWS_A_RANGE, _MOST_RANGES)
            chosen = ShardRange(node, shard, view.view, (hit[0],))
            if not ranges_per_shard and many > 1 and hit[0] != EVERY[0] and _few(client, chosen):
                many = 1
            hits: list[tuple[KeyRange, ...]] = [
                (each,) for each in ranges.divided(hit[0], view.first, view.last, many)
            ]
        else:
            hits = [tuple(hit)] if hit else []
        parts += enumerate(ShardRange(node, shard, view.view, keys) for keys in hits)
    return [part for _, part in sorted(parts, key=lambda each: each[0])]


def _few(client: Client, part: ShardRange) -> bool:
    """Return whether a part has too few rows to divide it, by counting their keys."""
    found = pages(client, part, keys_only=True, limit=_FEW_ROWS)
    return sum(len(page.key_ends) // 4 for page in found) < _FEW_ROWS


def _views(
    client: Client, plan: ShardPlan, family: str, ttl_s: float
) -> dict[int, views.OpenViewResponse]:
    """Take a view of every shard."""
    opened = {}
    for shard, node in sorted(plan.leaders.items()):
        if not node:
            raise UnavailableError(f"shard {plan.group}/{shard} has no leader; wait for one")
        request = views.OpenViewRequest(family=family, shard=shard, ttl_ms=int(ttl_s * 1_000))
        opened[shard] = client.at(node).call(f"{VIEWS}/Open", request, views.OpenViewResponse)
    return opened


def pages(
    client: Client, part: ShardRange, *, keys_only: bool = False, limit: int = 0
) -> Iterator[views.PackedRows]:
    """Yield the rows of a part, page by page; `limit` bounds the rows of each of its ranges."""
    node = client.at(part.node)
    for start, end in part.keys:
        request = views.ReadViewRequest(
            view=part.view,
            start=start,
            end=end or b"",
            limit=limit,
            packed=True,
            keys_only=keys_only,
        )
        for page in node.stream(f"{VIEWS}/Read", request, views.ReadViewResponse):
            yield page.packed


class TableReader(DataSourceReader):
    """Reads a table as it was when the driver asked: each shard at one revision."""

    def __init__(self, options: ReadOptions) -> None:
        self.options: Final = options
        self.filters: tuple[Filter, ...] = ()

    def partitions(self) -> Sequence[InputPartition]:
        """Take a view of every shard, and divide its keys."""
        found = find(self.options.table)
        wanted = ranges.of_filters(found.table, self.filters)
        try:
            with client_of(self.options) as client:
                parts = planned(
                    client,
                    found.group,
                    found.table.family,
                    wanted,
                    ranges_per_shard=self.options.ranges_per_shard,
                    view_ttl_s=self.options.view_ttl_s,
                )
        except QuorateError as error:
            raise SourceError(f"{self.options.table} cannot be read: {error}") from error
        # Without any, Spark asks for one without anything to read.
        return parts or [ShardRange("", 0, "", ())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a partition, on an executor."""
        if not isinstance(partition, ShardRange) or not partition.keys:
            return
        found = find(self.options.table)
        try:
            decoder = Decoder(found, self.options.columns)
            with client_of(self.options) as client:
                for page in pages(client, partition, keys_only=decoder.keys_only):
                    yield ranges.passes(decoder.batch(page), self.filters)
        except QuorateError as error:
            raise SourceError(
                f"shard {found.group}/{partition.shard} of {found.name} cannot be read on: {error};"
                " run the query again"
            ) from error


class FilteredReader(TableReader):
    """Reads the rows that pass filters; Spark refuses it unless it is set to pass filters."""

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        """Take the filters of key columns; return the filters that are left to Spark."""
        self.filters = ranges.pushed(find(self.options.table).table, filters)
        return [each for each in filters if each not in self.filters]
