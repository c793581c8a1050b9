"""The handlers of elections."""

from quorate.plugin import Rejected, Txn

from quorate_storage_engine.engines.fleet import Fleet
from quorate_storage_engine.leadership.elections import (
    depose,
    enthrone,
    preferred_leader,
    restore,
    successor,
)
from quorate_storage_engine.segments.rows import check_segment_epoch, draft, seen_draft, store
from quorate_storage_engine.v1 import commands_pb2 as pb, rows_pb2 as rows


def switch(txn: Txn, fleet: Fleet, seen: pb.SeenSegment) -> None:
    """Replace leaders that are gone by live in-sync replicas, or leave segments unavailable."""
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
    """Give unavailable segments leaders that told their logs' ends."""
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
    """Give leadership back to preferred leaders."""
    found = seen_draft(txn, seen)
    segment = found.segment
    preferred = preferred_leader(segment, fleet)
    if preferred is None:
        raise Rejected("INELIGIBLE_REPLICA", f"no other replica is to lead {_named(segment)}")
    enthrone(segment, preferred, fleet.broker_epoch(preferred))
    store(txn, fleet, found)


def force(txn: Txn, fleet: Fleet, command: pb.ForceLeader) -> rows.Segment:
    """Make a live replica the leader of an unavailable segment because an operator says so."""
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
