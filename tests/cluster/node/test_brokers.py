"""Brokers that could not renew are not held to be gone."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest
from google.protobuf.empty_pb2 import Empty
from quorate.client import AsyncClient, QuorateError, RejectedError, connect
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster, NodeProcess
from quorate.testing.waiting import PATIENCE_S
from quorate.v1.cluster_pb2 import (
    Broker,
    ListBrokersRequest,
    ListBrokersResponse,
    RegisterBroker,
    SendHeartbeat,
)

TTL_S = 2.0
BROKERS = 10


@pytest.mark.full
@pytest.mark.parametrize("asleep", ["the leader", "everybody"])
async def test_brokers_outlast_a_sleep_of_three_times_their_ttl(
    tmp_path: Path, asleep: str
) -> None:
    with Cluster(tmp_path, settings={"timing": QUICK_ELECTIONS}) as cluster:
        nodes = list(cluster.ready().nodes.values())
        sleepers = nodes if asleep == "everybody" else [cluster.leader()]
        async with connect(cluster.endpoints) as client:
            brokers = [await register(client, f"broker-{number}") for number in range(BROKERS)]
            await register(client, "silent")
            awake = asyncio.Event()
            awake.set()
            beating = [asyncio.create_task(beat(client, broker, awake)) for broker in brokers]
            if asleep == "everybody":
                awake.clear()
            await sleep(sleepers)
            # As after any heartbeat, each has a whole time to live for the next one.
            await asyncio.sleep(TTL_S / 2)
            awake.set()
            # The one that never renews shows that somebody judges.
            async with asyncio.timeout(PATIENCE_S):
                while "silent" in (found := await listed(client)):
                    await asyncio.sleep(TTL_S / 10)
            for task in beating:
                task.cancel()
            ended = await asyncio.gather(*beating, return_exceptions=True)
    assert found == [broker.name for broker in brokers]
    assert [type(each) for each in ended] == [asyncio.CancelledError] * BROKERS, ended


async def sleep(nodes: Sequence[NodeProcess]) -> None:
    for node in nodes:
        node.pause()
    # This time is what the test is about: while nobody leads, no broker can renew.
    await asyncio.sleep(3 * TTL_S)
    for node in nodes:
        node.resume()


async def register(client: AsyncClient, name: str) -> Broker:
    request = RegisterBroker(
        name=name, cluster_name="test", roles=["mqtt"], ttl_ms=int(TTL_S * 1_000)
    )
    return await client.execute(request, Broker)


async def listed(client: AsyncClient) -> list[str]:
    method = "/quorate.v1.ClusterService/List"
    request = ListBrokersRequest()
    found = await client.call(method, request, ListBrokersResponse, read=True)
    return [broker.name for broker in found.brokers]


async def beat(client: AsyncClient, broker: Broker, awake: asyncio.Event) -> None:
    """Send heartbeats while somebody hears them; a refusal ends it: the broker was given up."""
    heartbeat = SendHeartbeat(name=broker.name, epoch=broker.epoch)
    while True:
        await awake.wait()
        try:
            await client.execute(heartbeat, Empty, timeout_s=TTL_S / 3)
        except RejectedError:
            raise
        except QuorateError:
            continue
        await asyncio.sleep(TTL_S / 3)
