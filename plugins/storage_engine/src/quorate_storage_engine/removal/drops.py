"""The rules of removal: what engines are asked to drop, and when the rows may go."""

from quorate.plugin import Reader, Txn, keys

from quorate_storage_engine.engines.fleet import Fleet
from quorate_storage_engine.families import (
    DELETIONS,
    DROPS,
    SEGMENTS,
    SHARDS,
    drop_key,
    shard_key,
)
from quorate_storage_engine.segments.rows import Draft, erase, store
from quorate_storage_engine.v1 import rows_pb2 as rows


def begin_removal(txn: Txn, fleet: Fleet, draft: Draft) -> rows.Segment:
    """Ask the engines that hold a segment to drop it; a segment that nobody holds is gone."""
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
    """Keep a segment while somebody holds it; the last one takes its shard along, if marked."""
    segment = draft.segment
    if segment.drops:
        return store(txn, fleet, draft)
    erase(txn, fleet, draft)
    row = txn.get(SHARDS, shard_key(segment.shard))
    if row is not None:
        _lose_segment(txn, rows.Shard.FromString(row))
    return segment


def ask_to_drop(txn: Txn, segment: rows.Segment, engine: str) -> None:
    """Leave word for an engine that it is to delete its replica of a segment."""
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
    """Return what an engine is asked to drop."""
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
