"""The reads of drops, and the queries of the garbage collection."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from quorate.plugin import Reader, keys

from quorate_storage_engine.engines.fleet import Fleet
from quorate_storage_engine.families import (
    DELETIONS,
    DROPS,
    REMOVALS,
    SEGMENTS,
    THIN,
    UNAVAILABLE,
    drop_key,
    segment_key,
)
from quorate_storage_engine.segments.rows import indexed, seen
from quorate_storage_engine.v1 import commands_pb2 as pb, queries_pb2 as asked, rows_pb2 as rows
from quorate_storage_engine.validation import LONGEST_LIST


def list_drops(reader: Reader, query: asked.ListDropsQuery) -> Iterator[rows.Drop]:
    """Yield the matching drops requested of engines, up to the limit."""
    start, end = keys.prefix(query.engine) if query.engine else keys.prefix()
    after = query.after
    if after.engine:
        start = max(start, keys.successor(drop_key(after.engine, after.shard_uid, after.segment)))
    until_ms = reader.now_ms - query.older_than_ms
    drops = (rows.Drop.FromString(row.value) for row in reader.scan(DROPS, start, end))
    matching = (drop for drop in drops if drop.requested_at_ms <= until_ms)
    return islice(matching, min(query.limit or LONGEST_LIST, LONGEST_LIST))


def find_removable(reader: Reader, query: asked.FindRemovableQuery) -> Iterator[pb.SeenSegment]:
    """Yield segments not yet being removed, of shards that are being deleted."""
    after = query.after
    for entry in reader.scan(DELETIONS, keys.pack(after.shard) if after.shard else b"", b"\xff"):
        [name] = keys.unpack(entry.key)
        start, end = keys.prefix(name)
        if name == after.shard:
            start = keys.successor(segment_key(after.shard, after.segment))
        for row in reader.scan(SEGMENTS, start, end):
            segment = rows.Segment.FromString(row.value)
            if segment.status != rows.SEGMENT_STATUS_DELETING:
                yield seen(segment)


def find_abandoned(reader: Reader, query: asked.FindAbandonedQuery) -> Iterator[pb.SeenSegment]:
    """Yield segments being removed that wait only for engines without a registration."""
    fleet = Fleet(reader)
    for segment in indexed(reader, REMOVALS, query.after):
        if not any(map(fleet.is_registered, segment.drops)):
            yield seen(segment)


def find_lost_drops(reader: Reader, query: asked.FindLostDropsQuery) -> Iterator[rows.Drop]:
    """Yield the drops requested of decommissioned engines without a registration."""
    fleet = Fleet(reader)
    for row in reader.scan(DROPS, *keys.prefix()):
        drop = rows.Drop.FromString(row.value)
        if fleet.is_lost(drop.engine):
            yield drop


def get_health(reader: Reader, query: asked.GetHealthQuery) -> Iterator[asked.Health]:
    """Yield the number of segments and drops that need attention."""
    until_ms = reader.now_ms - query.overdue_after_ms
    overdue: Counter[str] = Counter()
    for row in reader.scan(DROPS, *keys.prefix()):
        drop = rows.Drop.FromString(row.value)
        overdue[drop.engine] += drop.requested_at_ms <= until_ms
    yield asked.Health(
        unavailable_segments=sum(1 for _ in reader.scan(UNAVAILABLE, *keys.prefix())),
        thin_segments=sum(1 for _ in reader.scan(THIN, *keys.prefix())),
        overdue_drops=[
            asked.OverdueDrops(engine=engine, drops=drops)
            for engine, drops in sorted(overdue.items())
        ],
    )
