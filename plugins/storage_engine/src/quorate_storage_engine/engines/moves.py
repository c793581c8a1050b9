"""How a replica leaves a decommissioned engine: another one is added, and then replaces it."""

from dataclasses import dataclass

from quorate_storage_engine.engines.fleet import Fleet
from quorate_storage_engine.families import segment_key
from quorate_storage_engine.placement import place
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
    """Return what can be done for a replica that leaves its engine; None: wait.

    A live engine keeps its replica until enough others are in sync. One that is gone is of no use,
    unless it is known to hold what no live engine may hold.
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
    """Return how many replicas a segment is short of."""
    if segment.status == SEGMENT_STATUS_DELETING:
        return 0
    return max(0, segment.wanted_replicas - len(segment.replicas))
