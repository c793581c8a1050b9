"""The handlers of elections."""

from collections.abc import Callable

from quorate.plugin import Rejected, Txn

from quorate_storage_engine.engines.fleet import Fleet
from quorate_storage_engine.segments.rows import check_segment_epoch, draft, seen_draft, store
from quorate_storage_engine.v1 import commands_pb2 as pb, rows_pb2 as rows
from quorate_storage_engine.v1.commands_pb2 import LeaderClaim
from quorate_storage_engine.v1.rows_pb2 import SEGMENT_STATUS_DELETING, Segment


def successor(segment: Segment, is_registered: Callable[[str], bool]) -> str | None:
    """Return the first live in-sync replica besides the leader.

    The leader itself does not qualify, even if another process of the engine lives: that process
    has to report its log end first.
    """
    for engine in segment.isr:
        if engine != segment.leader and is_registered(engine):
            return engine
    return None


def enthrone(segment: Segment, engine: str, broker_epoch: int) -> None:
    """Make an engine lead under the next leader epoch, in its registered process."""
    segment.leader = engine
    segment.leader_broker_epoch = broker_epoch
    segment.leader_epoch += 1
    segment.segment_epoch += 1


def depose(segment: Segment) -> None:
    """Remove the leader of a segment, and record the replicas with all acknowledged records."""
    segment.last_known_isr[:] = segment.isr
    del segment.isr[:]
    segment.leader = ""
    segment.leader_broker_epoch = 0
    segment.segment_epoch += 1


def restore(segment: Segment, engine: str, broker_epoch: int) -> None:
    """Make an engine lead a segment that had no leader: the others have to catch up with it."""
    del segment.last_known_isr[:]
    segment.isr[:] = [engine]
    enthrone(segment, engine, broker_epoch)


def preferred_leader(segment: Segment, fleet: Fleet) -> str | None:
    """Return the first replica if it is able to lead and another replica leads."""
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
    """Reject a caller that does not lead the segment, each wrong field with its own reason."""
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


def switch(txn: Txn, fleet: Fleet, seen: pb.SeenSegment) -> None:
    """Replace a leader that is gone by a live in-sync replica, or leave the segment unavailable."""
    found = seen_draft(txn, seen)
    segment = found.segment
    leader = segment.leader
    if not leader or fleet.broker_epoch(leader) == segment.leader_broker_epoch:
        raise Rejected("LEADER_LIVES", f"{_named(segment)} needs no other leader")
    following = successor(segment, fleet.is_registered)
    if following is None:
        depose(segment)
    else:
        segment.isr.remove(leader)
        enthrone(segment, following, fleet.broker_epoch(following))
    store(txn, fleet, found)


def elect(txn: Txn, fleet: Fleet, election: pb.Election) -> None:
    """Make a replica that reported its log end lead an unavailable segment."""
    found = seen_draft(txn, election.seen)
    segment = found.segment
    _check_unavailable(segment)
    if election.engine not in segment.last_known_isr:
        raise Rejected(
            "INELIGIBLE_REPLICA",
            f"{election.engine} is no last known in-sync replica of {_named(segment)}",
        )
    if fleet.broker_epoch(election.engine) != election.broker_epoch or not election.broker_epoch:
        raise Rejected(
            "STALE_BROKER_EPOCH",
            f"{election.engine} has registered again, or is gone, since it answered",
        )
    restore(segment, election.engine, election.broker_epoch)
    store(txn, fleet, found)


def move(txn: Txn, fleet: Fleet, seen: pb.SeenSegment) -> None:
    """Give the leadership of a segment back to its preferred leader."""
    found = seen_draft(txn, seen)
    segment = found.segment
    preferred = preferred_leader(segment, fleet)
    if preferred is None:
        raise Rejected("INELIGIBLE_REPLICA", f"no other replica is to lead {_named(segment)}")
    enthrone(segment, preferred, fleet.broker_epoch(preferred))
    store(txn, fleet, found)


def force(txn: Txn, fleet: Fleet, command: pb.ForceLeader) -> rows.Segment:
    """Make a live replica lead an unavailable segment, by order of an operator."""
    found = draft(txn, command.shard, command.segment)
    segment = found.segment
    check_segment_epoch(segment, command.segment_epoch)
    _check_unavailable(segment)
    if command.engine not in segment.replicas or not fleet.is_registered(command.engine):
        raise Rejected(
            "INELIGIBLE_REPLICA",
            f"{command.engine} is not a registered replica of {_named(segment)}; name one of "
            f"{', '.join(filter(fleet.is_registered, segment.replicas)) or 'none, all are gone'}",
        )
    if command.engine not in segment.last_known_isr:
        segment.unclean_elections += 1
    restore(segment, command.engine, fleet.broker_epoch(command.engine))
    return store(txn, fleet, found)


def _check_unavailable(segment: rows.Segment) -> None:
    if segment.status == rows.SEGMENT_STATUS_DELETING:
        raise Rejected("SEGMENT_DELETING", f"{_named(segment)} is being removed")
    if segment.leader:
        raise Rejected("SEGMENT_AVAILABLE", f"{_named(segment)} is led by {segment.leader}")


def _named(segment: rows.Segment) -> str:
    return f"segment {segment.number} of {segment.shard}"
