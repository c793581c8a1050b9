"""The controller that adds missing replicas, and moves replicas off decommissioned engines."""

from typing import Final

from quorate.builtin.cluster.api import BROKERS
from quorate.plugin import Controller, NodeApi, ShardRef
from quorate.plugin.batches import carry_out, read_pages

from quorate_storage_engine.config import StorageEngineConfig
from quorate_storage_engine.families import ENGINES, GROUP
from quorate_storage_engine.segments.sweeping import carry_out_seen
from quorate_storage_engine.v1 import commands_pb2 as pb, queries_pb2 as asked


async def place_replicas(node: NodeApi, shard: ShardRef) -> None:
    """Add missing replicas, then move replicas off decommissioned engines, step by step."""
    await carry_out_seen(node, shard, asked.FindThinQuery, pb.FillReplicas)
    # A replica whose engine is gone is added elsewhere by one step, and left by the next.
    while await _move(node, shard):
        pass


async def _move(node: NodeApi, shard: ShardRef) -> int:
    limit, moved = node.config(StorageEngineConfig).batch, 0
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
