"""Shards that lie on some of the nodes: a cluster grows and shrinks under its clients."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import grpc
import pytest
from quorate.cli.failures import ExitCode
from quorate.client import AsyncClient, connect
from quorate.plugin.advanced import Stub
from quorate.shards.snapshots.backup import read
from quorate.shards.snapshots.parts import BackupTarget
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster
from quorate.testing.cluster.cluster import Settings
from quorate.testing.waiting import PATIENCE_S, until
from quorate.v1 import admin_pb2 as pb, kv_pb2, watch_pb2

from tests.support.linearizability import check
from tests.support.linearizability.load import Load, Plan
from tests.support.reach import Reach
from tests.support.traffic import KEYS, traffic

ADMIN = "/quorate.v1.AdminService"
KV = "/quorate.v1.KvService"
WATCH = "/quorate.v1.WatchService/Watch"
#: Of the larger test, by as many writers at a time as answers may be late.
MANY_A_SECOND = 300
WRITERS = 60
#: More than there is time for.
OPERATIONS = 1_000_000


def settings(shards: int) -> Settings:
    return {"timing": QUICK_ELECTIONS, "groups": {"metadata": {"shards": shards, "replicas": 3}}}


async def placement(client: AsyncClient) -> pb.PlacementResponse:
    return await client.call(f"{ADMIN}/Placement", pb.PlacementRequest(), pb.PlacementResponse)


async def settled(client: AsyncClient, nodes: int) -> list[int]:
    """Wait until nothing is left to move; return how many replicas each of the nodes has."""
    async with asyncio.timeout(2 * PATIENCE_S):
        while True:
            found = await placement(client)
            known = len(found.nodes) == nodes and all(each.answers for each in found.nodes)
            if known and not (found.moving or found.planned or found.problems):
                return [each.replicas for each in found.nodes]
            await asyncio.sleep(0.05)


def back_up(address: str, directory: Path) -> None:
    """Copy every shard, wherever it is, from one node."""
    target = BackupTarget(directory)
    with grpc.insecure_channel(address) as channel:
        admin = Stub(channel, pb.DESCRIPTOR.services_by_name["AdminService"])
        for each in admin.Backup(pb.BackupRequest(), timeout=PATIENCE_S):
            target.take(each)
    assert [str(shard) for shard in read(directory).shards] == [
        "metadata/0",
        "metadata/1",
        "metadata/2",
    ]


async def change(client: AsyncClient, method: str, request: object) -> None:
    async for _ in client.stream(f"{ADMIN}/{method}", request, pb.MemberProgress):  # type: ignore[arg-type]
        pass


@pytest.mark.ci
async def test_a_cluster_grows_and_shrinks_and_no_client_notices(tmp_path: Path) -> None:
    """3 to 5 nodes and back to 3 that are other ones: 0 failed, 0 lost, 0 events missed or twice.

    The shards of kv are placed, metadata/0 is on every node.
    """
    with Cluster(tmp_path, settings=settings(6)) as cluster:
        await asyncio.to_thread(cluster.ready)
        # A busy machine has elections of its own accord.
        async with connect(cluster.endpoints, timeout_s=PATIENCE_S, exactly_once=True) as client:
            await client.kv.put("grown/first", b"")
            async with traffic(client) as found:
                for name in ("node4", "node5"):
                    await grow(cluster, client, name)
                # Five placed shards with three replicas each.
                assert await settled(client, 5) == [3, 3, 3, 3, 3]
                for name in ("node1", "node2"):
                    await change(client, "RemoveMember", pb.RemoveMemberRequest(node=name))
                    assert await asyncio.to_thread(cluster.nodes[name].wait) == ExitCode.REMOVED
                assert await settled(client, 3) == [5, 5, 5]
            written = sum(map(len, found.answered.values()))
            assert written > KEYS
            stored = {row.key.decode(): row.value.decode() async for row in client.kv.list("grown")}
        assert {key: values[-1] for key, values in found.answered.items()}.items() <= stored.items()
        print(f"{written} writes")
        for name in ("node3", "node4", "node5"):
            report = until(cluster.nodes[name].report)
            assert len(report.shards) == 6


@pytest.mark.full
@pytest.mark.timeout(900)
async def test_a_cluster_of_six_nodes_comes_and_goes_under_load(tmp_path: Path) -> None:
    """3 to 6 nodes and back to 3 under 300 writes a second and 20 watches.

    No write fails or is lost, no watch misses an event or sees one twice, replicas are even within
    one, and what other clients saw of a few keys meanwhile can have happened in one order.
    """
    groups = settings(9)["groups"]
    with Cluster(tmp_path, settings={"groups": groups}) as cluster:
        await asyncio.to_thread(cluster.ready)
        addresses = [cluster.nodes["node3"].address]
        async with (
            connect(cluster.endpoints, timeout_s=PATIENCE_S, exactly_once=True) as client,
            Reach(addresses) as reach,
        ):
            history = Load(reach, Plan(seed=22, operations=OPERATIONS, teams=1))
            clients = asyncio.create_task(history.run())
            began = time.monotonic()
            async with traffic(client, 20, WRITERS, MANY_A_SECOND) as found:
                for name in ("node4", "node5", "node6"):
                    await grow(cluster, client, name)
                # Eight placed shards with three replicas each.
                assert await settled(client, 6) == [4, 4, 4, 4, 4, 4]
                for name in ("node4", "node5", "node6"):
                    await change(client, "RemoveMember", pb.RemoveMemberRequest(node=name))
                    assert await asyncio.to_thread(cluster.nodes[name].wait) == ExitCode.REMOVED
                assert await settled(client, 3) == [8, 8, 8]
                took_s = time.monotonic() - began
            assert not clients.done(), clients
            clients.cancel()
            await asyncio.gather(clients, return_exceptions=True)
            stored = {row.key.decode(): row.value.decode() async for row in client.kv.list("grown")}
        assert {key: values[-1] for key, values in found.answered.items()} == stored
        written = sum(map(len, found.answered.values()))
        print(
            f"{written} writes in {took_s:.0f} s, {written / took_s:.0f} a second; "
            f"{len(history.history)} operations checked"
        )
        assert len(history.history) > 500
        violation = check(history.history)
        assert violation is None, violation


async def grow(cluster: Cluster, client: AsyncClient, name: str) -> None:
    """Start a node and add it."""
    node = cluster.add(name)
    node.start()
    await asyncio.to_thread(until, node.report)
    await change(client, "AddMember", pb.AddMemberRequest(node=name, address=node.address))


@pytest.mark.ci
async def test_everything_works_on_a_node_without_a_replica(tmp_path: Path) -> None:
    """Two placed shards with one replica each on three nodes: each node lacks at least one."""
    groups = {"metadata": {"shards": 3, "replicas": 1}}
    with Cluster(tmp_path, settings={"timing": QUICK_ELECTIONS, "groups": groups}) as cluster:
        await asyncio.to_thread(cluster.ready)
        keys = [f"key{number}/k" for number in range(30)]
        for node in cluster.nodes.values():
            held = {each.shard for each in until(node.report).shards}
            assert "metadata/0" in held
            assert len(held) < 3
            async with connect(node.address) as anyone:
                asked = anyone.at(node.name)
                for key in keys:
                    put = kv_pb2.PutPair(key=key.encode(), value=node.name.encode())
                    await asked.call(f"{KV}/Put", put, kv_pb2.PutPairReply)
                    get = kv_pb2.GetPairRequest(key=key.encode())
                    row = await asked.call(f"{KV}/Get", get, kv_pb2.GetPairResponse)
                    assert row.pair.value == node.name.encode()
                topology = await asked.call(
                    f"{ADMIN}/Topology", pb.TopologyRequest(), pb.TopologyResponse
                )
                assert {len(each.nodes) for each in topology.shards} == {1, 3}
                # The one node that it knows gives it all rows, wherever they are.
                watched = watch_pb2.WatchRequest(
                    families=[watch_pb2.WatchedFamily(name="kv.pairs", prefix=b"key")]
                )
                seen = set[bytes]()
                async for answer in asked.stream(WATCH, watched, watch_pb2.WatchResponse):
                    seen |= {event.key for event in answer.events}
                    if len(seen) == len(keys):
                        break
