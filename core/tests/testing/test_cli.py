"""Commands of plugins, run by the kit: on a node in memory, and where a client asks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib import import_module
from typing import Any

import click
import pytest
from quorate.cli import installed
from quorate.cli.installed import InstalledPlugins
from quorate.cli.terminal import Terminal
from quorate.client import Client, InvalidError, RejectedError
from quorate.plugin import CliCommand, Console, keys
from quorate.plugin.catalog import Catalog
from quorate.testing import Cli, MemoryClient, MemoryNode
from quorate.testing.memory_client import SyncMemoryClient
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.kv_pb2 import PutPair, PutPairReply

pytest_plugins = ["quorate.testing.fixtures"]

Made = Callable[[Any], Cli]


@click.group("sample")
def command() -> None:
    """See notes."""


@command.command()
@click.argument("owner")
@click.option("--text", prompt=True)
@click.pass_obj
def write(console: Console, owner: str, text: str) -> None:
    """Write a note."""
    pb: Any = import_module("kit_sample.v1.notes_pb2")
    note = console.client().execute(pb.WriteNote(owner=owner, text=text), pb.Note)
    console.print([{"owner": note.owner, "text": note.text}])


@command.command()
def stumble() -> None:
    """Fail as a bug does."""
    raise KeyError("note")


@pytest.fixture
def node(catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> MemoryNode:
    """A node whose plugin is installed and adds a command."""
    offered = CliCommand(name="sample", help="See notes.", load=lambda: command)
    declared = replace(catalog.declared["sample"], all=(offered,))
    plugins = InstalledPlugins(declared=[declared], problems=[])
    monkeypatch.setattr(Terminal, "plugins", plugins)
    monkeypatch.setattr(installed, "command_of", lambda *_: ("sample", offered.load))
    return MemoryNode(catalog=catalog, shards={"sample": 2})


def test_a_command_is_run_and_what_it_shows_is_kept(node: MemoryNode, cli: Made) -> None:
    ran = cli(node).run("sample", "write", "ada", input="hello\n")

    assert (ran.exit_code, ran.error) == (0, "")
    assert ran.rows == [{"owner": "ada", "text": "hello"}]
    assert "ada" in ran.output
    assert list(node.rows("sample.notes")) == [keys.pack("ada")]


@pytest.mark.parametrize(
    ("arguments", "exit_code", "error"),
    [
        (("write", "ada", "--text", "again"), 1, "ALREADY_EXISTS: ada"),
        (("write", "", "--text", "x"), 2, "owner: must not be empty"),
        (("write",), 2, "Missing argument 'OWNER'"),
        (("stumble",), 1, "KeyError: 'note'; this is a bug"),
    ],
)
def test_a_failure_is_what_a_user_meets(
    node: MemoryNode, cli: Made, arguments: tuple[str, ...], exit_code: int, error: str
) -> None:
    quorate = cli(node)
    quorate.run("sample", "write", "ada", "--text", "first")

    ran = quorate.run("sample", *arguments)

    assert ran.exit_code == exit_code
    assert error in ran.error
    assert ran.rows == []


def test_a_client_of_the_test_is_asked(cli: Made) -> None:
    with Client("127.0.0.1:1") as client:
        assert cli(client).client is client


@pytest.fixture
def memory(node: MemoryNode) -> Iterator[SyncMemoryClient]:
    client = SyncMemoryClient(MemoryClient(node))
    yield client
    client.close()


def test_a_node_in_memory_is_asked_as_a_cluster_is(memory: SyncMemoryClient) -> None:
    pb: Any = import_module("kit_sample.v1.notes_pb2")
    note = memory.execute(pb.WriteNote(owner="ada"), pb.Note)
    assert note.owner == "ada"
    with pytest.raises(RejectedError, match="ALREADY_EXISTS"):
        memory.execute(pb.WriteNote(owner="ada"), pb.Note)
    with pytest.raises(InvalidError, match="internal"):
        memory.execute(pb.EraseNote(owner="ada"), pb.Note)
    shards = {memory.shard_of("sample", keys.pack(owner)) for owner in "abcdefgh"}
    assert shards == {"sample/0", "sample/1"}
    assert [(each.group, each.number) for each in memory.topology().shards][-2:] == [
        ("sample", 0),
        ("sample", 1),
    ]
    with pytest.raises(InvalidError, match="no group"):
        memory.shard_of("stranger", b"")


def test_batches_are_answered_as_one_and_methods_are_called() -> None:
    with Cli(MemoryNode(["kv"])) as cli:
        client: Any = cli.client
        assert client.kv.put(b"k", b"v").revision
        assert client.kv.get(b"k").value == b"v"
        reply = client.execute_all([], timeout_s=1.0)
        assert reply == BatchReply()
        assert client.execute(PutPair(key=b"l"), PutPairReply).revision
