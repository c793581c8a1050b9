"""What adds replicas where they lack, and moves them off decommissioned engines."""

from typing import Final

from quorate.plugin import Controller, NodeApi, ShardRef
from quorate.plugin.batches import carry_out, read_pages

from quorate_storage_engine.config import StorageEngineConfig
from quorate_storage_engine.families import BROKERS, ENGINES, GROUP
from quorate_storage_engine.segments.rows import seen_id
from quorate_storage_engine.v1 import commands_pb2 as pb, queries_pb2 as asked


async def place_replicas(node: NodeApi, shard: ShardRef) -> None:
    """Add replicas that lack, then take every step for those that leave their engines."""
    limit = node.config(StorageEngineConfig).batch
    await _fill(node, shard, limit)
    # A replica whose engine is gone is added elsewhere by one step, and left by the next.
    while await _move(node, shard, limit):
        pass


async def _fill(node: NodeApi, shard: ShardRef, limit: int) -> None:
    async for page in read_pages(
        node,
        lambda last: asked.FindThinQuery(limit=limit, after=seen_id(last)),
        pb.SeenSegment,
        limit,
    ):
        await carry_out(node, shard, pb.FillReplicas(segments=page))


async def _move(node: NodeApi, shard: ShardRef, limit: int) -> int:
    moved = 0
    async for page in read_pages(
        node,
        lambda last: asked.FindDeparturesQuery(limit=limit, after=last or pb.Departure()),
        pb.Departure,
        limit,
    ):
        moved += await carry_out(node, shard, pb.MoveReplicas(departures=page))
    return moved


REPLICA_PLACING: Final = Controller(
    name="storage_engine.replica_placing",
    group=GROUP,
    run_once=place_replicas,
    interval_s=lambda node: node.config(StorageEngineConfig).move_interval_s,
    wake_on=(BROKERS, ENGINES),
)
