"""The handlers of removal."""

from quorate.plugin import Reader, Rejected, Txn, keys
from quorate.v1.batch_pb2 import BatchReply

from quorate_storage_engine.engines.fleet import Fleet, answer_each_with_fleet
from quorate_storage_engine.families import (
    DELETIONS,
    DROPS,
    SEGMENTS,
    SHARDS,
    drop_key,
    shard_key,
)
from quorate_storage_engine.segments.rows import (
    Draft,
    Facets,
    erase,
    read_segment,
    seen_draft,
    store,
)
from quorate_storage_engine.v1 import commands_pb2 as pb, rows_pb2 as rows


def begin_removal(txn: Txn, fleet: Fleet, draft: Draft) -> rows.Segment:
    """Ask the engines that hold a segment to drop it; delete a segment without holders at once."""
    segment = draft.segment
    holders = [engine for engine in segment.replicas if not fleet.is_lost(engine)]
    for engine in holders:
        ask_to_drop(txn, segment, engine)
    segment.status = rows.SEGMENT_STATUS_DELETING
    segment.drops[:] = holders
    for field in (segment.replicas, segment.isr, segment.last_known_isr):
        del field[:]
    segment.leader = ""
    segment.leader_broker_epoch = 0
    draft.touch()
    return store_or_finish(txn, fleet, draft)


def store_or_finish(txn: Txn, fleet: Fleet, draft: Draft) -> rows.Segment:
    """Store a segment that engines still hold, else delete it, with its shard if it is the last."""
    segment = draft.segment
    if segment.drops:
        return store(txn, fleet, draft)
    erase(txn, fleet, draft)
    row = txn.get(SHARDS, shard_key(segment.shard))
    if row is not None:
        _lose_segment(txn, rows.Shard.FromString(row))
    return segment


def ask_to_drop(txn: Txn, segment: rows.Segment, engine: str) -> None:
    """Request that an engine deletes its replica of a segment."""
    drop = rows.Drop(
        engine=engine,
        shard=segment.shard,
        shard_uid=segment.shard_uid,
        segment=segment.number,
        requested_at_ms=txn.proposed_at_ms,
        segment_epoch=segment.segment_epoch,
    )
    key = drop_key(engine, segment.shard_uid, segment.number)
    txn.put(DROPS, key, drop.SerializeToString(deterministic=True))


def read_drop(reader: Reader, key: bytes) -> rows.Drop | None:
    """Return the drop of a key, if there is one."""
    row = reader.get(DROPS, key)
    return None if row is None else rows.Drop.FromString(row)


def _lose_segment(txn: Txn, shard: rows.Shard) -> None:
    shard.segments -= 1
    key = shard_key(shard.name)
    if not shard.segments and shard.status == rows.SHARD_STATUS_DELETING:
        txn.delete(SHARDS, key)
        txn.delete(DELETIONS, key)
        return
    start, end = keys.prefix(shard.name)
    for row in txn.scan(SEGMENTS, start, end, limit=1):
        shard.start_segment = rows.Segment.FromString(row.value).number
    txn.put(SHARDS, key, shard.SerializeToString(deterministic=True))


def acknowledge_drops(txn: Txn, command: pb.AcknowledgeDrops) -> BatchReply:
    """Record that an engine has dropped its replicas of segments."""

    def acknowledge(txn: Txn, fleet: Fleet, dropped: pb.DroppedSegment) -> None:
        registered = fleet.broker_epoch(command.engine)
        if registered != command.broker_epoch:
            raise Rejected(
                "STALE_BROKER_EPOCH",
                f"engine {command.engine} acknowledges with broker epoch {command.broker_epoch}, "
                f"and is registered with {registered or 'none'}; register again",
            )
        key = drop_key(command.engine, dropped.shard_uid, dropped.segment)
        drop = read_drop(txn, key)
        # It may answer an earlier request.
        if drop is not None and dropped.segment_epoch == drop.segment_epoch:
            _settle(txn, fleet, key, drop)

    return answer_each_with_fleet(txn, command.segments, acknowledge)


def remove(txn: Txn, fleet: Fleet, seen: pb.SeenSegment) -> None:
    """Begin to remove a segment of a shard that is being deleted."""
    found = seen_draft(txn, seen)
    row = txn.get(SHARDS, shard_key(seen.shard))
    shard = rows.Shard.FromString(row or b"")
    if (
        shard.status != rows.SHARD_STATUS_DELETING
        or found.segment.status == rows.SEGMENT_STATUS_DELETING
    ):
        raise Rejected("FAILED_PRECONDITION", f"segment {seen.segment} of {seen.shard} is not due")
    begin_removal(txn, fleet, found)


def finish(txn: Txn, fleet: Fleet, seen: pb.SeenSegment) -> None:
    """Delete a segment that only engines without a registration still hold.

    Their drops stay pending: an engine that comes back drops its replica.
    """
    found = seen_draft(txn, seen)
    segment = found.segment
    waiting = [engine for engine in segment.drops if fleet.is_registered(engine)]
    if segment.status != rows.SEGMENT_STATUS_DELETING or waiting:
        raise Rejected("FAILED_PRECONDITION", f"segment {seen.segment} of {seen.shard} is held")
    del segment.drops[:]
    store_or_finish(txn, fleet, found)


def forget(txn: Txn, fleet: Fleet, key: bytes) -> None:
    """Forget a drop requested of a decommissioned engine that is gone."""
    drop = read_drop(txn, key)
    if drop is None or not fleet.is_lost(drop.engine):
        raise Rejected("FAILED_PRECONDITION", "the engine may still drop what it was asked to")
    _settle(txn, fleet, key, drop)


def _settle(txn: Txn, fleet: Fleet, key: bytes, drop: rows.Drop) -> None:
    txn.delete(DROPS, key)
    segment = read_segment(txn, drop.shard, drop.segment)
    if (
        segment is not None
        and segment.shard_uid == drop.shard_uid
        and segment.status == rows.SEGMENT_STATUS_DELETING
        and drop.engine in segment.drops
    ):
        found = Draft(segment, Facets.of(segment))
        segment.drops.remove(drop.engine)
        store_or_finish(txn, fleet, found)
