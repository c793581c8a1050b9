"""Routes while nodes die one after the other, and after all of them have been down."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any, Final

import grpc
import pytest
from quorate.client import AsyncClient, UnavailableError, connect
from quorate.plugin.advanced import Stub
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster, NodeProcess
from quorate.testing.waiting import PATIENCE_S
from quorate_name_server.client import AVAILABLE, CONSISTENT, NameServer
from quorate_name_server.families import GROUP
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows, service_pb2 as answers

from tests.support.proxied_cluster import ProxiedCluster

pytestmark = pytest.mark.ci

SETTINGS: Final[Mapping[str, Mapping[str, object]]] = {
    "timing": QUICK_ELECTIONS,
    "plugins": {"name_server": {"register_timeout_s": 2.0}},
}
DEATHS: Final = 5
SERVICE: Final = "/quorate_name_server.v1.NameService"


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
            last.start()
            # No broker has registered since: one node alone answers from its disk.
            async with asking(last) as alone_again:
                await until_known(alone_again, {"broker-a", "broker-b"})
            leader.start()
            second.start()
            await until_routed(names, {"broker-a", "broker-b"})
            found = await names.routes(["bills"], mode=AVAILABLE)
            assert list(found.state.unconfirmed) == []


async def test_a_minority_and_a_majority_are_one_again_after_they_were_two(tmp_path: Path) -> None:
    with ProxiedCluster(tmp_path, plugins=["name_server"], settings=SETTINGS) as cluster:
        cluster.ready()
        async with asyncio.timeout(3 * PATIENCE_S), AsyncExitStack() as stack:
            # A client would find its way around the partition.
            at = {
                name: await stack.enter_async_context(asking(node))
                for name, node in cluster.nodes.items()
            }
            assert not (await register(at["node1"], "broker-a")).unconfirmed
            for names in at.values():
                await until_known(names, {"broker-a"})
            leader = (await asyncio.to_thread(cluster.leader, f"{GROUP}/0")).name
            minority = next(name for name in cluster.nodes if name != leader)
            cluster.partition(minority)

            assert (await register(at[minority], "broker-b")).unconfirmed
            leaving = pb.Unregistration(name="broker-a", address="broker-a:10911")
            await at[leader].Unregister(pb.UnregisterBrokers(brokers=[leaving]))
            await register(at[leader], "broker-c")
            await until_known(at[leader], {"broker-c"})
            # Nobody has told it that the other one is gone.
            await until_known(at[minority], {"broker-a", "broker-b"}, unconfirmed=["broker-b"])

            cluster.heal()
            for names in at.values():
                await until_known(names, {"broker-b", "broker-c"})


@asynccontextmanager
async def asking(node: NodeProcess) -> AsyncIterator[Any]:
    """Ask one node and no other."""
    async with grpc.aio.insecure_channel(node.address) as channel:
        yield Stub(channel, answers.DESCRIPTOR.services_by_name["NameService"])


async def register(names: Any, name: str) -> pb.Registered:
    """Register a broker at one node."""
    reply = await names.Register(pb.RegisterBrokers(brokers=[said(name)]))
    return pb.Registered.FromString(reply.replies[0])


async def until_known(names: Any, brokers: set[str], *, unconfirmed: Sequence[str] = ()) -> None:
    """Wait until a node answers with these brokers of a topic."""
    request = answers.GetRoutesRequest(topics=["orders"], mode=AVAILABLE)
    while True:
        # One that starts lets nobody in for a moment.
        with suppress(grpc.aio.AioRpcError):
            found = await names.GetRoutes(request, wait_for_ready=True)
            known = {broker.name for route in found.routes for broker in route.brokers}
            if known == brokers and list(found.state.unconfirmed) == list(unconfirmed):
                return
        await asyncio.sleep(0.02)


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
    print(f"a watcher heard of a death after {median(took):.3f} s (median of {DEATHS})")


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
        f"{SERVICE}/GetRoutes",
        request,
        answers.Routes,
        read=True,
        timeout_s=timeout_s,
    )
