"""The handlers of removal."""

from quorate.plugin import Rejected, Txn
from quorate.v1.batch_pb2 import BatchReply

from quorate_storage_engine.engines.fleet import Fleet, answer_each_with_fleet
from quorate_storage_engine.families import DROPS, SHARDS, drop_key, shard_key
from quorate_storage_engine.removal.drops import begin_removal, read_drop, store_or_finish
from quorate_storage_engine.segments.rows import Draft, Facets, read_segment, seen_draft
from quorate_storage_engine.v1 import commands_pb2 as pb, rows_pb2 as rows


def acknowledge_drops(txn: Txn, command: pb.AcknowledgeDrops) -> BatchReply:
    """Record what an engine has dropped."""

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
        if drop is not None and _answers(dropped, drop):
            _settle(txn, fleet, key, drop)

    return answer_each_with_fleet(txn, command.segments, acknowledge)


def remove(txn: Txn, fleet: Fleet, seen: pb.SeenSegment) -> None:
    """Begin to remove segments of shards that are being deleted."""
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
    """Let segments go that only engines without a registration still hold.

    What those were asked stands: one that comes back drops what it holds."""
    found = seen_draft(txn, seen)
    segment = found.segment
    waiting = [engine for engine in segment.drops if fleet.is_registered(engine)]
    if segment.status != rows.SEGMENT_STATUS_DELETING or waiting:
        raise Rejected("FAILED_PRECONDITION", f"segment {seen.segment} of {seen.shard} is held")
    del segment.drops[:]
    store_or_finish(txn, fleet, found)


def forget(txn: Txn, fleet: Fleet, key: bytes) -> None:
    """Forget what was asked of decommissioned engines that are gone."""
    drop = read_drop(txn, key)
    if drop is None or not fleet.is_lost(drop.engine):
        raise Rejected("FAILED_PRECONDITION", "the engine may still drop what it was asked to")
    _settle(txn, fleet, key, drop)


def _answers(dropped: pb.DroppedSegment, drop: rows.Drop) -> bool:
    """Tell whether an acknowledgement is that of this request, and not of an earlier one."""
    return dropped.segment_epoch == drop.segment_epoch


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
