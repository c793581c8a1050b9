"""How a segment begins: its replicas are placed, and hold all that it has, which is nothing."""

from quorate.plugin import Rejected, Txn

from quorate_storage_engine.engines.fleet import Fleet
from quorate_storage_engine.families import segment_key
from quorate_storage_engine.placement import place, preferred_first
from quorate_storage_engine.segments.rows import begin
from quorate_storage_engine.v1.rows_pb2 import SEGMENT_STATUS_WRITING, Segment, Shard


def place_segment(fleet: Fleet, shard: Shard, number: int) -> list[str]:
    """Return the engines for a new segment, its leader first; refuses when they are too few."""
    wanted = shard.config.replicas
    loads = fleet.loads()
    seed = segment_key(shard.name, number)
    chosen = place(loads, wanted, seed=seed)
    if not chosen or (len(chosen) < wanted and not shard.config.allow_fewer_replicas):
        raise Rejected(
            "NOT_ENOUGH_ENGINES",
            f"shard {shard.name} wants {wanted} replicas, and {len(loads)} engines take replicas "
            "on; register more engines, or ask for fewer replicas",
        )
    return preferred_first(loads, chosen, seed=seed)


def found_segment(
    txn: Txn, fleet: Fleet, shard: Shard, replicas: list[str], *, number: int, start_offset: int
) -> Segment:
    """Write the row of a new segment."""
    segment = Segment(
        shard=shard.name,
        shard_uid=shard.uid,
        number=number,
        status=SEGMENT_STATUS_WRITING,
        replicas=replicas,
        isr=replicas,
        leader=replicas[0],
        leader_broker_epoch=fleet.broker_epoch(replicas[0]),
        leader_epoch=1,
        segment_epoch=1,
        wanted_replicas=shard.config.replicas,
        start_offset=start_offset,
        created_at_ms=txn.proposed_at_ms,
    )
    return begin(txn, fleet, segment)
