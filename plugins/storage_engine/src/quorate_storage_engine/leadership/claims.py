"""Whom a segment hears: its leader, in the process and under the epoch that its row names."""

from quorate.plugin import Rejected

from quorate_storage_engine.engines.fleet import Fleet
from quorate_storage_engine.v1.commands_pb2 import LeaderClaim
from quorate_storage_engine.v1.rows_pb2 import SEGMENT_STATUS_DELETING, Segment


def check_claim(fleet: Fleet, segment: Segment, claim: LeaderClaim) -> None:
    """Refuse whoever does not lead the segment, each wrong field with its own reason."""
    where = f"segment {segment.number} of {segment.shard}"
    if segment.status == SEGMENT_STATUS_DELETING:
        raise Rejected("SEGMENT_DELETING", f"{where} is being removed")
    if claim.engine != segment.leader:
        led = f"is led by {segment.leader}" if segment.leader else "has no leader"
        raise Rejected(
            "NOT_LEADER",
            f"{where} {led}, not by {claim.engine}; stop leading it, and read it again",
        )
    if claim.leader_epoch != segment.leader_epoch:
        raise Rejected(
            "FENCED_LEADER_EPOCH",
            f"{where} is led under leader epoch {segment.leader_epoch}, not {claim.leader_epoch}; "
            "stop leading it, and read it again",
        )
    registered = fleet.broker_epoch(claim.engine)
    if claim.broker_epoch != registered:
        now = f"is registered with epoch {registered}" if registered else "is not registered"
        raise Rejected(
            "STALE_BROKER_EPOCH",
            f"engine {claim.engine} {now}, and asks with broker epoch {claim.broker_epoch}; "
            "register again, and read what it leads",
        )
    if claim.broker_epoch != segment.leader_broker_epoch:
        raise Rejected(
            "STALE_BROKER_EPOCH",
            f"{where} was given to {claim.engine} under broker epoch "
            f"{segment.leader_broker_epoch}, not {claim.broker_epoch}; wait for the election that "
            "follows a registration",
        )
