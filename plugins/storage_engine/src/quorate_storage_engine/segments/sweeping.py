"""Proposes commands for the segments that a controller's query finds, page by page."""

from typing import Any

from quorate.plugin import NodeApi, ShardRef
from quorate.plugin.batches import carry_out, read_pages

from quorate_storage_engine.config import StorageEngineConfig
from quorate_storage_engine.segments.rows import seen_id
from quorate_storage_engine.v1.commands_pb2 import SeenSegment


async def carry_out_seen(node: NodeApi, shard: ShardRef, find: Any, command: Any) -> None:
    """Propose a command for the segments that a query finds, page by page."""
    limit = node.config(StorageEngineConfig).batch
    async for page in read_pages(
        node, lambda last: find(limit=limit, after=seen_id(last)), SeenSegment, limit
    ):
        await carry_out(node, shard, command(segments=page))
