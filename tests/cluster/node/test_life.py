"""Nodes that are stopped, killed, emptied and left alone, as their operators and clients see it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
from quorate.client import Client, QuorateError, connect
from quorate.plugin.advanced import Stub
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster, NodeProcess
from quorate.testing.cluster.cluster import Settings
from quorate.testing.waiting import until
from quorate.v1 import kv_pb2, tenant_pb2
from quorate_offset.v1 import service_pb2
from quorate_offset.v1.commands_pb2 import GroupCommit, OffsetCommit
from quorate_offset.v1.queries_pb2 import GroupName

from tests.support.paced_writes import TURN_S, writing

#: More shards than a node opens before anything else.
MANY = 100
#: Of the rolling restart.
WRITES_A_SECOND = 500


@contextmanager
def founded(
    directory: Path, plugins: Sequence[str] = (), engine: str = "http2"
) -> Iterator[Cluster]:
    settings: Settings = {"timing": QUICK_ELECTIONS, "rpc": {"engine": engine}}
    with Cluster(directory, plugins=plugins, settings=settings) as cluster:
        yield cluster.ready()


@pytest.mark.ci
def test_nodes_that_are_told_to_stop_end_in_order_and_keep_everything(tmp_path: Path) -> None:
    with founded(tmp_path) as cluster:
        with Client(cluster.endpoints) as client:
            for number in range(100):
                client.kv.put(f"kept/{number}", b"here")
        assert [node.stop() for node in cluster.nodes.values()] == [0, 0, 0]
        for node in cluster.nodes.values():
            assert "stopped" in node.said.splitlines()[-1]
            node.start()
        cluster.ready()
        with Client(cluster.endpoints) as client:
            kept = list(client.kv.list("kept/"))
    assert len(kept) == 100


@pytest.mark.ci
def test_a_cluster_that_is_killed_as_a_whole_comes_back_with_everything(tmp_path: Path) -> None:
    with founded(tmp_path) as cluster:
        with Client(cluster.endpoints) as client:
            for number in range(100):
                client.kv.put(f"kept/{number}", b"here")
        for node in cluster.nodes.values():
            node.kill()
        for node in cluster.nodes.values():
            node.start()
        cluster.ready()
        with Client(cluster.endpoints) as client:
            kept = list(client.kv.list("kept/"))
    assert len(kept) == 100


@pytest.mark.full
def test_nodes_with_many_shards_serve_all_of_them_as_soon_as_they_are_ready(
    tmp_path: Path,
) -> None:
    many = {"groups": {"offset": {"shards": MANY}}}
    with Cluster(tmp_path, plugins=["offset"], settings=many) as cluster:
        cluster.ready()
        first = cluster.nodes["node1"]
        with Client(cluster.endpoints) as client:
            client.execute(tenant_pb2.CreateTenant(name="acme"), tenant_pb2.Tenant)
            commit(first, 1)
            for node in cluster.nodes.values():
                node.kill()
            for node in cluster.nodes.values():
                node.start()
            cluster.ready()
            # Shards without a leader open when they are asked for.
            assert "that open when they are needed" in first.said
            assert min(opened(node) for node in cluster.nodes.values()) <= MANY
            commit(first, 2)
            until(lambda: all(opened(node) == MANY + 1 for node in cluster.nodes.values()) or None)

        # Those that others lead are open, and have caught up, before a node is ready.
        first.kill()
        first.start()
        first.ready()
        assert opened(first) == MANY + 1


def commit(node: NodeProcess, offset: int) -> None:
    """Commit an offset of many groups, on all shards, and read them back."""
    with node.channel() as channel:
        stub = Stub(channel, service_pb2.DESCRIPTOR.services_by_name["OffsetService"])
        commits = [OffsetCommit(topic="orders", partition=0, offset=offset)]
        groups = [
            GroupCommit(tenant="acme", group=f"group-{number}", commits=commits)
            for number in range(10 * MANY)
        ]
        asked = service_pb2.CommitOffsetsRequest(groups=groups)

        def committed() -> bool | None:
            """Say it again when a busy machine has lost leaders."""
            try:
                return not stub.CommitOffsets(asked, timeout=30).refusals or None
            except grpc.RpcError:
                return None

        until(committed)
        names = [GroupName(tenant="acme", group=each.group) for each in groups]
        found = stub.FetchGroups(service_pb2.FetchGroupsRequest(groups=names), timeout=30)
        assert [[part.offset for part in each.offsets] for each in found.groups] == [
            [offset]
        ] * len(groups)


def opened(node: NodeProcess) -> int:
    report = node.report()
    return 0 if report is None else len(report.shards)


@pytest.mark.ci
def test_a_node_whose_disk_was_emptied_is_refused_and_the_others_go_on(tmp_path: Path) -> None:
    with founded(tmp_path) as cluster:
        emptied = cluster.followers()[0]
        emptied.kill()
        emptied.wipe()
        emptied.start()
        assert emptied.wait() == 1
        *_, error = emptied.said.splitlines()
        assert f"{emptied.name} is new to it" in error
        assert "quorate member replace" in error
        assert "Traceback" not in emptied.said
        with Client(cluster.endpoints) as client:
            client.kv.put("goes", b"on")
            row = client.kv.get("goes")
    assert row is not None
    assert row.value == b"on"


@pytest.mark.ci
@pytest.mark.parametrize("survivor", ["leader", "follower"])
def test_the_last_of_three_answers_stale_reads_and_refuses_writes(
    tmp_path: Path, survivor: str
) -> None:
    with founded(tmp_path) as cluster:
        leader = cluster.leader()
        last = leader if survivor == "leader" else cluster.followers()[0]
        with last.channel() as channel:
            kv = Stub(channel, kv_pb2.DESCRIPTOR.services_by_name["KvService"])
            revision = kv.Put(kv_pb2.PutPair(key=b"a", value=b"1"), timeout=10).revision
            # What the last one has not applied, it cannot answer.
            kv.Get(kv_pb2.GetPairRequest(key=b"a", min_revision=revision), timeout=10)
            for node in cluster.nodes.values():
                if node is not last:
                    node.kill()
            with pytest.raises(grpc.RpcError) as in_doubt:
                kv.Put(kv_pb2.PutPair(key=b"a", value=b"2"), timeout=20)
            assert in_doubt.value.code() is grpc.StatusCode.UNAVAILABLE
            with pytest.raises(grpc.RpcError) as refused:
                kv.Put(kv_pb2.PutPair(key=b"a", value=b"3"), timeout=20)
            assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
            assert "nothing was proposed" in str(refused.value.details())
            refused_reading(kv)
            stale = kv_pb2.GetPairRequest(key=b"a", stale=True)
            found = kv.Get(stale, timeout=10)
            assert found.pair.value == b"1"
            assert found.age_ms > 0
            until(lambda: kv.Get(stale, timeout=10).age_ms > found.age_ms or None)
        last.kill()
        last.start()
        until(last.report)
        with last.channel() as channel:
            kv = Stub(channel, kv_pb2.DESCRIPTOR.services_by_name["KvService"])
            # It has asked the others first whether this is their cluster.
            assert "nothing was proposed" in until(lambda: refused_writing(kv))
            refused_reading(kv)
            found = kv.Get(stale, timeout=10)
            # Of what it has applied it knows no more how old it is.
            assert (found.pair.value, found.age_ms) == (b"1", -1)


def refused_writing(kv: Stub) -> str | None:
    """Return why a node refuses a write; None while it is starting."""
    with pytest.raises(grpc.RpcError) as refused:
        kv.Put(kv_pb2.PutPair(key=b"a", value=b"4"), timeout=20, wait_for_ready=True)
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    why = str(refused.value.details())
    return None if "is starting" in why else why


def refused_reading(kv: Stub) -> None:
    with pytest.raises(grpc.RpcError) as refused:
        kv.Get(kv_pb2.GetPairRequest(key=b"a"), timeout=20)
    assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    assert "read stale" in str(refused.value.details())


@pytest.mark.full
@pytest.mark.parametrize("engine", ["http2", "grpcio"])
async def test_a_rolling_restart_fails_no_call_and_loses_no_write(
    tmp_path: Path, engine: str
) -> None:
    """Beginning with nodes that one engine serves, and ending with those of the default one."""
    loop = asyncio.get_running_loop()
    with founded(tmp_path, engine=engine) as cluster:
        # What is plainly sent is sent again only while nothing can have been done.
        async with connect(cluster.endpoints) as client:
            begun = loop.time()
            async with writing(client, WRITES_A_SECOND) as acknowledged:
                for node in cluster.nodes.values():
                    before = len(acknowledged)
                    assert await asyncio.to_thread(node.stop) == 0
                    node.file.write_text(node.file.read_text().replace(f'"{engine}"', '"http2"'))
                    node.start()
                    await asyncio.to_thread(node.ready)
                    assert len(acknowledged) > before
                restarted_s = loop.time() - begun
            found = {row.key.decode() async for row in client.kv.list("rolled/")}
    assert set(acknowledged) <= found
    # Each that was due by then was sent, and each that was sent was acknowledged.
    assert len(acknowledged) >= WRITES_A_SECOND * (restarted_s - TURN_S)


@pytest.mark.full
async def test_a_flooded_group_leaves_the_writes_of_another_alone(tmp_path: Path) -> None:
    from quorate_greeting.v1.service_pb2 import (
        SayHelloBatchRequest,
        SayHelloBatchResponse,
        SayHelloRequest,
    )

    hellos = [SayHelloRequest(town="Paris", name=f"n{number}") for number in range(1_000)]
    batch = SayHelloBatchRequest(hellos=hellos)
    with founded(tmp_path, plugins=["greeting"]) as cluster:
        async with connect(cluster.endpoints) as client:
            said = 0

            async def flood() -> None:
                nonlocal said
                method = "/quorate_greeting.v1.GreetingService/SayHelloBatch"
                while True:
                    try:
                        await client.call(method, batch, SayHelloBatchResponse, timeout_s=10)
                    except QuorateError:
                        # It is asked for more than it takes.
                        continue
                    said += 1

            floods = [asyncio.create_task(flood()) for _ in range(8)]
            while not said:
                await client.kv.put("alone", b"before")
            begun = said
            for number in range(100):
                await client.kv.put(f"alone/{number}", b"x", timeout_s=5)
            while said == begun:
                await client.kv.put("alone", b"after", timeout_s=5)
            for task in floods:
                task.cancel()
            ended = await asyncio.gather(*floods, return_exceptions=True)
    assert [type(each) for each in ended] == [asyncio.CancelledError] * len(floods), ended
