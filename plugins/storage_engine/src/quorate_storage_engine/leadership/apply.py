"""The handlers of elections."""

from quorate.plugin import Rejected, Txn
from quorate.v1.batch_pb2 import BatchReply

from quorate_storage_engine.engines.fleet import Fleet, answer_each_with_fleet, with_fleet
from quorate_storage_engine.leadership.elections import depose, enthrone, restore, successor
from quorate_storage_engine.leadership.preferred import preferred_leader
from quorate_storage_engine.segments.rows import check_segment_epoch, draft, seen_draft, store
from quorate_storage_engine.v1.commands_pb2 import (
    Election,
    ElectLeadersCommand,
    ForceLeaderCommand,
    ForceLeadersCommand,
    MoveLeadersCommand,
    SeenSegment,
    SwitchLeadersCommand,
)
from quorate_storage_engine.v1.rows_pb2 import SEGMENT_STATUS_DELETING, Segment


def switch_leaders(txn: Txn, command: SwitchLeadersCommand) -> BatchReply:
    """Replace leaders that are gone by live in-sync replicas, or leave segments unavailable."""
    return answer_each_with_fleet(txn, command.segments, _switch)


def elect_leaders(txn: Txn, command: ElectLeadersCommand) -> BatchReply:
    """Give unavailable segments leaders that told their logs' ends."""
    return answer_each_with_fleet(txn, command.elections, _elect)


def move_leaders(txn: Txn, command: MoveLeadersCommand) -> BatchReply:
    """Give leadership back to preferred leaders."""
    return answer_each_with_fleet(txn, command.segments, _move)


def force_leader(txn: Txn, command: ForceLeaderCommand) -> Segment:
    """Make a live replica the leader of an unavailable segment because an operator says so."""
    return with_fleet(txn, command, _force)


def force_leaders(txn: Txn, command: ForceLeadersCommand) -> BatchReply:
    """Make live replicas the leaders of many unavailable segments."""
    return answer_each_with_fleet(txn, command.elections, _force)


def _switch(txn: Txn, fleet: Fleet, seen: SeenSegment) -> None:
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


def _elect(txn: Txn, fleet: Fleet, election: Election) -> None:
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


def _move(txn: Txn, fleet: Fleet, seen: SeenSegment) -> None:
    found = seen_draft(txn, seen)
    segment = found.segment
    preferred = preferred_leader(segment, fleet)
    if preferred is None:
        raise Rejected("INELIGIBLE_REPLICA", f"no other replica is to lead {_named(segment)}")
    enthrone(segment, preferred, fleet.broker_epoch(preferred))
    store(txn, fleet, found)


def _force(txn: Txn, fleet: Fleet, command: ForceLeaderCommand) -> Segment:
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


def _check_unavailable(segment: Segment) -> None:
    if segment.status == SEGMENT_STATUS_DELETING:
        raise Rejected("SEGMENT_DELETING", f"{_named(segment)} is being removed")
    if segment.leader:
        raise Rejected("SEGMENT_AVAILABLE", f"{_named(segment)} is led by {segment.leader}")


def _named(segment: Segment) -> str:
    return f"segment {segment.number} of {segment.shard}"
