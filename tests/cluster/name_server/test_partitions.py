"""Routes while nodes die one after the other, and after all of them have been down."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from statistics import median
from typing import Final

import pytest
from quorate.client import AsyncClient, UnavailableError, connect
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import PATIENCE_S
from quorate_name_server.client import AVAILABLE, CONSISTENT, NameServer
from quorate_name_server.families import GROUP
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows, service_pb2 as answers

pytestmark = pytest.mark.ci

SETTINGS: Final[Mapping[str, Mapping[str, object]]] = {
    "timing": {"heartbeat_ms": 50, "election_min_ms": 200, "election_max_ms": 400},
    "plugins": {"name_server": {"register_timeout_s": 2.0}},
}
DEATHS: Final = 5


def said(name: str) -> pb.Registration:
    queues = rows.Queues(read_queues=8, write_queues=8, perm=6)
    return pb.Registration(
        cluster="C1",
        name=name,
        address=f"{name}:10911",
        data_version=rows.DataVersion(counter=1),
        topics=[pb.TopicQueues(topic=topic, queues=queues) for topic in ("orders", "bills")],
    )


async def test_routes_outlive_nodes_and_brokers_that_nobody_confirmed(tmp_path: Path) -> None:
    with Cluster(tmp_path, plugins=["name_server"], settings=SETTINGS) as cluster:
        cluster.ready()
        async with asyncio.timeout(3 * PATIENCE_S), connected(cluster.endpoints) as q:
            names = NameServer(q)
            await names.register(said("broker-a"))
            await pushed(names, cluster)

            leader = await asyncio.to_thread(cluster.leader, f"{GROUP}/0")
            leader.kill()
            await until_routed(names, {"broker-a"})

            second, last = (node for node in cluster.nodes.values() if node is not leader)
            second.kill()
            async with connected(last.address) as alone:
                await answered_alone(NameServer(alone))
                second.start()
                await until_routed(NameServer(alone), {"broker-a", "broker-b"})

            last.kill()
            second.kill()
            for node in cluster.nodes.values():
                node.start()
            # No broker has registered since.
            await until_routed(names, {"broker-a", "broker-b"})
            found = await names.routes(["bills"], mode=AVAILABLE)
            assert list(found.state.unconfirmed) == []


def connected(endpoints: str) -> AsyncClient:
    return connect(endpoints, timeout_s=PATIENCE_S)


async def pushed(names: NameServer, cluster: Cluster) -> None:
    """Check how soon one who watches a topic hears of a broker's death that is known."""
    took = []
    async with connected(cluster.followers(f"{GROUP}/0")[0].address) as q:
        watched = NameServer(q).watch_routes(["orders"])
        await wait_for(watched, {"broker-a"})
        for _ in range(DEATHS):
            await names.register(said("mortal"))
            await wait_for(watched, {"broker-a", "mortal"})
            assert await names.unregister("mortal", "mortal:10911")
            began = time.monotonic()
            await wait_for(watched, {"broker-a"})
            took.append(time.monotonic() - began)
        await watched.aclose()
    assert median(took) < 1.0, took


async def wait_for(watched: AsyncIterator[answers.Route], brokers: set[str]) -> None:
    async for route in watched:
        if {each.name for each in route.brokers} == brokers:
            return


async def until_routed(names: NameServer, brokers: set[str]) -> None:
    """Wait until a majority has these brokers, and no others, under a topic."""
    while True:
        route = await names.route("orders", mode=CONSISTENT)
        if route is not None and {each.name for each in route.brokers} == brokers:
            return
        await asyncio.sleep(0.02)


async def answered_alone(names: NameServer) -> None:
    """Check what a node says that has no majority."""
    with pytest.raises(UnavailableError):
        await asked(names, CONSISTENT, 3.0)
    found = await names.routes(["orders"], mode=AVAILABLE)
    assert [each.name for each in found.routes[0].brokers] == ["broker-a"]
    assert found.state.mode == AVAILABLE
    first = found.state.age_ms
    assert first > 0

    registered = await names.register(said("broker-b"))
    assert registered.unconfirmed
    found = await names.routes(["orders"], mode=AVAILABLE)
    assert [each.name for each in found.routes[0].brokers] == ["broker-a", "broker-b"]
    assert list(found.state.unconfirmed) == ["broker-b"]
    assert found.state.age_ms > first


async def asked(names: NameServer, mode: answers.ReadMode, timeout_s: float) -> answers.Routes:
    request = answers.GetRoutesRequest(topics=["orders"], mode=mode)
    return await names._q.call(
        "/quorate_name_server.v1.NameService/GetRoutes",
        request,
        answers.Routes,
        read=True,
        timeout_s=timeout_s,
    )
