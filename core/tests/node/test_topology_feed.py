"""Where shards are, told to those who follow."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

import grpc.aio
import pytest
from quorate.node import topology_feed
from quorate.node.node import FINISH_S
from quorate.node.topology_feed import TopologyFeed
from quorate.plugin.advanced import Stub
from quorate.plugin.shard_id import ShardId
from quorate.v1 import admin_pb2 as pb

if TYPE_CHECKING:
    from core.tests.node.conftest import Nodes


class Cluster:
    """What a node knows, and how often it was asked."""

    def __init__(self) -> None:
        self.topology = pb.TopologyResponse(cluster_id=b"c")
        for number in range(3):
            self.topology.shards.add(group="g", number=number, leader="n1", term=1)
        self.reads = 0
        self.fails = False

    def read(self) -> pb.TopologyResponse:
        self.reads += 1
        if self.fails:
            raise RuntimeError("it does not belong to the cluster")
        found = pb.TopologyResponse()
        found.CopyFrom(self.topology)
        return found

    def key(self) -> object:
        return self.topology.SerializeToString(), self.fails


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(topology_feed, "LOOK_S", 0.001)


async def following(feed: TopologyFeed) -> AsyncIterator[pb.TopologyResponse]:
    async with asyncio.timeout(10):
        async for each in feed.follow():
            yield each


def shards(told: pb.TopologyResponse) -> list[tuple[int, str]]:
    return [(each.number, each.leader) for each in told.shards]


async def test_the_whole_comes_first_and_then_what_changes() -> None:
    cluster = Cluster()
    feed = TopologyFeed(cluster.read, cluster.key, asyncio.get_running_loop())
    one, other = following(feed), following(feed)
    for each in (one, other):
        told = await anext(each)
        assert (shards(told), told.changes_only) == ([(0, "n1"), (1, "n1"), (2, "n1")], False)
    cluster.topology.shards[1].leader = "n2"
    for each in (one, other):
        told = await anext(each)
        assert (shards(told), told.changes_only) == ([(1, "n2")], True)
    # One look for both, and one read of it.
    assert cluster.reads == 2
    # A shard that is gone cannot be said in changes.
    del cluster.topology.shards[2]
    told = await anext(one)
    assert (shards(told), told.changes_only) == ([(0, "n1"), (1, "n2")], False)
    await feed.stop()


async def test_one_that_is_slow_gets_all_that_changed_meanwhile() -> None:
    cluster = Cluster()
    feed = TopologyFeed(cluster.read, cluster.key, asyncio.get_running_loop())
    slow, fast = following(feed), following(feed)
    await anext(slow)
    await anext(fast)
    for number in (0, 2):
        cluster.topology.shards[number].leader = "n2"
        assert shards(await anext(fast)) == [(number, "n2")]
    assert shards(await anext(slow)) == [(0, "n2"), (2, "n2")]
    await feed.stop()


async def test_what_reading_raises_ends_those_who_follow_and_the_next_begin_anew() -> None:
    cluster = Cluster()
    feed = TopologyFeed(cluster.read, cluster.key, asyncio.get_running_loop())
    one = following(feed)
    await anext(one)
    cluster.fails = True
    with pytest.raises(RuntimeError, match="does not belong"):
        await anext(one)
    with pytest.raises(RuntimeError, match="does not belong"):
        await anext(following(feed))
    cluster.fails = False
    assert len(shards(await anext(following(feed)))) == 3
    await feed.stop()


async def test_without_followers_nobody_looks() -> None:
    cluster = Cluster()
    feed = TopologyFeed(cluster.read, cluster.key, asyncio.get_running_loop())
    followed = feed.follow()
    await anext(followed)
    await followed.aclose()
    looking = feed._looking
    assert looking is not None
    async with asyncio.timeout(10):
        await looking


@pytest.mark.ci
async def test_a_node_tells_of_new_leaders_and_ends_at_once(nodes: Nodes) -> None:
    async with nodes.started(*nodes.files(3)) as started, asyncio.timeout(60):
        toy = ShardId("toy", 0)
        loop = asyncio.get_running_loop()
        leader = next(each for each in started if (held := each.shards.get(toy)) and held.leads)
        async with grpc.aio.insecure_channel(leader._settings.node.address) as channel:
            admin = Stub(channel, pb.DESCRIPTOR.services_by_name["AdminService"])
            told = admin.WatchTopology(pb.TopologyRequest())
            first = await told.read()
            assert {each.group for each in first.shards} == {"metadata", "toy"}
            heir = next(each.me.node for each in started if each is not leader)
            await admin.TransferLeader(
                pb.TransferLeaderRequest(shard=str(toy), node=heir), timeout=20
            )
            while True:
                news = await told.read()
                assert news.changes_only
                if any(
                    (each.group, each.number, each.leader) == ("toy", 0, heir)
                    for each in news.shards
                ):
                    break
            # An open stream keeps no node from its end.
            began = loop.time()
            await nodes.end(leader)
            assert loop.time() - began < FINISH_S
