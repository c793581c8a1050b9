"""What shards have to do with the deletion of MQTT topics: they are deleted first."""

from typing import Final

from quorate.plugin import Extension, NodeApi
from quorate.v1.batch_pb2 import BatchReply
from quorate_mqtt.api import TOPIC_FINALIZERS, TopicFinalizer
from quorate_mqtt.v1.topics_pb2 import Topic

from quorate_storage_engine.v1.commands_pb2 import DeleteShard, DeleteShards
from quorate_storage_engine.v1.queries_pb2 import ListShardsQuery
from quorate_storage_engine.v1.rows_pb2 import SHARD_STATUS_RUNNING, Shard

#: Shards that are marked in one call; the finalizer is called until there are none.
_AT_A_TIME: Final = 1_000


async def delete_shards_of(node: NodeApi, topic: Topic) -> bool:
    """Mark the shards that name a topic for deletion, and tell whether all are gone."""
    query = ListShardsQuery(tenant=topic.tenant, topic=topic.name, limit=_AT_A_TIME)
    shards = [shard async for shard in node.query(query, Shard)]
    deletions = [
        DeleteShard(name=shard.name, missing_ok=True)
        for shard in shards
        if shard.status == SHARD_STATUS_RUNNING
    ]
    if deletions:
        await node.propose(DeleteShards(shards=deletions), BatchReply)
    return not shards


FINALIZER: Final = Extension(
    point=TOPIC_FINALIZERS, name="storage_engine.shards", value=TopicFinalizer(delete_shards_of)
)
