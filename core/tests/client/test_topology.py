"""How a client comes to know where the shards are: it asks, and is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

import pytest
from quorate.client import AsyncClient, OtherClusterError, topology
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import WrongShardError
from quorate.v1.admin_pb2 import TopologyResponse
from quorate.v1.kv_pb2 import PutPairReply

if TYPE_CHECKING:
    from core.tests.client.conftest import FakeCluster


@pytest.fixture
async def telling(fake_cluster: type[FakeCluster]) -> AsyncIterator[FakeCluster]:
    """A cluster whose nodes tell of changes."""
    cluster = fake_cluster()
    cluster.tells = True
    for node in cluster.nodes.values():
        await node.start()
    yield cluster
    for node in cluster.nodes.values():
        await node.stop()


@pytest.fixture
async def q(telling: FakeCluster, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[AsyncClient]:
    monkeypatch.setattr(topology, "_FRESH_S", 0.05)
    monkeypatch.setattr(topology, "_AGAIN_S", 0.01)
    async with telling.client() as q:
        yield q


async def eventually(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.005)


def followed(cluster: FakeCluster) -> int:
    return sum(node.followed for node in cluster.nodes.values())


async def following(cluster: FakeCluster, q: AsyncClient) -> None:
    """Call until the client is told of changes."""
    async with asyncio.timeout(10):
        while not q._topology._follows:
            await q.kv.get(cluster.first)
            await asyncio.sleep(0.01)


async def test_a_client_that_goes_on_is_told_of_changes_and_asks_no_more(
    telling: FakeCluster, q: AsyncClient
) -> None:
    await following(telling, q)
    assert followed(telling) == 1
    telling.leaders[0], telling.term = "n3", 6
    changed = TopologyResponse(cluster_id=b"fake", nodes=telling.told().nodes, changes_only=True)
    changed.shards.append(telling.told().shards[0])
    telling.news.put_nowait(changed)
    await eventually(lambda: q._topology._places[ShardId("metadata", 0)].leader == "n3")
    # The others are as they were.
    assert len(q._topology._places) == len(telling.leaders)
    # The first call to a node asks it for its cluster, too.
    await q.kv.get(telling.first)
    asked, calls = telling.topologies, len(telling.nodes["n3"].asked)
    for _ in range(10):
        await q.kv.get(telling.first)
        await asyncio.sleep(0.01)
    assert len(telling.nodes["n3"].asked) == calls + 10
    assert telling.topologies == asked


async def test_a_shard_that_is_gone_comes_with_the_whole(
    telling: FakeCluster, q: AsyncClient
) -> None:
    await following(telling, q)
    telling.leaders.pop()
    telling.news.put_nowait(telling.told())
    await eventually(lambda: len(q._topology._places) == len(telling.leaders))


async def test_when_a_node_tells_no_more_another_one_does(
    telling: FakeCluster, q: AsyncClient
) -> None:
    await following(telling, q)
    telling.news.put_nowait(None)
    await eventually(lambda: not q._topology._follows)
    asked = telling.topologies
    await following(telling, q)
    assert followed(telling) == 2
    assert telling.topologies > asked


async def test_a_client_without_calls_is_told_of_nothing(
    telling: FakeCluster, q: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(topology, "_IDLE_S", 0.1)
    await following(telling, q)
    await eventually(lambda: q._topology._following is None)
    await following(telling, q)


async def test_what_a_node_that_lags_says_of_slots_does_not_replace_what_is_newer(
    telling: FakeCluster, q: AsyncClient
) -> None:
    newer = telling.told()
    first, second = newer.shards[:2]
    first.slots, second.slots = second.slots, first.slots
    first.version = second.version = 2
    telling.nodes["n1"].told = telling.nodes["n2"].told = telling.nodes["n3"].told = newer
    await q.topology()
    for node in telling.nodes.values():
        node.told = None
    await q.topology()
    assert q._topology._places[ShardId("metadata", 0)].version == 2
    [owner] = {place.shard for place in [q._topology.owners("metadata")[0]] if place}  # type: ignore[index]
    assert owner == ShardId("metadata", 1)


async def test_a_slot_that_has_moved_costs_one_retry(telling: FakeCluster, q: AsyncClient) -> None:
    await q.topology()
    moved = telling.told()
    first, second = moved.shards[:2]
    first.slots, second.slots = second.slots, first.slots
    first.version = second.version = 2
    answered: list[str] = []

    for name, node in telling.nodes.items():
        node.told = moved

        def answer(_: object, name: str = name) -> object:
            answered.append(name)
            if name == telling.leaders[0]:
                return telling.failing(WrongShardError(ShardId("metadata", 0), "it has moved"))
            return telling.reply(PutPairReply(revision=7))

        node.answer = answer  # type: ignore[assignment]
    await q.kv.put(telling.first, b"x")
    assert answered == [telling.leaders[0], telling.leaders[1]]


async def refounded(cluster: FakeCluster, *names: str) -> None:
    """Let nodes begin anew as those of another cluster."""
    for name in names:
        node = cluster.nodes[name]
        await node.stop()
        told = cluster.told()
        told.cluster_id = b"other"
        node.told = told
        await node.start()


async def test_a_client_sends_nothing_to_another_cluster_than_it_met_first(
    cluster: FakeCluster,
) -> None:
    async with cluster.client() as q:
        await q.kv.put(cluster.first, b"x")
        await refounded(cluster, *cluster.nodes)
        executed = len(cluster.nodes["n1"].executed)
        with pytest.raises(OtherClusterError, match="make another client"):
            await q.kv.put(cluster.first, b"x", timeout_s=1.5)
        with pytest.raises(OtherClusterError, match="make another client"):
            await q.kv.get(cluster.first, timeout_s=1.5)
        with pytest.raises(OtherClusterError, match="make another client"):
            await q.topology(timeout_s=1.5)
    assert len(cluster.nodes["n1"].executed) == executed
    async with cluster.client() as q:
        await q.kv.put(cluster.first, b"x")


async def test_a_client_asks_the_nodes_of_its_cluster_that_are_left(cluster: FakeCluster) -> None:
    async with cluster.client() as q:
        await q.kv.put(cluster.first, b"x")
        # n1 led, and is in the place of a node now that n3 follows.
        cluster.leaders[0], cluster.term = "n3", 2
        await refounded(cluster, "n1")
        executed = len(cluster.nodes["n1"].executed)
        for _ in range(10):
            await q.kv.put(cluster.first, b"x")
    assert len(cluster.nodes["n1"].executed) == executed
    assert cluster.nodes["n3"].executed
