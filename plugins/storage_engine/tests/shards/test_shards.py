from typing import Any

import pytest
from google.protobuf.message import Message
from quorate.plugin import Invalid, Rejected
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import Broker, RegisterBroker
from quorate_storage_engine.families import SEGMENTS, SHARDS
from quorate_storage_engine.v1.commands_pb2 import (
    CreateShard,
    CreateShards,
    DeleteShard,
    ShardState,
)
from quorate_storage_engine.v1.rows_pb2 import (
    SEGMENT_STATUS_WRITING,
    SHARD_STATUS_DELETING,
    SHARD_STATUS_RUNNING,
    STORAGE_TYPE_SEGMENT,
    Shard,
    ShardConfig,
)
from quorate_storage_engine.validation import MOST_CREATED

from tests.support.storage_engine.fleet import EngineCluster


def creation(name: str = "s", **config: Any) -> CreateShard:
    values: dict[str, Any] = {
        "replicas": 3,
        "min_in_sync_replicas": 2,
        "storage": STORAGE_TYPE_SEGMENT,
        **config,
    }
    return CreateShard(name=name, config=ShardConfig(**values))


async def refused(cluster: EngineCluster, command: Message) -> str:
    before = cluster.node.digest()
    with pytest.raises(Rejected) as refusal:
        await cluster.node.propose(command, ShardState)
    assert cluster.node.digest() == before
    return refusal.value.code


async def test_a_shard_begins_with_a_segment_on_the_least_loaded_engines(
    cluster: EngineCluster,
) -> None:
    await cluster.register_all("abcd")
    await cluster.create_shard("first", replicas=1)
    loaded = cluster.segment("first").leader

    state = await cluster.node.propose(creation(), ShardState)

    segment = state.segment
    assert state.shard.status == SHARD_STATUS_RUNNING
    assert (segment.number, segment.status) == (0, SEGMENT_STATUS_WRITING)
    assert sorted(segment.replicas) == sorted(set("abcd") - {loaded})
    assert list(segment.isr) == list(segment.replicas)
    assert segment.leader == segment.replicas[0]
    assert segment.leader_broker_epoch == cluster.broker_epoch(segment.leader)
    assert (segment.leader_epoch, segment.segment_epoch) == (1, 1)


async def test_a_repeated_creation_answers_with_the_whole_state(cluster: EngineCluster) -> None:
    await cluster.register_all("abc")
    first = await cluster.node.propose(creation(), ShardState)
    before = cluster.node.digest()

    assert await cluster.node.propose(creation(), ShardState) == first
    assert cluster.node.digest() == before


async def test_another_configuration_is_no_repetition(cluster: EngineCluster) -> None:
    await cluster.register_all("abc")
    await cluster.node.propose(creation(), ShardState)

    assert await refused(cluster, creation(retention_s=5)) == "SHARD_DIFFERS"


async def test_too_few_engines_are_refused_unless_fewer_replicas_will_do(
    cluster: EngineCluster,
) -> None:
    await cluster.register_all("ab")

    assert await refused(cluster, creation()) == "NOT_ENOUGH_ENGINES"
    state = await cluster.node.propose(creation(allow_fewer_replicas=True), ShardState)

    assert len(state.segment.replicas) == 2


async def test_brokers_that_are_no_engines_hold_nothing(cluster: EngineCluster) -> None:
    broker = RegisterBroker(name="mqtt-1", cluster_name="test", roles=["mqtt"])
    await cluster.node.propose(broker, Broker)

    assert await refused(cluster, creation(replicas=1, min_in_sync_replicas=1)) == (
        "NOT_ENOUGH_ENGINES"
    )


async def test_a_batch_spreads_shards_evenly_and_answers_each(cluster: EngineCluster) -> None:
    names = [f"engine-{number:02}" for number in range(12)]
    await cluster.register_all(names)
    shards = [creation(f"s-{number:04}") for number in range(MOST_CREATED)]
    shards[7].config.replicas = 13

    reply = await cluster.node.propose(CreateShards(shards=shards), BatchReply)

    assert [(each.item, each.code) for each in reply.refusals] == [(7, "NOT_ENOUGH_ENGINES")]
    assert len(cluster.node.rows(SHARDS)) == len(cluster.node.rows(SEGMENTS)) == MOST_CREATED - 1
    engines = cluster.engines().values()
    assert max(each.replicas for each in engines) - min(each.replicas for each in engines) <= 1
    leaderships = [each.leaderships for each in engines]
    assert max(leaderships) <= 1.05 * MOST_CREATED / 12 + 1


async def test_a_batch_that_would_stop_a_node_for_long_is_refused(cluster: EngineCluster) -> None:
    shards = [creation(f"s-{number}") for number in range(MOST_CREATED + 1)]

    with pytest.raises(Invalid, match="at most 200 shards, not 201; send them in several") as long:
        await cluster.node.propose(CreateShards(shards=shards), BatchReply)

    assert long.value.field == "shards"
    assert cluster.node.proposals == []


async def test_a_shard_that_is_being_deleted_takes_nothing_on(cluster: EngineCluster) -> None:
    await cluster.register_all("abc")
    await cluster.node.propose(creation(), ShardState)

    marked = await cluster.node.propose(DeleteShard(name="s"), Shard)

    assert marked.status == SHARD_STATUS_DELETING
    assert await cluster.node.propose(DeleteShard(name="s"), Shard) == marked
    assert await refused(cluster, creation()) == "SHARD_DELETING"


async def test_an_unknown_shard_is_not_deleted(cluster: EngineCluster) -> None:
    assert await refused(cluster, DeleteShard(name="s")) == "SHARD_NOT_FOUND"


async def test_racks_are_kept_apart(cluster: EngineCluster) -> None:
    for name, rack in [("a", "x"), ("b", "x"), ("c", "y"), ("d", "y"), ("e", "z")]:
        await cluster.register(name, rack=rack)

    for number in range(20):
        segment = await cluster.create_shard(f"s-{number}")
        assert "e" in segment.replicas
        assert len({"a", "b"} & set(segment.replicas)) == 1


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"replicas": 0}, "config.replicas"),
        ({"replicas": 33}, "config.replicas"),
        ({"min_in_sync_replicas": 0}, "config.min_in_sync_replicas"),
        ({"min_in_sync_replicas": 4}, "config.min_in_sync_replicas"),
        ({"storage": 0}, "config.storage"),
        ({"storage": 99}, "config.storage"),
    ],
)
async def test_impossible_configurations_are_refused_before_they_are_logged(
    cluster: EngineCluster, change: dict[str, Any], field: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        await cluster.node.propose(creation(**change), ShardState)

    assert refusal.value.field == field
    assert cluster.node.proposals == []
