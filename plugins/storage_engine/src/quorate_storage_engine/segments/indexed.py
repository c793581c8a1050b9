"""Segments that a private index names, in the order of shards and numbers."""

from collections.abc import Iterator

from quorate.plugin import Reader, keys, read_range

from quorate_storage_engine.families import SEGMENTS, segment_key
from quorate_storage_engine.v1.queries_pb2 import SegmentId
from quorate_storage_engine.v1.rows_pb2 import Segment


def indexed(reader: Reader, index: str, after: SegmentId) -> Iterator[Segment]:
    """Yield the segments that an index names, behind one of them."""
    start, end = keys.prefix()
    for entry in read_range(reader, index, max(start, start_behind(after)), end):
        row = reader.get(SEGMENTS, entry.key)
        if row is not None:
            yield Segment.FromString(row)


def start_behind(after: SegmentId) -> bytes:
    """Return where a walk goes on behind a segment; the beginning when none is named."""
    return keys.successor(segment_key(after.shard, after.segment)) if after.shard else b""
