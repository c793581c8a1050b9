"""The handlers of engines: taking them out of service, and moving replicas between them."""

from quorate.plugin import Rejected, Txn, keys
from quorate.v1.batch_pb2 import BatchReply

from quorate_storage_engine.engines.fleet import Fleet, answer_each_with_fleet
from quorate_storage_engine.engines.moves import Add, additions, next_step, shortage
from quorate_storage_engine.families import DROPS, ENGINES, engine_key
from quorate_storage_engine.leadership.elections import enthrone
from quorate_storage_engine.removal.drops import ask_to_drop
from quorate_storage_engine.segments.rows import seen_draft, store
from quorate_storage_engine.v1.commands_pb2 import (
    DecommissionEnginesCommand,
    Departure,
    FillReplicasCommand,
    MoveReplicasCommand,
    RecommissionEnginesCommand,
    SeenSegment,
)
from quorate_storage_engine.v1.rows_pb2 import Engine


def decommission_engines(txn: Txn, command: DecommissionEnginesCommand) -> BatchReply:
    """Have the replicas of engines moved to others; those take nothing on any more."""
    return answer_each_with_fleet(txn, command.engines, _decommission)


def recommission_engines(txn: Txn, command: RecommissionEnginesCommand) -> BatchReply:
    """Let decommissioned engines take replicas on again."""
    return answer_each_with_fleet(txn, command.engines, _recommission)


def fill_replicas(txn: Txn, command: FillReplicasCommand) -> BatchReply:
    """Add replicas to segments that have too few; they join the in-sync ones later."""
    return answer_each_with_fleet(txn, command.segments, _fill)


def move_replicas(txn: Txn, command: MoveReplicasCommand) -> BatchReply:
    """Take the next step for replicas that leave their engines."""
    return answer_each_with_fleet(txn, command.departures, _move)


def _decommission(txn: Txn, fleet: Fleet, name: str) -> Engine:
    if not (fleet.is_registered(name) or _has_left_something(txn, name)):
        raise Rejected(
            "ENGINE_NOT_FOUND",
            f"no engine {name} is registered, and none of that name holds anything",
        )
    if fleet.is_leaving(name):
        return fleet.engine(name)
    # Zero is no mark.
    return fleet.mark(name, max(1, txn.proposed_at_ms))


def _has_left_something(txn: Txn, name: str) -> bool:
    """Tell whether an engine carries something, or was asked to drop what it holds."""
    if txn.get(ENGINES, engine_key(name)) is not None:
        return True
    return any(txn.scan(DROPS, *keys.prefix(name), limit=1))


def _recommission(txn: Txn, fleet: Fleet, name: str) -> Engine:
    if not fleet.is_leaving(name):
        raise Rejected("ENGINE_NOT_FOUND", f"no engine {name} is decommissioned")
    return fleet.mark(name, 0)


def _fill(txn: Txn, fleet: Fleet, seen: SeenSegment) -> None:
    found = seen_draft(txn, seen)
    segment = found.segment
    added = additions(segment, fleet, shortage(segment))
    if not added:
        raise Rejected(
            "NOT_ENOUGH_ENGINES", f"segment {seen.segment} of {seen.shard} gets no further replica"
        )
    segment.replicas.extend(added)
    found.touch()
    store(txn, fleet, found)


def _move(txn: Txn, fleet: Fleet, departure: Departure) -> None:
    found = seen_draft(txn, departure.seen)
    segment = found.segment
    step = next_step(segment, departure.engine, fleet)
    if step is None:
        raise Rejected(
            "FAILED_PRECONDITION",
            f"segment {segment.number} of {segment.shard} cannot leave {departure.engine} now",
        )
    if isinstance(step, Add):
        segment.replicas.insert(list(segment.replicas).index(departure.engine) + 1, step.engine)
        found.touch()
    else:
        segment.replicas.remove(departure.engine)
        if departure.engine in segment.isr:
            segment.isr.remove(departure.engine)
        if step.leader != segment.leader:
            enthrone(segment, step.leader, fleet.broker_epoch(step.leader))
        else:
            found.touch()
        if fleet.is_registered(departure.engine):
            ask_to_drop(txn, segment, departure.engine)
    store(txn, fleet, found)
