import pytest
from quorate.v1.batch_pb2 import BatchReply
from quorate_storage_engine.v1.commands_pb2 import (
    CreateShard,
    DecommissionEngines,
    RecommissionEngines,
    ShardState,
)
from quorate_storage_engine.v1.rows_pb2 import (
    STORAGE_TYPE_SEGMENT,
    Engine,
    Segment,
    ShardConfig,
)

from tests.support.storage_engine.fleet import EngineCluster


async def decommission(cluster: EngineCluster, *engines: str) -> None:
    command = DecommissionEngines(engines=engines)
    reply = await cluster.node.propose(command, BatchReply)
    assert not reply.refusals


async def catch_up(cluster: EngineCluster) -> None:
    """Have every live replica of every segment join the in-sync ones."""
    for segment in cluster.segments():
        live = [each for each in segment.replicas if cluster.broker_epoch(each)]
        if segment.leader and set(live) != set(segment.isr):
            await cluster.set_isr(segment, live)


async def until_moved(cluster: EngineCluster, engine: str) -> list[list[Segment]]:
    """Let replicas catch up until an engine has none, and return what stood in between."""
    seen = []
    for _ in range(10):
        await cluster.place_replicas()
        seen.append(cluster.segments())
        if not cluster.engines()[engine].replicas:
            return seen
        await catch_up(cluster)
    raise AssertionError(f"{engine} still holds {cluster.engines()[engine].replicas} replicas")


async def shards(cluster: EngineCluster, count: int = 12) -> None:
    for number in range(count):
        await cluster.create_shard(f"s-{number:02}")


async def test_a_live_engine_is_emptied_and_no_segment_lacks_a_replica_meanwhile(
    cluster: EngineCluster,
) -> None:
    await cluster.register_all("abcde")
    await shards(cluster)
    held = cluster.engines()["a"].replicas
    await decommission(cluster, "a")

    for segments in await until_moved(cluster, "a"):
        for segment in segments:
            assert len(segment.isr) >= 3, segment

    for segment in cluster.segments():
        assert "a" not in (segment.leader, *segment.replicas, *segment.isr)
        assert len(segment.replicas) == len(set(segment.replicas)) == 3
    assert [drop.engine for drop in cluster.drops()] == ["a"] * held
    assert cluster.engines()["a"].decommissioned_at_ms
    counts = [each.replicas for name, each in cluster.engines().items() if name != "a"]
    assert max(counts) - min(counts) <= 1


async def test_an_engine_that_is_gone_is_replaced_at_once(cluster: EngineCluster) -> None:
    await cluster.register_all("abcde")
    await shards(cluster)
    await cluster.unregister("a")
    await cluster.hold_elections()
    await decommission(cluster, "a")

    await cluster.place_replicas()

    for segment in cluster.segments():
        assert "a" not in (segment.leader, *segment.replicas, *segment.isr)
        assert len(segment.replicas) == 3
    assert cluster.drops() == []


async def test_what_only_a_lost_engine_may_hold_is_not_given_up(cluster: EngineCluster) -> None:
    await cluster.register_all("abcd")
    segment = await cluster.create_shard()
    await cluster.set_isr(segment, [segment.leader])
    await cluster.unregister(segment.leader)
    await cluster.hold_elections()
    await decommission(cluster, segment.leader)

    await cluster.place_replicas()

    after = cluster.segment()
    assert list(after.last_known_isr) == [segment.leader]
    assert segment.leader in after.replicas


async def test_too_few_engines_leave_replicas_where_they_are(cluster: EngineCluster) -> None:
    await cluster.register_all("abc")
    segment = await cluster.create_shard()
    await decommission(cluster, "a")
    before = len(cluster.node.proposals)

    await cluster.place_replicas()

    assert cluster.segment() == segment
    assert len(cluster.node.proposals) == before


async def test_the_last_leader_hands_over_to_a_live_in_sync_replica(
    cluster: EngineCluster,
) -> None:
    await cluster.register_all("abcd")
    segment = await cluster.create_shard()
    await decommission(cluster, segment.leader)
    await until_moved(cluster, segment.leader)

    after = cluster.segment()

    assert after.leader in after.isr
    assert after.leader_broker_epoch == cluster.broker_epoch(after.leader)
    assert after.leader_epoch == segment.leader_epoch + 1


async def test_a_decommissioned_engine_takes_nothing_on_until_it_is_recommissioned(
    cluster: EngineCluster,
) -> None:
    await cluster.register_all("ab")
    await decommission(cluster, "a")

    first = await cluster.create_shard("first", replicas=1)
    reply = await cluster.node.propose(RecommissionEngines(engines=["a"]), BatchReply)
    second = await cluster.create_shard("second", replicas=1)

    assert Engine.FromString(reply.replies[0]) == Engine(name="a")
    assert [first.leader, second.leader] == ["b", "a"]


async def test_unknown_engines_are_refused_by_name(cluster: EngineCluster) -> None:
    await cluster.register("a")

    out = await cluster.node.propose(DecommissionEngines(engines=["x", "a"]), BatchReply)
    back = await cluster.node.propose(RecommissionEngines(engines=["x", "a"]), BatchReply)

    for reply in (out, back):
        assert [(each.item, each.code) for each in reply.refusals] == [(0, "ENGINE_NOT_FOUND")]


async def test_an_engine_that_has_a_replica_to_drop_does_not_get_it_back(
    cluster: EngineCluster,
) -> None:
    await cluster.register_all("abcd")
    segment = await cluster.create_shard()
    out = segment.replicas[2]
    await decommission(cluster, out)
    await until_moved(cluster, out)
    await cluster.node.propose(RecommissionEngines(engines=[out]), BatchReply)
    other = segment.replicas[1]
    await decommission(cluster, other)

    await cluster.place_replicas()
    assert out not in cluster.segment().replicas

    await cluster.acknowledge(out)
    await until_moved(cluster, other)
    assert out in cluster.segment().replicas


async def test_replicas_that_lack_are_added_when_engines_come(cluster: EngineCluster) -> None:
    await cluster.register_all("a")
    config = ShardConfig(
        replicas=3,
        min_in_sync_replicas=1,
        storage=STORAGE_TYPE_SEGMENT,
        allow_fewer_replicas=True,
    )
    await cluster.node.propose(CreateShard(name="s", config=config), ShardState)
    await cluster.place_replicas()
    assert list(cluster.segment().replicas) == ["a"]

    await cluster.register_all("bcd")
    await cluster.place_replicas()

    segment = cluster.segment()
    assert segment.replicas[0] == segment.leader == "a"
    assert len(set(segment.replicas)) == 3
    assert list(segment.isr) == ["a"]
    assert segment.segment_epoch == 2


@pytest.mark.parametrize("leaving", ["ab", "abc"])
async def test_several_engines_leave_at_once(cluster: EngineCluster, leaving: str) -> None:
    await cluster.register_all("abcdefg")
    await shards(cluster)
    await decommission(cluster, *leaving)

    for engine in leaving:
        await until_moved(cluster, engine)

    for segment in cluster.segments():
        assert len(segment.replicas) == 3
        assert not set(segment.replicas) & set(leaving)
