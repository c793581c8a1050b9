"""An engine dies and its leaderships move; shards are deleted to the end, whoever dies then."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final

import pytest
from quorate.client import AsyncClient, connect
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster
from quorate.testing.waiting import PATIENCE_S
from quorate.v1.cluster_pb2 import Broker
from quorate_storage_engine.client import Engines
from quorate_storage_engine.v1.commands_pb2 import CreateShard
from quorate_storage_engine.v1.rows_pb2 import Drop, Segment, ShardConfig
from quorate_storage_engine.v1.service_pb2 import (
    ListDropsRequest,
    ListSegmentsRequest,
    ListShardsRequest,
)

SETTINGS: Final[Mapping[str, Mapping[str, object]]] = {
    "timing": QUICK_ELECTIONS,
    "plugins": {"storage_engine": {"collection_interval_s": 0.2}},
}
SURVIVORS: Final = ("a", "b", "c")
SHARDS: Final = 20
#: Of the engine that dies, and of those that are not to.
SHORT_MS: Final = 4_000
LONG_MS: Final = 3_600_000
CONFIG: Final = ShardConfig(replicas=3, min_in_sync_replicas=2, storage="STORAGE_TYPE_SEGMENT")


@pytest.mark.parametrize(
    "dies",
    [
        pytest.param("the leader", marks=pytest.mark.ci),
        pytest.param("the whole cluster", marks=pytest.mark.full),
    ],
)
async def test_shards_outlive_an_engine_and_are_deleted_to_the_end(
    tmp_path: Path, dies: str
) -> None:
    with Cluster(tmp_path, plugins=["storage_engine"], settings=SETTINGS) as cluster:
        cluster.ready()
        # What the death of a leader leaves open is repeated until it is answered.
        async with asyncio.timeout(3 * PATIENCE_S), connected(cluster) as q:
            engines = Engines(q)
            before = await founded(q)
            led = {name for name, segment in before.items() if segment.leader == "mortal"}
            assert led

            after = await when(engines, lambda rows: all(row.leader in SURVIVORS for row in rows))

            for name, segment in after.items():
                moved = name in led
                assert segment.leader_epoch == (2 if moved else 1)
                assert segment.leader in before[name].isr
                assert ("mortal" in segment.isr) == ("mortal" in before[name].isr and not moved)

            await engines.delete_shards(before)
            if dies == "the leader":
                (await asyncio.to_thread(cluster.leader)).kill()
            else:
                for node in cluster.nodes.values():
                    node.kill()
                for node in cluster.nodes.values():
                    node.start()
            # An engine that fails ends the wait: nobody else drops what it holds.
            async with asyncio.TaskGroup() as group:
                dropping = [group.create_task(drop(q, name)) for name in SURVIVORS]
                await until(lambda: none_left(engines))
                for task in dropping:
                    task.cancel()

            # It would be asked to drop what it holds if it came back, and nobody waits for it.
            assert {drop.engine for drop in await drops(engines)} == {"mortal"}
            await engines.decommission(["mortal"])
            await until(lambda: nothing_to_drop(engines))


def connected(cluster: Cluster) -> AsyncClient:
    return connect(cluster.endpoints, exactly_once=True, timeout_s=PATIENCE_S)


async def founded(q: AsyncClient) -> dict[str, Segment]:
    """Register engines, create shards on them, let one engine fall silent; return the segments."""
    for name in SURVIVORS:
        await q.brokers.register(name, "store", roles=["engine"], ttl_ms=LONG_MS)
    mortal = await q.brokers.register("mortal", "store", roles=["engine"], ttl_ms=SHORT_MS)
    beating = asyncio.create_task(beat(q, mortal))
    names = [f"shard-{number:02}" for number in range(SHARDS)]
    reply = await Engines(q).create_shards(CreateShard(name=name, config=CONFIG) for name in names)
    assert not reply.refusals
    found = await segments(Engines(q))
    beating.cancel()
    await asyncio.gather(beating, return_exceptions=True)
    return found


async def beat(q: AsyncClient, broker: Broker) -> None:
    """Keep an engine registered until cancelled."""
    while True:
        await q.brokers.heartbeat(broker.name, broker.epoch)
        await asyncio.sleep(SHORT_MS / 20_000)


async def drop(q: AsyncClient, name: str) -> None:
    """Drop whatever an engine is asked to, until cancelled."""
    broker = await q.brokers.get(name)
    assert broker is not None
    async for asked in Engines(q).asked_drops(name):
        reply = await Engines(q).acknowledge_drops(name, broker.epoch, [asked])
        assert not reply.refusals


async def segments(engines: Engines) -> dict[str, Segment]:
    """Return the one segment of each shard by the shard's name."""
    return {each.shard: each async for each in engines.segments(ListSegmentsRequest())}


async def when(engines: Engines, fits: Callable[[list[Segment]], bool]) -> dict[str, Segment]:
    """Wait until the segments fit, and return them."""
    while not fits(list((found := await segments(engines)).values())):
        await asyncio.sleep(0.02)
    return found


async def until(done: Callable[[], Awaitable[bool]]) -> None:
    """Ask until the answer is yes."""
    while not await done():
        await asyncio.sleep(0.02)


async def none_left(engines: Engines) -> bool:
    """Whether all shards and segments are gone."""
    shards = [each async for each in engines.shards(ListShardsRequest())]
    return not shards and not await segments(engines)


async def drops(engines: Engines) -> list[Drop]:
    """Return what engines are asked to drop."""
    return [each async for each in engines.drops(ListDropsRequest())]


async def nothing_to_drop(engines: Engines) -> bool:
    """Whether nobody is asked for anything."""
    return not await drops(engines)
