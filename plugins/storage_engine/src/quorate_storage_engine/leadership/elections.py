"""The rules of elections, and which engine a segment hears as its leader."""

from collections.abc import Callable

from quorate.plugin import Rejected

from quorate_storage_engine.engines.fleet import Fleet
from quorate_storage_engine.v1.commands_pb2 import LeaderClaim
from quorate_storage_engine.v1.rows_pb2 import SEGMENT_STATUS_DELETING, Segment


def successor(segment: Segment, is_registered: Callable[[str], bool]) -> str | None:
    """Return the first live in-sync replica besides the leader.

    The leader itself is none, even where another process of it lives: that one has to tell its
    log's end first.
    """
    for engine in segment.isr:
        if engine != segment.leader and is_registered(engine):
            return engine
    return None


def enthrone(segment: Segment, engine: str, broker_epoch: int) -> None:
    """Let an engine lead under the next leader epoch, in the process that is registered."""
    segment.leader = engine
    segment.leader_broker_epoch = broker_epoch
    segment.leader_epoch += 1
    segment.segment_epoch += 1


def depose(segment: Segment) -> None:
    """Leave a segment without a leader, and keep in mind who holds all that was acknowledged."""
    segment.last_known_isr[:] = segment.isr
    del segment.isr[:]
    segment.leader = ""
    segment.leader_broker_epoch = 0
    segment.segment_epoch += 1


def restore(segment: Segment, engine: str, broker_epoch: int) -> None:
    """Let an engine lead a segment that had no leader: the others have to catch up with it."""
    del segment.last_known_isr[:]
    segment.isr[:] = [engine]
    enthrone(segment, engine, broker_epoch)


def preferred_leader(segment: Segment, fleet: Fleet) -> str | None:
    """Return the first replica if it could lead and another one does."""
    if not segment.leader or not segment.replicas:
        return None
    preferred = segment.replicas[0]
    if (
        preferred == segment.leader
        or preferred not in segment.isr
        or not fleet.is_registered(preferred)
        or fleet.is_leaving(preferred)
    ):
        return None
    return preferred


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
