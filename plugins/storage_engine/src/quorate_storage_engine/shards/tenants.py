"""The plugin's part in the deletion of tenants and topics: their shards are deleted with them."""

import asyncio
from collections.abc import Sequence
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.plugin import Controller, Extension, NodeApi, ShardRef
from quorate.plugin.resource import TENANTS, TenantCascade, waiting_tenants
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import FinishTenantCascade
from quorate_mqtt.api import TOPIC_FINALIZERS, TopicFinalizer
from quorate_mqtt.v1.topics_pb2 import Topic

from quorate_storage_engine.families import GROUP
from quorate_storage_engine.v1.commands_pb2 import DeleteShard, DeleteShards
from quorate_storage_engine.v1.queries_pb2 import ListShardsQuery
from quorate_storage_engine.v1.rows_pb2 import SHARD_STATUS_RUNNING, Shard
from quorate_storage_engine.validation import LONGEST_LIST

#: The plugin's name in the rows of tenants that are being deleted.
CASCADE: Final = "storage_engine"


async def holds(node: NodeApi, tenant: str) -> bool:
    """Return whether a tenant has shards, including shards that are being deleted."""
    query = ListShardsQuery(tenant=tenant, limit=1)
    return bool([shard async for shard in node.query(query, Shard)])


async def delete_of_tenants(node: NodeApi, shard: ShardRef) -> None:
    """Mark the shards of each tenant in deletion, and report a tenant once no shard is left."""
    async for tenant in waiting_tenants(node, CASCADE):
        if not await _marked(node, ListShardsQuery(tenant=tenant.name, limit=LONGEST_LIST), shard):
            done = FinishTenantCascade(name=tenant.name, id=tenant.id, cascade=CASCADE)
            await node.propose(done, Empty, if_leader=shard)


async def _marked(node: NodeApi, query: ListShardsQuery, leading: ShardRef | None = None) -> bool:
    """Mark the shards that a query finds, and return whether it finds any."""
    shards = [shard async for shard in node.query(query, Shard)]
    marks = [
        DeleteShard(name=each.name, missing_ok=True)
        for each in shards
        if each.status == SHARD_STATUS_RUNNING
    ]
    if marks:
        await node.propose(DeleteShards(shards=marks), BatchReply, if_leader=leading)
    return bool(shards)


DELETION: Final = Controller(
    name="storage_engine.tenant_deletion",
    group=GROUP,
    run_once=delete_of_tenants,
    interval_s=10.0,
    wake_on=(TENANTS,),
)
TAKES_PART: Final = Extension(
    point="tenant.cascades", name=CASCADE, value=TenantCascade(holds=holds)
)


#: Maximum number of shards marked in one call; the finalizer is called until none is left.
_AT_A_TIME: Final = 1_000


async def delete_shards_of(node: NodeApi, topics: Sequence[Topic]) -> Sequence[Topic]:
    """Mark the shards of topics for deletion, and return the topics that have no shard left."""
    queries = (
        ListShardsQuery(tenant=each.tenant, topic=each.name, limit=_AT_A_TIME) for each in topics
    )
    marked = await asyncio.gather(*(_marked(node, query) for query in queries))
    return [topic for topic, waits in zip(topics, marked, strict=True) if not waits]


FINALIZER: Final = Extension(
    point=TOPIC_FINALIZERS, name="storage_engine.shards", value=TopicFinalizer(delete_shards_of)
)
