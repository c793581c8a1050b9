from typing import Any

import pytest
from quorate.plugin import Invalid, Rejected
from quorate_storage_engine.v1.commands_pb2 import (
    CreateNextSegment,
    CreateShard,
    CreateShards,
    DeleteShard,
    DeleteShards,
)
from quorate_storage_engine.v1.queries_pb2 import SegmentId
from quorate_storage_engine.v1.rows_pb2 import STORAGE_TYPE_MEMORY, Drop, Shard, ShardConfig
from quorate_storage_engine.v1.service_pb2 import (
    BalanceLeadersRequest,
    GetSegmentsRequest,
    GetShardRequest,
    ListDropsRequest,
    ListEnginesRequest,
    ListSegmentsRequest,
    ListShardsRequest,
)

from tests.support.storage_engine.fleet import EngineCluster

CONFIG = ShardConfig(replicas=2, min_in_sync_replicas=1, storage=STORAGE_TYPE_MEMORY)


@pytest.fixture
def service(cluster: EngineCluster) -> Any:
    return cluster.node.servicer("quorate_storage_engine.v1.EngineService")


async def filled(cluster: EngineCluster, service: Any) -> list[str]:
    """Have five shards on four engines, and return their names."""
    await cluster.register_all("abcd")
    names = [f"s-{number}" for number in range(5)]
    shards = [
        CreateShard(name=name, tenant="acme", topic=f"t-{name[-1]}", config=CONFIG)
        for name in names
    ]
    await service.CreateShards(CreateShards(shards=shards), None)
    return names


async def test_a_shard_is_read_with_its_active_segment(
    cluster: EngineCluster, service: Any
) -> None:
    await filled(cluster, service)
    claim = cluster.claim(cluster.segment("s-1"))
    command = CreateNextSegment(shard="s-1", current_segment=0, end_offset=9, claim=claim)
    created = await service.CreateNextSegment(command, None)

    read = await service.GetShard(GetShardRequest(name="s-1"), None)

    assert read == created
    assert read.segment.number == 1
    with pytest.raises(Rejected, match="SHARD_NOT_FOUND"):
        await service.GetShard(GetShardRequest(name="none"), None)


@pytest.mark.parametrize("size", [1, 2, 4, 5, 100_000])
async def test_pages_hold_everything_once_and_in_order(
    cluster: EngineCluster, service: Any, size: int
) -> None:
    names = await filled(cluster, service)
    shards, segments, engines = [], [], []
    request = ListShardsRequest(page_size=size)
    while True:
        page = await service.ListShards(request, None)
        shards += [shard.name for shard in page.shards]
        request.page_token = page.next_page_token
        if not request.page_token:
            break
    of_segments = ListSegmentsRequest(page_size=size)
    while True:
        found = await service.ListSegments(of_segments, None)
        segments += [segment.shard for segment in found.segments]
        if not found.HasField("next_page_token"):
            break
        of_segments.page_token.CopyFrom(found.next_page_token)
    of_engines = ListEnginesRequest(page_size=size)
    while True:
        listed = await service.ListEngines(of_engines, None)
        engines += [(each.engine.name, each.broker_epoch) for each in listed.engines]
        of_engines.page_token = listed.next_page_token
        if not of_engines.page_token:
            break

    assert shards == segments == names
    assert engines == [("a", 1), ("b", 2), ("c", 3), ("d", 4)]


async def test_lists_are_filtered(cluster: EngineCluster, service: Any) -> None:
    await filled(cluster, service)
    first = cluster.segment("s-0")
    await cluster.set_isr(first, [first.leader])

    by_topic = await service.ListShards(ListShardsRequest(tenant="acme", topic="t-3"), None)
    by_prefix = await service.ListShards(ListShardsRequest(name_prefix="s-"), None)
    of_nobody = await service.ListShards(ListShardsRequest(tenant="other"), None)
    by_engine = await service.ListSegments(ListSegmentsRequest(engine="a"), None)
    thin = await service.ListSegments(ListSegmentsRequest(under_replicated=True), None)
    of_shard = await service.ListSegments(ListSegmentsRequest(shard="s-4"), None)

    assert [shard.name for shard in by_topic.shards] == ["s-3"]
    assert len(by_prefix.shards) == 5
    assert not of_nobody.shards
    held = [each.shard for each in cluster.segments() if "a" in each.replicas]
    assert [segment.shard for segment in by_engine.segments] == held
    assert [segment.shard for segment in thin.segments] == ["s-0"]
    assert [segment.shard for segment in of_shard.segments] == ["s-4"]


async def test_unavailable_segments_are_found(cluster: EngineCluster, service: Any) -> None:
    await filled(cluster, service)
    for engine in "abcd":
        await cluster.unregister(engine)
    await cluster.hold_elections()

    found = await service.ListSegments(ListSegmentsRequest(unavailable=True), None)

    assert [segment.shard for segment in found.segments] == [f"s-{number}" for number in range(5)]


async def test_named_segments_come_in_the_order_of_the_request(
    cluster: EngineCluster, service: Any
) -> None:
    await filled(cluster, service)
    wanted = [SegmentId(shard=name) for name in ("s-3", "none", "s-0")]

    found = await service.GetSegments(GetSegmentsRequest(segments=wanted), None)

    assert [segment.shard for segment in found.segments] == ["s-3", "s-0"]
    with pytest.raises(Invalid):
        await service.GetSegments(GetSegmentsRequest(segments=[SegmentId()]), None)


async def test_a_dry_run_moves_nobody(cluster: EngineCluster, service: Any) -> None:
    await filled(cluster, service)
    led = [each for each in cluster.segments() if each.leader == "a"]
    await cluster.register("a")
    await cluster.hold_elections()
    for segment in cluster.segments():
        await cluster.set_isr(segment, segment.replicas)
    before = cluster.node.digest()

    planned = await service.BalanceLeaders(BalanceLeadersRequest(dry_run=True), None)
    assert cluster.node.digest() == before
    done = await service.BalanceLeaders(BalanceLeadersRequest(), None)

    assert led
    assert [move.preferred for move in planned.moves] == ["a"] * len(led)
    assert done == planned
    assert cluster.engines()["a"].leaderships == len(led)
    assert not (await service.BalanceLeaders(BalanceLeadersRequest(), None)).moves


async def test_drops_are_listed_by_engine_and_page(cluster: EngineCluster, service: Any) -> None:
    names = await filled(cluster, service)
    deletions = [DeleteShard(name=name) for name in names]
    reply = await service.DeleteShards(DeleteShards(shards=deletions), None)
    assert [Shard.FromString(each).name for each in reply.replies] == names
    await cluster.collect_garbage()

    drops: list[Drop] = []
    request = ListDropsRequest(page_size=3)
    while True:
        page = await service.ListDrops(request, None)
        drops += page.drops
        if not page.HasField("next_page_token"):
            break
        request.page_token.CopyFrom(page.next_page_token)
    of_a = await service.ListDrops(ListDropsRequest(engine="a"), None)
    old = await service.ListDrops(ListDropsRequest(older_than_ms=1), None)

    assert drops == cluster.drops()
    assert list(of_a.drops) == [drop for drop in drops if drop.engine == "a"]
    assert not old.drops
