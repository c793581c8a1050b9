"""The garbage collection: it removes marked shards and segments, and reports overdue drops."""

import logging
from typing import Final

from quorate.builtin.cluster.api import BROKERS
from quorate.plugin import Controller, NodeApi, ShardRef
from quorate.plugin.batches import carry_out

from quorate_storage_engine.config import StorageEngineConfig
from quorate_storage_engine.families import GROUP, drop_key
from quorate_storage_engine.metrics import OVERDUE, THIN, UNAVAILABLE
from quorate_storage_engine.segments.sweeping import carry_out_seen
from quorate_storage_engine.v1 import commands_pb2 as pb, queries_pb2 as asked, rows_pb2 as rows

_log = logging.getLogger(__name__)


async def collect_garbage(node: NodeApi, shard: ShardRef) -> None:
    """Begin removals, finish removals that wait only for gone engines, and report the health."""
    limit = node.config(StorageEngineConfig).batch
    await carry_out_seen(node, shard, asked.FindRemovableQuery, pb.RemoveSegments)
    while lost := [
        drop async for drop in node.query(asked.FindLostDropsQuery(limit=limit), rows.Drop)
    ]:
        command = pb.ForgetDrops(
            keys=[drop_key(drop.engine, drop.shard_uid, drop.segment) for drop in lost]
        )
        if not await carry_out(node, shard, command):
            break
    await carry_out_seen(node, shard, asked.FindAbandonedQuery, pb.FinishRemovals)
    await _report(node)


async def _report(node: NodeApi) -> None:
    overdue_after_ms = round(node.config(StorageEngineConfig).overdue_after_s * 1_000)
    query = asked.GetHealthQuery(overdue_after_ms=overdue_after_ms)
    async for health in node.query(query, asked.Health):
        node.observe(UNAVAILABLE.name, health.unavailable_segments)
        node.observe(THIN.name, health.thin_segments)
        for overdue in health.overdue_drops:
            node.observe(OVERDUE.name, overdue.drops, engine=overdue.engine)
            if overdue.drops:
                _log.warning(
                    "engine %s has not acknowledged %d drops for %d s; check it, or "
                    "decommission it if it is gone for good",
                    overdue.engine,
                    overdue.drops,
                    overdue_after_ms // 1_000,
                )


GARBAGE_COLLECTION: Final = Controller(
    name="storage_engine.garbage_collection",
    group=GROUP,
    run_once=collect_garbage,
    interval_s=lambda node: node.config(StorageEngineConfig).collection_interval_s,
    wake_on=(BROKERS,),
)
