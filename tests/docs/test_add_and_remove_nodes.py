"""What the page shows: a node joins, is added, serves alone after the first is removed."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import grpc.aio
import pytest
from quorate.config import Settings, load
from quorate.node.node import Node
from quorate.plugin.advanced import Stub
from quorate.testing.installed import catalog_of
from quorate.testing.ports import free_ports
from quorate.v1 import admin_pb2
from quorate.v1.admin_pb2 import AddMemberRequest, RemoveMemberRequest
from quorate_greeting.v1.commands_pb2 import SayHelloCommand
from quorate_greeting.v1.queries_pb2 import ListGreetingsQuery
from quorate_greeting.v1.rows_pb2 import Greeting

from tests.support.one_node import run_node

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "add-and-remove-nodes.md"
ENOUGH_S = 30


async def add(asked: str, node: str, address: str) -> None:
    async with grpc.aio.insecure_channel(asked) as channel:
        request = AddMemberRequest(node=node, address=address)
        async for each in Stub(
            channel, admin_pb2.DESCRIPTOR.services_by_name["AdminService"]
        ).AddMember(request):
            print(f"{each.shard}: {each.step} ({each.shards_done} of {each.shards_total} done)")


async def remove(asked: str, node: str, *, force: bool = False) -> None:
    async with grpc.aio.insecure_channel(asked) as channel:
        admin = Stub(channel, admin_pb2.DESCRIPTOR.services_by_name["AdminService"])
        request = RemoveMemberRequest(node=node, force=force)
        async for each in admin.RemoveMember(request):
            print(f"{each.shard}: {each.step} ({each.shards_done} of {each.shards_total} done)")


def files(directory: Path) -> tuple[Path, Path]:
    """Write the file of a node that is there, and the one that the page shows of a newcomer."""
    first, first_http, fourth, fourth_http = free_ports(0, 1, 2, 3)
    there, joins = directory / "node1.toml", directory / "node4.toml"
    more = '[plugins]\nenabled = ["greeting"]\n[timing]\nheartbeat_ms = 30\n'
    more += "election_min_ms = 150\nelection_max_ms = 300\n"
    there.write_text(
        f'[node]\nname = "node1"\nport = {first}\nhttp_port = {first_http}\n'
        f'dir = "{directory / "node1"}"\n{more}'
    )
    [shown] = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    shown = re.sub(r"node2 = .*\n", "", shown.replace("7401", str(first)))
    shown = shown.replace("port = 7404", f"port = {fourth}\nhttp_port = {fourth_http}")
    shown = shown.replace('dir = "node4"', f'dir = "{directory / "node4"}"')
    joins.write_text(shown + more)
    return there, joins


def settings_of(path: Path) -> Settings:
    return load(path, catalog_of(["greeting"]).sections, {})


async def say(running: Node, name: str) -> None:
    hello = SayHelloCommand(town="oslo", name=name, salutation="hello", ttl_ms=3_600_000)
    await running.router.propose(hello)


def test_a_node_is_added_and_the_first_one_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there, joins = files(tmp_path)

    async def run() -> None:
        asked, address = (settings_of(path).node.address for path in (there, joins))
        async with (
            run_node(settings_of(there), catalog_of(["greeting"]), ready=False) as first,
            run_node(settings_of(joins), catalog_of(["greeting"]), ready=False) as newcomer,
            asyncio.timeout(ENOUGH_S),
        ):
            await first.ready()
            await say(first, "ada")
            await add(asked, "node4", address)
            await newcomer.ready()
            await remove(address, "node1", force=True)
            await say(newcomer, "ben")
            found = newcomer.api.query(ListGreetingsQuery(town="oslo"), Greeting)
            assert [each.name async for each in found] == ["ada", "ben"]

    asyncio.run(run())

    shown = capsys.readouterr().out
    assert shown.startswith("metadata/0: learner (0 of ")
    assert "metadata/0: leadership transferred" in shown
    assert re.search(r"metadata/0: removed \((\d+) of \1 done\)\n$", shown)
