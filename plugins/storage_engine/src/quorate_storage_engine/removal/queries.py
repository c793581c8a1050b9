"""The reads of drops, and what the garbage collection looks for."""

from collections.abc import Iterator
from itertools import islice

from quorate.plugin import Reader, keys, read_range

from quorate_storage_engine.bounds import FOUND, LONGEST_LIST
from quorate_storage_engine.engines.fleet import Fleet
from quorate_storage_engine.families import (
    DELETIONS,
    DROPS,
    REMOVALS,
    SEGMENTS,
    drop_key,
    segment_key,
)
from quorate_storage_engine.segments.indexed import indexed
from quorate_storage_engine.segments.rows import seen
from quorate_storage_engine.v1.commands_pb2 import SeenSegment
from quorate_storage_engine.v1.queries_pb2 import (
    FindAbandonedQuery,
    FindLostDropsQuery,
    FindRemovableQuery,
    ListDropsQuery,
    SegmentId,
)
from quorate_storage_engine.v1.rows_pb2 import SEGMENT_STATUS_DELETING, Drop, Segment


def list_drops(reader: Reader, query: ListDropsQuery) -> Iterator[Drop]:
    """Yield what engines are asked to drop, as many as are wanted."""
    start, end = keys.prefix(query.engine) if query.engine else keys.prefix()
    after = query.after
    if after.engine:
        start = max(start, keys.successor(drop_key(after.engine, after.shard_uid, after.segment)))
    until_ms = reader.now_ms - query.older_than_ms
    drops = (Drop.FromString(row.value) for row in read_range(reader, DROPS, start, end))
    fitting = (drop for drop in drops if drop.requested_at_ms <= until_ms)
    return islice(fitting, min(query.limit or LONGEST_LIST, LONGEST_LIST))


def find_removable(reader: Reader, query: FindRemovableQuery) -> Iterator[SeenSegment]:
    """Yield segments of shards that are being deleted whose removal has not begun."""
    return islice(_removable(reader, query.after), query.limit or FOUND)


def find_abandoned(reader: Reader, query: FindAbandonedQuery) -> Iterator[SeenSegment]:
    """Yield segments whose removal waits for engines without a registration alone."""
    fleet = Fleet(reader)
    found = (
        seen(segment)
        for segment in indexed(reader, REMOVALS, query.after)
        if not any(map(fleet.is_registered, segment.drops))
    )
    return islice(found, query.limit or FOUND)


def find_lost_drops(reader: Reader, query: FindLostDropsQuery) -> Iterator[Drop]:
    """Yield what decommissioned engines without a registration were asked to drop."""
    fleet = Fleet(reader)
    drops = (Drop.FromString(row.value) for row in read_range(reader, DROPS, *keys.prefix()))
    return islice((drop for drop in drops if fleet.is_lost(drop.engine)), query.limit or FOUND)


def _removable(reader: Reader, after: SegmentId) -> Iterator[SeenSegment]:
    for entry in read_range(
        reader, DELETIONS, keys.pack(after.shard) if after.shard else b"", b"\xff"
    ):
        [name] = keys.unpack(entry.key)
        start, end = keys.prefix(name)
        if name == after.shard:
            start = keys.successor(segment_key(after.shard, after.segment))
        for row in read_range(reader, SEGMENTS, start, end):
            segment = Segment.FromString(row.value)
            if segment.status != SEGMENT_STATUS_DELETING:
                yield seen(segment)
