"""The handlers of segments."""

from collections.abc import Sequence

from quorate.plugin import Rejected, Txn

from quorate_storage_engine.engines.fleet import Fleet
from quorate_storage_engine.leadership.apply import check_claim
from quorate_storage_engine.removal.apply import begin_removal
from quorate_storage_engine.segments.rows import (
    Draft,
    check_segment_epoch,
    draft,
    found_segment,
    place_segment,
    read_segment,
    store,
)
from quorate_storage_engine.shards.apply import read_shard, running_shard, write_shard
from quorate_storage_engine.v1 import commands_pb2 as pb, rows_pb2 as rows
from quorate_storage_engine.v1.commands_pb2 import IsrMember
from quorate_storage_engine.v1.rows_pb2 import Segment


def check_isr(fleet: Fleet, segment: Segment, isr: Sequence[IsrMember]) -> None:
    """Reject an in-sync set without the leader, with strangers, or with re-registered replicas."""
    names = [member.engine for member in isr]
    where = f"segment {segment.number} of {segment.shard}"
    if segment.leader not in names:
        raise Rejected("INVALID_ISR", f"{where} is led by {segment.leader}, which must be in sync")
    strangers = sorted(set(names).difference(segment.replicas))
    if strangers:
        raise Rejected("INVALID_ISR", f"{where} has no replica on {', '.join(strangers)}")
    check_joining(fleet, segment, isr)


def check_joining(fleet: Fleet, segment: Segment, isr: Sequence[IsrMember]) -> None:
    """Reject a replica that joins under another registration than it caught up under.

    Another process of that name may hold fewer records.
    """
    for member in isr:
        if member.engine in segment.isr:
            continue
        registered = fleet.broker_epoch(member.engine)
        if not registered or registered != member.broker_epoch:
            now = f"is registered with epoch {registered}" if registered else "is not registered"
            raise Rejected(
                "INELIGIBLE_REPLICA",
                f"{member.engine} {now}, and caught up with segment {segment.number} of "
                f"{segment.shard} under epoch {member.broker_epoch}; wait until it does so again",
            )


def create_next(txn: Txn, fleet: Fleet, command: pb.CreateNextSegment) -> pb.ShardState:
    """Seal the active segment, and begin the next one."""
    shard = running_shard(txn, command.shard)
    found = draft(txn, command.shard, command.current_segment)
    segment = found.segment
    if command.current_segment != shard.active_segment:
        return _begun_before(txn, shard, segment, command)
    check_claim(fleet, segment, command.claim)
    if segment.status == rows.SEGMENT_STATUS_SEALED:
        if command.end_offset != segment.end_offset:
            raise Rejected(
                "INVALID_OFFSET",
                f"segment {segment.number} of {shard.name} is sealed at {segment.end_offset}, "
                f"not at {command.end_offset}",
            )
    else:
        _check_end(segment, command.end_offset)
    number = shard.active_segment + 1
    replicas = place_segment(fleet, shard, number)
    if segment.status == rows.SEGMENT_STATUS_WRITING:
        _end(segment, command.end_offset, command.end_timestamp_ms)
        store(txn, fleet, found)
    following = found_segment(
        txn, fleet, shard, replicas, number=number, start_offset=command.end_offset
    )
    shard.active_segment = number
    shard.segments += 1
    return pb.ShardState(shard=write_shard(txn, shard), segment=following)


def _begun_before(
    txn: Txn, shard: rows.Shard, segment: rows.Segment, command: pb.CreateNextSegment
) -> pb.ShardState:
    """Answer a repeated command; reject any other for a segment that is not active."""
    repeated = (
        segment.number + 1 == shard.active_segment
        and segment.HasField("end_offset")
        and segment.end_offset == command.end_offset
    )
    if not repeated:
        raise Rejected(
            "NOT_ACTIVE_SEGMENT",
            f"shard {shard.name} writes to segment {shard.active_segment}, and not to "
            f"{segment.number}; read it again",
        )
    return pb.ShardState(shard=shard, segment=read_segment(txn, shard.name, shard.active_segment))


def _claimed(
    txn: Txn,
    fleet: Fleet,
    command: pb.SealSegment | pb.RecordSegmentStart | pb.UpdateSegmentIsr,
) -> Draft:
    """Return the segment of a running shard that its leader asks to change."""
    running_shard(txn, command.shard)
    found = draft(txn, command.shard, command.segment)
    check_claim(fleet, found.segment, command.claim)
    return found


def seal(txn: Txn, fleet: Fleet, command: pb.SealSegment) -> rows.Segment:
    """Seal a segment that is being written to."""
    found = _claimed(txn, fleet, command)
    segment = found.segment
    if segment.status == rows.SEGMENT_STATUS_SEALED:
        if segment.end_offset == command.end_offset:
            return segment
        raise Rejected(
            "SEGMENT_SEALED",
            f"segment {segment.number} of {segment.shard} is sealed at {segment.end_offset}",
        )
    _check_end(segment, command.end_offset)
    _end(segment, command.end_offset, command.end_timestamp_ms)
    return store(txn, fleet, found)


def record_start(txn: Txn, fleet: Fleet, command: pb.RecordSegmentStart) -> rows.Segment:
    """Record the time of a segment's first record."""
    found = _claimed(txn, fleet, command)
    found.segment.start_timestamp_ms = command.start_timestamp_ms
    return store(txn, fleet, found)


def delete(txn: Txn, fleet: Fleet, command: pb.DeleteSegment) -> rows.Segment:
    """Begin to remove a sealed segment."""
    if command.missing_ok and read_segment(txn, command.shard, command.segment) is None:
        return rows.Segment()
    shard = read_shard(txn, command.shard)
    found = draft(txn, command.shard, command.segment)
    segment = found.segment
    if segment.status == rows.SEGMENT_STATUS_DELETING:
        return segment
    if segment.status == rows.SEGMENT_STATUS_WRITING:
        raise Rejected(
            "SEGMENT_WRITING",
            f"segment {segment.number} of {shard.name} is written to; seal it first",
        )
    if segment.number == shard.active_segment:
        raise Rejected(
            "SEGMENT_ACTIVE",
            f"segment {segment.number} is the last one of {shard.name}; begin the next one first, "
            "or delete the shard",
        )
    return begin_removal(txn, fleet, found)


def update_isr(txn: Txn, fleet: Fleet, command: pb.UpdateSegmentIsr) -> rows.Segment:
    """Replace the in-sync replicas of a segment, for its leader."""
    found = _claimed(txn, fleet, command)
    segment = found.segment
    check_segment_epoch(segment, command.segment_epoch)
    check_isr(fleet, segment, command.isr)
    segment.isr[:] = [member.engine for member in command.isr]
    found.touch()
    return store(txn, fleet, found)


def _check_end(segment: rows.Segment, end_offset: int) -> None:
    if end_offset < segment.start_offset:
        raise Rejected(
            "INVALID_OFFSET",
            f"segment {segment.number} of {segment.shard} begins at {segment.start_offset} and "
            f"cannot end at {end_offset}",
        )


def _end(segment: rows.Segment, end_offset: int, end_timestamp_ms: int) -> None:
    segment.status = rows.SEGMENT_STATUS_SEALED
    segment.end_offset = end_offset
    segment.end_timestamp_ms = end_timestamp_ms
