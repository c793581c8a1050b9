"""A topic of MQTT goes when the shards that hold its data are gone, and no others go with it."""

from __future__ import annotations

import pytest
from quorate.plugin import Rejected
from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import Broker, RegisterBroker
from quorate.v1.tenant_pb2 import CreateTenant, DeleteTenantRequest, GetTenantRequest, Tenant
from quorate_mqtt.topics.resource import TOPIC
from quorate_mqtt.v1.topics_pb2 import CreateTopicRequest, DeleteTopic, Topic, TopicName
from quorate_storage_engine.families import DROPS, SHARDS
from quorate_storage_engine.v1.commands_pb2 import (
    AcknowledgeDrops,
    CreateShard,
    DroppedSegment,
    ShardState,
)
from quorate_storage_engine.v1.rows_pb2 import STORAGE_TYPE_SEGMENT, Drop, Shard, ShardConfig

CONFIG = ShardConfig(replicas=1, min_in_sync_replicas=1, storage=STORAGE_TYPE_SEGMENT)
LONG = "t" * 3_072


async def test_a_topic_stays_until_its_shards_are_gone() -> None:
    plugins = ["cluster", "mqtt", "storage_engine", "tenant"]
    node = MemoryNode(plugins, shards={"mqtt": 2}, at_ms=1_000)
    topics = node.servicer("quorate_mqtt.v1.TopicService")
    register = RegisterBroker(name="a", cluster_name="test", roles=["engine"], ttl_ms=3_600_000)
    broker = await node.propose(register, Broker)
    for tenant in ("acme", "globex"):
        await node.propose(CreateTenant(name=tenant), Tenant)
        for topic in (LONG, "other"):
            row = Topic(tenant=tenant, name=topic, partitions=1, replication=1)
            await topics.Create(CreateTopicRequest(topic=row), None)
            for part in range(2):
                name = f"{tenant}-{topic[:5]}-{part}"
                command = CreateShard(name=name, tenant=tenant, topic=topic, config=CONFIG)
                await node.propose(command, ShardState)

    marked = await topics.Delete(DeleteTopic(tenant="acme", name=LONG), None)
    assert "storage_engine.shards" in marked.finalizers
    await node.run_controller("mqtt.topic_deletion")
    shards = map(Shard.FromString, node.rows(SHARDS).values())
    assert [shard.name for shard in shards if shard.deleting_at_ms] == [
        "acme-ttttt-0",
        "acme-ttttt-1",
    ]
    await node.run_controller("storage_engine.garbage_collection")
    await node.run_controller("mqtt.topic_deletion")
    waiting = await topics.Get(TopicName(tenant="acme", name=LONG), None)
    assert list(waiting.finalizers) == ["storage_engine.shards"]

    drops = map(Drop.FromString, node.rows(DROPS).values())
    segments = [
        DroppedSegment(shard_uid=drop.shard_uid, segment=0, segment_epoch=drop.segment_epoch)
        for drop in drops
    ]
    acknowledgement = AcknowledgeDrops(engine="a", broker_epoch=broker.epoch, segments=segments)
    await node.propose(acknowledgement, BatchReply)
    await node.run_controller("mqtt.topic_deletion")

    left = {Shard.FromString(row).name for row in node.rows(SHARDS).values()}
    assert len(left) == 6
    assert not {"acme-ttttt-0", "acme-ttttt-1"} & left
    rows = map(Topic.FromString, node.rows(TOPIC.family).values())
    assert [(topic.tenant, topic.name) for topic in rows] == [
        ("acme", "other"),
        ("globex", "other"),
        ("globex", LONG),
    ]


async def test_a_tenant_takes_along_the_shards_that_name_no_topic() -> None:
    node = MemoryNode(["cluster", "mqtt", "storage_engine", "tenant"], at_ms=1_000)
    tenants = node.servicer("quorate.v1.TenantService")
    register = RegisterBroker(name="a", cluster_name="test", roles=["engine"], ttl_ms=3_600_000)
    broker = await node.propose(register, Broker)
    for tenant in ("acme", "globex"):
        await node.propose(CreateTenant(name=tenant), Tenant)
        command = CreateShard(name=f"{tenant}-0", tenant=tenant, config=CONFIG)
        await node.propose(command, ShardState)
    with pytest.raises(Rejected, match="holds something in storage_engine"):
        await tenants.Delete(DeleteTenantRequest(name="acme"), None)

    await tenants.Delete(DeleteTenantRequest(name="acme", cascade=True), None)
    late = CreateShard(name="late", tenant="acme", config=CONFIG)
    with pytest.raises(Rejected, match="TENANT_DELETING"):
        await node.propose(late, ShardState)
    await node.run_controller("storage_engine.tenant_deletion")
    await node.run_controller("storage_engine.garbage_collection")
    await node.run_controller("storage_engine.tenant_deletion")
    waiting = await tenants.Get(GetTenantRequest(name="acme"), None)
    assert "storage_engine" in waiting.cascades

    drops = map(Drop.FromString, node.rows(DROPS).values())
    segments = [
        DroppedSegment(shard_uid=drop.shard_uid, segment=0, segment_epoch=drop.segment_epoch)
        for drop in drops
    ]
    acknowledgement = AcknowledgeDrops(engine="a", broker_epoch=broker.epoch, segments=segments)
    await node.propose(acknowledgement, BatchReply)
    await node.run_controller("storage_engine.tenant_deletion")

    left = {Shard.FromString(row).name for row in node.rows(SHARDS).values()}
    assert left == {"globex-0"}
    waiting = await tenants.Get(GetTenantRequest(name="acme"), None)
    assert "storage_engine" not in waiting.cascades
