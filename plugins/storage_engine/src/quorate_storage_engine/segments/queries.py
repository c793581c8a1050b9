"""The reads of segments."""

from collections.abc import Iterator
from itertools import islice

from quorate.plugin import Reader, keys, read_range

from quorate_storage_engine.families import REPLICAS, SEGMENTS, UNAVAILABLE, replica_key
from quorate_storage_engine.segments.rows import indexed, read_segment, start_behind
from quorate_storage_engine.v1.queries_pb2 import GetSegmentsQuery, ListSegmentsQuery, SegmentId
from quorate_storage_engine.v1.rows_pb2 import SEGMENT_STATUS_DELETING, Segment
from quorate_storage_engine.validation import LONGEST_LIST


def get_segments(reader: Reader, query: GetSegmentsQuery) -> Iterator[Segment]:
    """Yield those of the named segments that are there."""
    for wanted in query.segments[:LONGEST_LIST]:
        segment = read_segment(reader, wanted.shard, wanted.segment)
        if segment is not None:
            yield segment


def list_segments(reader: Reader, query: ListSegmentsQuery) -> Iterator[Segment]:
    """Yield the segments that fit, as many as are wanted."""
    fitting = (segment for segment in _walked(reader, query) if _fits(segment, query))
    return islice(fitting, min(query.limit or LONGEST_LIST, LONGEST_LIST))


def _walked(reader: Reader, query: ListSegmentsQuery) -> Iterator[Segment]:
    """Walk over the fewest rows that hold all that fits."""
    if query.engine:
        return _held(reader, query.engine, query.after)
    if query.unavailable:
        return indexed(reader, UNAVAILABLE, query.after)
    start, end = keys.prefix(query.shard) if query.shard else keys.prefix()
    rows = read_range(reader, SEGMENTS, max(start, start_behind(query.after)), end)
    return (Segment.FromString(row.value) for row in rows)


def _held(reader: Reader, engine: str, after: SegmentId) -> Iterator[Segment]:
    start, end = keys.prefix(engine)
    if after.shard:
        start = keys.behind(replica_key(engine, after.shard, after.segment))
    for entry in read_range(reader, REPLICAS, start, end):
        _, shard, number = keys.unpack(entry.key)
        segment = read_segment(reader, str(shard), int(number))
        if segment is not None:
            yield segment


def _fits(segment: Segment, query: ListSegmentsQuery) -> bool:
    if query.shard and segment.shard != query.shard:
        return False
    if query.unavailable and (segment.leader or segment.status == SEGMENT_STATUS_DELETING):
        return False
    return not query.under_replicated or _is_under_replicated(segment)


def _is_under_replicated(segment: Segment) -> bool:
    if segment.status == SEGMENT_STATUS_DELETING:
        return False
    return min(len(segment.isr), len(segment.replicas)) < segment.wanted_replicas
