"""The handlers of engines: taking them out of service, and moving replicas between them."""

from dataclasses import dataclass

from quorate.plugin import Rejected, Txn, keys

from quorate_storage_engine.engines.fleet import Fleet
from quorate_storage_engine.families import DROPS, ENGINES, engine_key, segment_key
from quorate_storage_engine.leadership.apply import enthrone
from quorate_storage_engine.placement import place
from quorate_storage_engine.removal.apply import ask_to_drop
from quorate_storage_engine.segments.rows import seen_draft, store
from quorate_storage_engine.v1 import commands_pb2 as pb, rows_pb2 as rows
from quorate_storage_engine.v1.rows_pb2 import SEGMENT_STATUS_DELETING, Segment


@dataclass(frozen=True, slots=True)
class Add:
    """Have another engine catch up."""

    engine: str


@dataclass(frozen=True, slots=True)
class Leave:
    """Take the replica off its engine; `leader` leads from then on."""

    leader: str


def next_step(segment: Segment, engine: str, fleet: Fleet) -> Add | Leave | None:
    """Return the next step for a replica that leaves its engine; None: wait.

    A live engine keeps its replica until enough others are in sync. The replica of an engine that
    is gone is given up, unless it may hold records that no live engine holds.
    """
    if (
        segment.status == SEGMENT_STATUS_DELETING
        or engine not in segment.replicas
        or not fleet.is_leaving(engine)
    ):
        return None
    stayers = [replica for replica in segment.replicas if not fleet.is_leaving(replica)]
    if len(stayers) < segment.wanted_replicas:
        added = additions(segment, fleet, 1)
        return Add(added[0]) if added else None
    if not fleet.is_registered(engine):
        if engine == segment.leader or engine in segment.last_known_isr:
            return None
        return Leave(segment.leader)
    staying_in_sync = [replica for replica in segment.isr if replica in stayers]
    if len(staying_in_sync) < segment.wanted_replicas:
        return None
    if engine != segment.leader:
        return Leave(segment.leader)
    heirs = filter(fleet.is_registered, staying_in_sync)
    heir = next(heirs, None)
    return None if heir is None else Leave(heir)


def additions(segment: Segment, fleet: Fleet, wanted: int) -> list[str]:
    """Return engines that can take on further replicas of a segment."""
    return place(
        fleet.loads(),
        wanted,
        seed=segment_key(segment.shard, segment.number),
        holders=segment.replicas,
        barred=fleet.barred(segment),
    )


def shortage(segment: Segment) -> int:
    """Return the number of replicas that a segment lacks."""
    if segment.status == SEGMENT_STATUS_DELETING:
        return 0
    return max(0, segment.wanted_replicas - len(segment.replicas))


def decommission(txn: Txn, fleet: Fleet, name: str) -> rows.Engine:
    """Move the replicas of an engine to others; the engine accepts no more replicas."""
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
    """Return whether an engine has a row, or drops that it has not acknowledged."""
    if txn.get(ENGINES, engine_key(name)) is not None:
        return True
    return any(txn.scan(DROPS, *keys.prefix(name), limit=1))


def recommission(txn: Txn, fleet: Fleet, name: str) -> rows.Engine:
    """Let a decommissioned engine accept replicas again."""
    if not fleet.is_leaving(name):
        raise Rejected("ENGINE_NOT_FOUND", f"no engine {name} is decommissioned")
    return fleet.mark(name, 0)


def fill(txn: Txn, fleet: Fleet, seen: pb.SeenSegment) -> None:
    """Add replicas to a segment that has too few; they join the in-sync replicas later."""
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


def move(txn: Txn, fleet: Fleet, departure: pb.Departure) -> None:
    """Take the next step for a replica that leaves its engine."""
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
