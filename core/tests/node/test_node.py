from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import grpc.aio
import pytest
from google.protobuf.wrappers_pb2 import StringValue
from quorate.builtin.kv import plugin
from quorate.cli.authority import make_authority, sign
from quorate.consensus.formation import FormationRefusedError
from quorate.node.directory import OtherClusterError
from quorate.node.node import Node
from quorate.node.replicas import UnclaimedDataError
from quorate.plugin import NodeApi
from quorate.plugin.advanced import Stub
from quorate.plugin.catalog import assemble, build
from quorate.plugin.discovery import Plugin
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.rpc.server import ServingRefusedError
from quorate.topology.replicas.declaration import GroupsDifferError
from quorate.v1 import command_pb2
from quorate.v1.kv_pb2 import GetPairs, GetPairsResponse, PutPair, PutPairReply

if TYPE_CHECKING:
    from core.tests.node.conftest import Nodes


def port_of(path: Path) -> int:
    lines = path.read_text().splitlines()
    return next(int(line.split("=")[1]) for line in lines if line.strip().startswith("port ="))


async def execute(path: Path, text: str) -> command_pb2.CommandAnswer:
    """Send a command through a node's socket; again when a leader cannot tell its outcome."""
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port_of(path)}") as channel:
        stub = Stub(channel, command_pb2.DESCRIPTOR.services_by_name["CommandService"])
        command = command_pb2.Command(
            type=StringValue.DESCRIPTOR.full_name,
            payload=StringValue(value=text).SerializeToString(),
        )
        request = command_pb2.ExecuteRequest(commands=[command])
        async with asyncio.timeout(60):
            while True:
                [answer] = (await stub.Execute(request, timeout=20, wait_for_ready=True)).answers
                assert isinstance(answer, command_pb2.CommandAnswer)
                if "OUTCOME_UNKNOWN" not in str(answer.status):
                    return answer


async def test_what_a_node_was_told_is_there_when_it_starts_again(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    async with nodes.started(path) as [node]:
        assert await nodes.say(node.api, "a=1") == "a is 1"
        assert await nodes.values(node.api) == ["1"]

    async with nodes.started(path) as [node]:
        assert await nodes.values(node.api) == ["1"]
        await nodes.say(node.api, "b=2")
        assert await nodes.values(node.api) == ["1", "2"]


async def test_any_node_takes_any_call(nodes: Nodes) -> None:
    paths = nodes.files(3)
    async with nodes.started(*paths) as started:
        for number, node in enumerate(started):
            await nodes.say(node.api, f"k{number}={number}")
        for path in paths:
            answer = await execute(path, f"p{port_of(path)}=9")
            assert StringValue.FromString(answer.reply.payload).value.endswith(" is 9")
        for node in started:
            assert await nodes.values(node.api) == ["0", "1", "2", "9", "9", "9"]


async def test_a_node_that_stops_hands_over_what_it_leads(
    nodes: Nodes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "quorate.node")
    async with nodes.started(*nodes.files(3)) as started:
        leader = next(n for n in started if any(s.leads for s in n.shards.all()))
        led = sorted(str(shard.id) for shard in leader.shards.all() if shard.leads)
        left = [node for node in started if node is not leader]

        await leader.stop()

        said = [text for text in caplog.messages if text.startswith("handed over ")]
        assert [sorted(text.removeprefix("handed over ").split(", ")) for text in said] == [led]
        await nodes.say(left[0].api, "a=1")
        assert await nodes.values(left[1].api) == ["1"]


async def test_stale_rows_are_read_without_a_majority(nodes: Nodes) -> None:
    async with nodes.started(*nodes.files(3)) as [node, *others]:
        await nodes.say(node.api, "a=1")
        assert await nodes.values(node.api) == ["1"]
        await asyncio.gather(*(other.stop() for other in others))

        async with asyncio.timeout(10):
            assert await nodes.values(node.api, consistency="stale") == ["1"]


async def test_calls_wait_outside_until_the_plugins_have_begun(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    begun, begin, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def lifespan(_: NodeApi) -> AsyncIterator[None]:
        begun.set()
        await begin.wait()
        yield
        ended.set()

    node = nodes.new(path, nodes.catalog(lifespan=lifespan))
    starting = asyncio.create_task(node.start())
    try:
        await begun.wait()
        with pytest.raises(grpc.aio.AioRpcError, match="this node is starting"):
            await execute(path, "a=1")
        begin.set()
        await starting
        await node.ready()
        assert (await execute(path, "a=1")).HasField("reply")
        assert not ended.is_set()
    finally:
        begin.set()
        await starting
        await node.stop()
    assert ended.is_set()


async def test_a_node_that_is_no_initial_member_says_so(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    path.write_text(path.read_text().replace('name = "n1"', 'name = "n9"'))

    with pytest.raises(FormationRefusedError, match="n9 is not among the initial members n1"):
        nodes.new(path)


async def test_nodes_with_different_tokens_form_no_cluster(nodes: Nodes) -> None:
    first, second = nodes.files(2)
    second.write_text(second.read_text().replace('token = "toy"', 'token = "other"'))
    made = [nodes.new(first), nodes.new(second)]
    try:
        async with asyncio.timeout(20):
            found = await asyncio.gather(*(n.start() for n in made), return_exceptions=True)
    finally:
        await asyncio.gather(*(node.stop() for node in made))

    assert [type(error) for error in found] == [FormationRefusedError] * 2
    assert "n1 and n2 have different [cluster] tokens" in "".join(map(str, found))


async def test_a_directory_keeps_the_token_of_its_cluster(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    async with nodes.started(path):
        pass
    path.write_text(path.read_text().replace('token = "toy"', 'token = "other"'))

    with pytest.raises(OtherClusterError, match="another token; correct \\[cluster\\] token"):
        nodes.new(path)


async def test_an_address_in_use_is_named(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    node = nodes.new(path)
    with socket.create_server(("127.0.0.1", port_of(path))):
        try:
            with pytest.raises(ServingRefusedError, match=f"127.0.0.1:{port_of(path)}"):
                await node.start()
        finally:
            await node.stop()


async def test_a_port_for_other_nodes_that_is_in_use_is_named(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        path.write_text(path.read_text().replace("[node]", f"[node]\npeer_port = {port}"))
        node = nodes.new(path)
        try:
            with pytest.raises(ServingRefusedError, match=f"127.0.0.1:{port} .* node.peer_port"):
                await node.start()
        finally:
            await node.stop()


@pytest.mark.parametrize(
    ("token", "more", "starts"),
    [
        ("quorate", "", False),
        ("quorate", "require_client_cert = true", True),
        ("secret", "", True),
    ],
)
async def test_a_token_that_everybody_knows_lets_no_stranger_be_a_node(
    nodes: Nodes, tmp_path: Path, token: str, more: str, starts: bool
) -> None:
    make_authority(tmp_path)
    sign(tmp_path, "n1", ["n1"])
    files = {"cert_file": "n1.pem", "key_file": "n1.key", "ca_file": "ca.pem"}
    tls = "\n".join(f'{name} = "{tmp_path / file}"' for name, file in files.items())
    [path] = nodes.files(1, token=token, more=f"[tls]\n{tls}\n{more}")
    # Every address, beyond loopback too.
    path.write_text(path.read_text().replace("[node]", '[node]\nhost = "0.0.0.0"'))
    node = nodes.new(path)
    expected = (
        nullcontext()
        if starts
        else pytest.raises(ServingRefusedError, match=r"cluster\.token is the default one")
    )
    try:
        with expected:
            await node.start()
    finally:
        await node.stop()


async def test_data_of_a_plugin_that_is_not_enabled_stops_the_start(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    async with nodes.started(path) as [node]:
        await nodes.say(node.api, "a=1")

    again = nodes.new(path, assemble([]))
    try:
        with pytest.raises(UnclaimedDataError, match="data of toy, which is not enabled"):
            await again.start()
    finally:
        await again.stop()

    path.write_text(path.read_text() + '\n[plugins]\nretired = ["toy"]\n')
    async with nodes.started(path, serving=assemble([])) as [node]:
        metadata = node.shards.get(METADATA)
        assert metadata is not None
        assert metadata.leads


async def test_another_number_of_shards_than_was_founded_stops_the_start(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    async with nodes.started(path):
        pass
    path.write_text(path.read_text() + "\n[groups.toy]\nshards = 3\n")

    again: Node = nodes.new(path)
    try:
        with pytest.raises(GroupsDifferError, match="has 2 shards of group toy"):
            await again.start()
    finally:
        await again.stop()


async def test_a_cluster_is_founded_with_more_than_one_shard_of_metadata(nodes: Nodes) -> None:
    kv = Plugin(name="kv", distribution="quorate", version="0", module=plugin)
    serving = build([kv])
    # No leader may change meanwhile: a write that is left open is not repeated here.
    paths = nodes.files(3, election_ms=900, more="[groups.metadata]\nshards = 2\n")
    keys = [f"{number}/key".encode() for number in range(20)]
    async with nodes.started(*paths, serving=serving) as started, asyncio.timeout(60):
        for node in started:
            # Ready with all of them, and not before.
            assert sorted(str(shard.id) for shard in node.shards.all()) == [
                "metadata/0",
                "metadata/1",
            ]
        used = set[ShardId]()
        for number, key in enumerate(keys):
            await started[number % 3].api.propose(PutPair(key=key, value=b"1"), PutPairReply)
            used.add(started[0].shards.slot_map.place("metadata", key.partition(b"/")[0]))
        assert used == {ShardId("metadata", 0), ShardId("metadata", 1)}
        for node in started:
            found = [each async for each in node.api.query(GetPairs(keys=keys), GetPairsResponse)]
            assert [each.responses[0].pair.key for each in found] == keys
    async with nodes.started(*paths, serving=serving) as started, asyncio.timeout(20):
        found = [each async for each in started[1].api.query(GetPairs(keys=keys), GetPairsResponse)]
        assert [each.responses[0].pair.key for each in found] == keys


async def test_what_has_a_time_to_live_goes_when_it_has_passed(nodes: Nodes) -> None:
    [path] = nodes.files(1)
    kv = Plugin(name="kv", distribution="quorate", version="0", module=plugin)
    serving = build([kv])
    async with nodes.started(path, serving=serving) as [node], asyncio.timeout(20):
        await node.api.propose(PutPair(key=b"a", value=b"1", ttl_ms=200), PutPairReply)
        await node.api.propose(PutPair(key=b"b", value=b"2"), PutPairReply)
        both = GetPairs(keys=[b"a", b"b"])
        expired = False
        while not expired:
            [first, second] = [pair async for pair in node.api.query(both, GetPairsResponse)]
            expired = not first.responses[0].HasField("pair")
            await asyncio.sleep(0.02)

        assert second.responses[0].pair.key == b"b"


async def test_every_new_leader_is_logged_once(
    nodes: Nodes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "quorate.shards.shard")
    async with nodes.started(*nodes.files(1)) as [node]:
        await nodes.say(node.api, "a=1")
        shards = sorted(str(shard.id) for shard in node.shards.all())

    led = sorted(text for text in caplog.messages if " is led by " in text)
    assert led == [f"shard {shard} is led by {node.me.node} in term 1" for shard in shards]
