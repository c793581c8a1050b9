"""What a set of in-sync replicas must be."""

from collections.abc import Sequence

from quorate.plugin import Rejected

from quorate_storage_engine.engines.fleet import Fleet
from quorate_storage_engine.v1.commands_pb2 import IsrMember
from quorate_storage_engine.v1.rows_pb2 import Segment


def check_isr(fleet: Fleet, segment: Segment, isr: Sequence[IsrMember]) -> None:
    """Refuse in-sync replicas without the leader, outside the replicas, or that just came back."""
    names = [member.engine for member in isr]
    where = f"segment {segment.number} of {segment.shard}"
    if segment.leader not in names:
        raise Rejected("INVALID_ISR", f"{where} is led by {segment.leader}, which must be in sync")
    strangers = sorted(set(names).difference(segment.replicas))
    if strangers:
        raise Rejected("INVALID_ISR", f"{where} has no replica on {', '.join(strangers)}")
    check_joining(fleet, segment, isr)


def check_joining(fleet: Fleet, segment: Segment, isr: Sequence[IsrMember]) -> None:
    """Refuse a replica that joins under another registration than it caught up under.

    Another process of that name may hold less.
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
