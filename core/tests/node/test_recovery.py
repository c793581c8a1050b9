"""Shards whose replicas have stopped: a node goes on without them, and they are brought back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.request import urlopen

import grpc
import grpc.aio
import pytest
from google.protobuf.wrappers_pb2 import StringValue
from grpc_health.v1 import health_pb2
from prometheus_client import generate_latest
from quorate.apply.outcomes import ReplicaStoppedError, RowsDifferError
from quorate.consensus.journal import Position
from quorate.consensus.peer.wire import Handshake
from quorate.node.node import Node
from quorate.plugin.advanced import Stub
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import even_cut, slot_of, slots_in
from quorate.shards.refusals import OutcomeUnknownError
from quorate.shards.snapshots.snapshot_messages import (
    Offer,
    SnapshotRefusedError,
    decode_offer,
    encode_offer,
)
from quorate.storage.data.checkpoint import Manifest
from quorate.v1 import admin_pb2

if TYPE_CHECKING:
    from core.tests.node.conftest import Nodes

LOST, OTHER = ShardId("toy", 0), ShardId("toy", 1)
EVENTUALLY_S = 30.0
POISON = ReplicaStoppedError(7, "Entry 7 of shard toy/0 holds command x, which nobody knows.")
LIES = RowsDifferError(7, "The rows of shard toy/0 are not those of its leader.")


async def until(what: Callable[[], bool]) -> None:
    """Wait for something that has to come."""
    async with asyncio.timeout(EVENTUALLY_S):
        while not what():
            await asyncio.sleep(0.01)


@asynccontextmanager
async def admin(node: Node) -> AsyncIterator[Any]:
    async with grpc.aio.insecure_channel(node._settings.node.address) as channel:
        yield Stub(channel, admin_pb2.DESCRIPTOR.services_by_name["AdminService"])


async def readyz(node: Node) -> tuple[int, str]:
    def asked() -> tuple[int, str]:
        try:
            with urlopen(f"http://{node._settings.node.http_address}/readyz", timeout=20) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()

    return await asyncio.to_thread(asked)


async def serves(node: Node) -> bool:
    """Tell what the health service says to a load balancer."""
    async with grpc.aio.insecure_channel(node._settings.node.address) as channel:
        told = await Stub(channel, health_pb2.DESCRIPTOR.services_by_name["Health"]).Check(
            health_pb2.HealthCheckRequest()
        )
        return bool(told.status == health_pb2.HealthCheckResponse.SERVING)


async def recover(at: Node, **how: Any) -> int:
    async with admin(at) as stub:
        request = admin_pb2.RecoverShardRequest(shard=str(LOST), **how)
        return int((await stub.RecoverShard(request, timeout=EVENTUALLY_S)).epoch)


async def status(node: Node) -> admin_pb2.NodeStatusResponse:
    async with admin(node) as stub:
        found: admin_pb2.NodeStatusResponse = await stub.Status(admin_pb2.NodeStatusRequest())
        return found


def keys(shard: ShardId) -> list[str]:
    """Return some keys of a shard."""
    mine = slots_in(even_cut(2)[shard.number])
    return [key for key in map(str, range(40)) if slot_of(key.encode()) in mine]


async def put(node: Node, key: str, value: str) -> None:
    command = StringValue(value=f"{key}={value}")
    async with asyncio.timeout(EVENTUALLY_S):
        while True:
            # Whether a leader that a busy machine took away has logged it does not matter here.
            with suppress(OutcomeUnknownError):
                await node.api.propose(command, StringValue)
                return


async def values(node: Node, nodes: Nodes, shard: ShardId) -> list[str]:
    """Return the values of a shard, as this node's own replica has them."""
    found = node.shards.get(shard)
    assert found is not None
    rows = found.store_reader(frozenset(("toy.rows",))).scan("toy.rows", b"", b"\xff", limit=100)
    return sorted(StringValue.FromString(row.value).value for row in rows)


def stop(members: Sequence[Node], error: Exception) -> None:
    for node in members:
        found = node.shards.get(LOST)
        assert found is not None
        found.fail(error)


def votes(node: Node, count: int) -> bool:
    found = node.shards.get(LOST)
    configuration = None if found is None else found.configuration
    return configuration is not None and len(configuration.voters) == count


def applied(node: Node) -> int:
    found = node.shards.get(LOST)
    return 0 if found is None else found.applied


@pytest.mark.ci
async def test_a_stopped_shard_is_tried_again_at_the_next_start(nodes: Nodes) -> None:
    files = nodes.files(3)
    async with nodes.started(*files) as members:
        await put(members[0], keys(LOST)[0], "kept")
        stop(members, POISON)
        for node in members:
            [alarm] = [each for each in (await status(node)).alarms if str(LOST) in each]
            assert alarm.startswith(f"shard toy/0 has stopped on {node.me.node}: Entry 7 ")
            assert not (await status(node)).ready
            code, text = await readyz(node)
            assert (code, text) == (503, f"{alarm}\n")
            shown = generate_latest(node.metrics).decode()
            assert 'quorate_shard_stopped{shard="toy/0"} 1.0' in shown
            assert 'quorate_shard_stopped{shard="toy/1"} 0.0' in shown
            assert 'quorate_raft_role{role="leader",shard="toy/0"}' not in shown
            assert await serves(node)
    async with nodes.started(*files) as members:
        assert await readyz(members[1]) == (200, "ready\n")
        await put(members[1], keys(LOST)[1], "new")
        assert set(await nodes.values(members[2].api)) == {"kept", "new"}
        assert (await status(members[0])).ready


@pytest.mark.ci
async def test_a_replica_whose_rows_differ_stays_stopped_and_all_else_serves(
    nodes: Nodes,
) -> None:
    files = nodes.files(3)
    async with nodes.started(*files) as members:
        await put(members[0], keys(OTHER)[0], "kept")
        stop(members, LIES)
    async with nodes.started(*files) as members:
        for node in members:
            await put(node, keys(OTHER)[1], node.me.node)
            found = await status(node)
            assert not found.ready
            assert [each.shard for each in found.broken] == [str(LOST)]
            assert found.broken[0].applied_index > 0
            assert any("it stopped, and a restart does not help" in each for each in found.alarms)
            code, text = await readyz(node)
            assert (code, text.startswith("shard toy/0 cannot be opened on")) == (503, True)
            shown = generate_latest(node.metrics).decode()
            assert 'quorate_shard_stopped{shard="toy/0"} 1.0' in shown
            assert await serves(node)


@pytest.mark.ci
@pytest.mark.parametrize("restarted", [False, True], ids=["running", "restarted"])
async def test_a_shard_comes_back_with_what_one_replica_has(nodes: Nodes, restarted: bool) -> None:
    files = nodes.files(3)
    first, second, third = keys(LOST)[:3]
    async with nodes.started(*files) as members:
        await put(members[0], first, "before")
        await until(lambda: applied(members[1]) == applied(members[0]) == applied(members[2]))
        # What n2 does not have is lost with it.
        stop([members[1]], LIES)
        await put(members[0], second, "lost")
        stop([members[0], members[2]], LIES if restarted else POISON)
        before = max(each.revision for each in (await status(members[0])).shards)
        if not restarted:
            await _brought_back(nodes, members, third, before)
    if restarted:
        async with nodes.started(*files) as members:
            await _brought_back(nodes, members, third, before)
    async with nodes.started(*files) as members:
        # A start finds them in their new history.
        await put(members[1], second, "again")
        await until(lambda: all(votes(node, 3) for node in members))
        await until(lambda: len({applied(node) for node in members}) == 1)
        assert await values(members[0], nodes, LOST) == ["after", "again", "before"]


async def _brought_back(nodes: Nodes, members: Sequence[Node], key: str, before: int) -> None:
    assert await recover(members[2], node="n2") == 1
    # The shard takes writes as soon as the one replica leads it, from any node.
    await put(members[0], key, "after")
    await until(lambda: all(votes(node, 3) for node in members))
    await until(lambda: len({applied(node) for node in members}) == 1)
    for node in members:
        assert await values(node, nodes, LOST) == ["after", "before"]
        assert (await status(node)).ready
        assert not [each for each in (await status(node)).alarms if str(LOST) in each]
        [report] = [each for each in (await status(node)).shards if each.shard == str(LOST)]
        assert (report.epoch, report.generation) == (1, 1)
        assert report.revision > before


async def test_a_shard_is_dropped_and_begins_without_rows(nodes: Nodes) -> None:
    files = nodes.files(3)
    first, second = keys(LOST)[:2]
    async with nodes.started(*files) as members:
        await put(members[0], first, "before")
        await put(members[0], keys(OTHER)[0], "kept")
        stop(members, LIES)
        assert await recover(members[0], node="n1", empty=True) == 1
        await put(members[2], second, "after")
        await until(lambda: all(votes(node, 3) for node in members))
        assert set(await nodes.values(members[1].api)) == {"after", "kept"}


@pytest.mark.ci
async def test_a_node_that_was_down_does_not_bring_the_old_history_back(nodes: Nodes) -> None:
    files = nodes.files(3)
    first, second = keys(LOST)[:2]
    async with nodes.started(*files) as [n1, n2, gone]:
        await put(n1, first, "before")
        await until(lambda: applied(gone) == applied(n1) == applied(n2))
        await nodes.end(gone)
        stop([n1, n2], LIES)
        assert await recover(n2, node="n1") == 1
        await put(n2, second, "after")
        async with nodes.running(files[2]) as n3:
            await until(lambda: votes(n3, 3) and applied(n3) == applied(n1))
            assert await values(n3, nodes, LOST) == ["after", "before"]


@pytest.mark.ci
async def test_what_comes_from_the_old_history_is_refused(nodes: Nodes) -> None:
    async with nodes.started(*nodes.files(3)) as members:
        await put(members[0], keys(LOST)[0], "before")
        stop(members, LIES)
        await recover(members[0], node="n1")
        await until(lambda: all(votes(node, 3) for node in members))
        leader, follower = members[0], members[1]
        nothing: Any = None
        assert not follower.shards.deliver(str(LOST), nothing)
        shard = leader.shards.get(LOST)
        assert shard is not None
        manifest = Manifest(replace(shard.data.record, position=Position(1 << 35, 9)), ())
        old, new = (
            decode_offer(frame(Offer(LOST, leader.me, follower.me, 0, manifest, epoch)))[0]
            for epoch in (0, 1)
        )
        with pytest.raises(SnapshotRefusedError, match="it is of another history"):
            follower.peers._receiver.begin(old)
        follower.peers._receiver.begin(new).abandon()


def frame(offer: Offer) -> bytes:
    return encode_offer(offer, Handshake(offer.source, b"c" * 16, b"t" * 32, 0, "n2"))


@pytest.mark.ci
async def test_a_replica_that_cannot_be_read_is_left_for_another(nodes: Nodes) -> None:
    files = nodes.files(3)
    first, second = keys(LOST)[:2]
    async with nodes.started(*files) as members:
        await put(members[0], first, "before")
        await until(lambda: len({applied(node) for node in members}) == 1)
        stop(members, LIES)
        [pointer] = (members[0]._settings.node.dir / "shards" / "toy" / "0").glob("pointer")
        pointer.write_bytes(b"garbage")
        assert await recover(members[1], node="n1") == 1
        await until(lambda: LOST in members[0].shards.broken)
        alarms = (await status(members[0])).alarms
        assert any("its pointer cannot be read" in each for each in alarms)

        assert await recover(members[1], node="n2") == 2
        await put(members[0], second, "after")
        await until(lambda: all(votes(node, 3) for node in members))
        await until(lambda: len({applied(node) for node in members}) == 1)
        for node in members:
            assert await values(node, nodes, LOST) == ["after", "before"]


async def test_a_shard_that_serves_is_not_recovered(nodes: Nodes) -> None:
    async with nodes.started(*nodes.files(3)) as members:
        stop(members[:1], LIES)
        for shard, node, told in (
            (str(LOST), "n2", "has a majority and serves"),
            ("metadata/0", "n2", "`quorate member replace`"),
            ("toy/9", "n2", "there is no shard toy/9"),
            ("toy", "n2", "names no shard"),
        ):
            async with admin(members[0]) as stub:
                request = admin_pb2.RecoverShardRequest(shard=shard, node=node)
                with pytest.raises(grpc.aio.AioRpcError) as refused:
                    await stub.RecoverShard(request, timeout=EVENTUALLY_S)
            assert told in str(refused.value.details())


@pytest.mark.ci
async def test_only_a_node_with_a_replica_can_be_begun_with(nodes: Nodes) -> None:
    async with nodes.started(*nodes.files(1)) as [node]:
        stop([node], LIES)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await recover(node, node="n9")
        assert "n9 has no replica of shard toy/0" in str(refused.value.details())
        await recover(node, node="n1")
        await until(partial(votes, node, 1))


@pytest.mark.ci
async def test_a_watch_lists_again_behind_a_recovery(nodes: Nodes) -> None:
    async with nodes.started(*nodes.files(1)) as [node]:
        await put(node, keys(LOST)[0], "before")
        tokens = []
        async for event in node.api.watch("toy.rows"):
            if event.token:
                tokens.append(event.token)
                break
        stop([node], LIES)
        await recover(node, node="n1")
        await until(partial(votes, node, 1))
        async for event in node.api.watch("toy.rows", token=tokens[0]):
            assert event.resync
            break
