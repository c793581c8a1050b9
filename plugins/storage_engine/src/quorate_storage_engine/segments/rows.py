"""Reads, lists and writes segments, and keeps indexes and the loads of engines up to date."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final, Self

from quorate.plugin import Reader, Rejected, Txn, keys

from quorate_storage_engine import families
from quorate_storage_engine.engines.fleet import Fleet
from quorate_storage_engine.families import (
    REPLICAS,
    SEGMENTS,
    UNAVAILABLE,
    replica_key,
    segment_key,
)
from quorate_storage_engine.placement import place, preferred_first
from quorate_storage_engine.v1.commands_pb2 import SeenSegment
from quorate_storage_engine.v1.queries_pb2 import GetSegmentsQuery, ListSegmentsQuery, SegmentId
from quorate_storage_engine.v1.rows_pb2 import (
    SEGMENT_STATUS_DELETING,
    SEGMENT_STATUS_WRITING,
    Segment,
    Shard,
)
from quorate_storage_engine.validation import LONGEST_LIST

_NOTHING: Final = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facets:
    """The facts of a segment that indexes and loads are derived from."""

    replicas: frozenset[str]
    #: The leader and its broker epoch.
    leadership: tuple[str, int] | None
    #: The families of the indexes that name the segment.
    indexes: frozenset[str]

    @classmethod
    def of(cls, segment: Segment) -> Self:
        """Return the facets of a segment as it is now."""
        deleting = segment.status == SEGMENT_STATUS_DELETING
        indexes = []
        if deleting:
            indexes.append(families.REMOVALS)
        elif not segment.leader:
            indexes.append(families.UNAVAILABLE)
        elif segment.leader != segment.replicas[0]:
            indexes.append(families.DISPLACED)
        if not deleting and len(segment.replicas) < segment.wanted_replicas:
            indexes.append(families.THIN)
        return cls(
            replicas=frozenset(segment.replicas),
            leadership=(segment.leader, segment.leader_broker_epoch) if segment.leader else None,
            indexes=frozenset(indexes),
        )


_ABSENT: Final = Facets(replicas=frozenset(), leadership=None, indexes=frozenset())


@dataclass(slots=True)
class Draft:
    """A segment that a handler changes, and its facets before the change."""

    segment: Segment
    was: Facets

    def touch(self) -> None:
        """Count a change of leader, in-sync replicas or replicas."""
        self.segment.segment_epoch += 1


def read_segment(reader: Reader, shard: str, number: int) -> Segment | None:
    """Return a segment, if there is one."""
    row = reader.get(SEGMENTS, segment_key(shard, number))
    return None if row is None else Segment.FromString(row)


def draft(reader: Reader, shard: str, number: int) -> Draft:
    """Return a segment to be changed; rejects a segment that does not exist."""
    segment = read_segment(reader, shard, number)
    if segment is None:
        raise Rejected("SEGMENT_NOT_FOUND", f"shard {shard} has no segment {number}")
    return Draft(segment, Facets.of(segment))


def seen_draft(reader: Reader, seen: SeenSegment) -> Draft:
    """Return a segment to be changed; rejects a segment that changed since a controller saw it."""
    found = draft(reader, seen.shard, seen.segment)
    check_segment_epoch(found.segment, seen.segment_epoch)
    return found


def check_segment_epoch(segment: Segment, expected: int) -> None:
    """Reject a change that is based on an outdated row of the segment."""
    if segment.segment_epoch != expected:
        raise Rejected(
            "STALE_SEGMENT_EPOCH",
            f"segment {segment.number} of {segment.shard} has segment epoch "
            f"{segment.segment_epoch}, not {expected}; read it again, and conclude anew",
        )


def seen(segment: Segment) -> SeenSegment:
    """Return a segment as a controller names it."""
    return SeenSegment(
        shard=segment.shard, segment=segment.number, segment_epoch=segment.segment_epoch
    )


def seen_id(last: SeenSegment | None) -> SegmentId:
    """Return the segment after which a controller continues; empty if it has seen no segment."""
    return SegmentId(shard=last.shard, segment=last.segment) if last else SegmentId()


def begin(txn: Txn, fleet: Fleet, segment: Segment) -> Segment:
    """Write a new segment, with its indexes and loads."""
    return store(txn, fleet, Draft(segment, _ABSENT))


def store(txn: Txn, fleet: Fleet, draft: Draft) -> Segment:
    """Write a segment, and update its indexes and loads."""
    segment = draft.segment
    key = segment_key(segment.shard, segment.number)
    txn.put(SEGMENTS, key, segment.SerializeToString(deterministic=True))
    _follow(txn, fleet, segment, draft.was, Facets.of(segment))
    return segment


def erase(txn: Txn, fleet: Fleet, draft: Draft) -> None:
    """Delete a segment, its index entries, and its part of the loads."""
    segment = draft.segment
    txn.delete(SEGMENTS, segment_key(segment.shard, segment.number))
    _follow(txn, fleet, segment, draft.was, _ABSENT)


def _follow(txn: Txn, fleet: Fleet, segment: Segment, was: Facets, now: Facets) -> None:
    shard, number = segment.shard, segment.number
    for engine in sorted(was.replicas - now.replicas):
        txn.delete(REPLICAS, replica_key(engine, shard, number))
        fleet.count(engine, replicas=-1)
    for engine in sorted(now.replicas - was.replicas):
        txn.put(REPLICAS, replica_key(engine, shard, number), _NOTHING)
        fleet.count(engine, replicas=1)
    if was.leadership != now.leadership:
        if was.leadership is not None:
            engine, epoch = was.leadership
            txn.delete(families.LEADERSHIPS, families.leadership_key(engine, epoch, shard, number))
            fleet.count(engine, leaderships=-1)
        if now.leadership is not None:
            engine, epoch = now.leadership
            key = families.leadership_key(engine, epoch, shard, number)
            txn.put(families.LEADERSHIPS, key, _NOTHING)
            fleet.count(engine, leaderships=1)
    key = segment_key(shard, number)
    for index in sorted(was.indexes - now.indexes):
        txn.delete(index, key)
    for index in sorted(now.indexes - was.indexes):
        txn.put(index, key, _NOTHING)


def indexed(reader: Reader, index: str, after: SegmentId) -> Iterator[Segment]:
    """Yield the segments that an index names, from after a given segment."""
    start, end = keys.prefix()
    for entry in reader.scan(index, max(start, start_behind(after)), end):
        row = reader.get(SEGMENTS, entry.key)
        if row is not None:
            yield Segment.FromString(row)


def start_behind(after: SegmentId) -> bytes:
    """Return the key at which a scan continues after a segment; empty if no segment is given."""
    return keys.successor(segment_key(after.shard, after.segment)) if after.shard else b""


def get_segments(reader: Reader, query: GetSegmentsQuery) -> Iterator[Segment]:
    """Yield the existing segments among the named ones."""
    for wanted in query.segments[:LONGEST_LIST]:
        segment = read_segment(reader, wanted.shard, wanted.segment)
        if segment is not None:
            yield segment


def list_segments(reader: Reader, query: ListSegmentsQuery) -> Iterator[Segment]:
    """Yield the matching segments, up to the limit."""
    matching = (segment for segment in _walked(reader, query) if _fits(segment, query))
    return islice(matching, min(query.limit or LONGEST_LIST, LONGEST_LIST))


def _walked(reader: Reader, query: ListSegmentsQuery) -> Iterator[Segment]:
    """Scan the smallest range of rows that contains every match."""
    if query.engine:
        return _held(reader, query.engine, query.after)
    if query.unavailable:
        return indexed(reader, UNAVAILABLE, query.after)
    start, end = keys.prefix(query.shard) if query.shard else keys.prefix()
    rows = reader.scan(SEGMENTS, max(start, start_behind(query.after)), end)
    return (Segment.FromString(row.value) for row in rows)


def _held(reader: Reader, engine: str, after: SegmentId) -> Iterator[Segment]:
    start, end = keys.prefix(engine)
    if after.shard:
        start = keys.successor(replica_key(engine, after.shard, after.segment))
    for entry in reader.scan(REPLICAS, start, end):
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


def place_segment(fleet: Fleet, shard: Shard, number: int) -> list[str]:
    """Return the engines for a new segment, its leader first; rejects if engines are too few."""
    wanted = shard.config.replicas
    loads = fleet.loads()
    seed = segment_key(shard.name, number)
    chosen = place(loads, wanted, seed=seed)
    if not chosen or (len(chosen) < wanted and not shard.config.allow_fewer_replicas):
        raise Rejected(
            "NOT_ENOUGH_ENGINES",
            f"shard {shard.name} wants {wanted} replicas, and {len(loads)} engines take replicas "
            "on; register more engines, or ask for fewer replicas",
        )
    return preferred_first(loads, chosen, seed=seed)


def found_segment(
    txn: Txn, fleet: Fleet, shard: Shard, replicas: list[str], *, number: int, start_offset: int
) -> Segment:
    """Write the row of a new segment."""
    segment = Segment(
        shard=shard.name,
        shard_uid=shard.uid,
        number=number,
        status=SEGMENT_STATUS_WRITING,
        replicas=replicas,
        isr=replicas,
        leader=replicas[0],
        leader_broker_epoch=fleet.broker_epoch(replicas[0]),
        leader_epoch=1,
        segment_epoch=1,
        wanted_replicas=shard.config.replicas,
        start_offset=start_offset,
        created_at_ms=txn.proposed_at_ms,
    )
    return begin(txn, fleet, segment)
