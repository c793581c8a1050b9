"""What the page shows: a node is backed up while it serves, and restored as a cluster."""

from __future__ import annotations

import asyncio
from pathlib import Path

import grpc.aio
import pytest
from quorate.config import Settings
from quorate.node.directory import restore
from quorate.node.node import Node
from quorate.plugin.advanced import Stub
from quorate.plugin.shard_id import METADATA
from quorate.shards.snapshots.backup import Backup, read
from quorate.shards.snapshots.parts import BackupError, BackupTarget
from quorate.testing.installed import catalog_of
from quorate.v1 import admin_pb2
from quorate.v1.admin_pb2 import BackupRequest
from quorate_greeting.v1.commands_pb2 import SayHelloCommand
from quorate_greeting.v1.queries_pb2 import ListGreetingsQuery
from quorate_greeting.v1.rows_pb2 import Greeting

from tests.support.one_node import run_node, settings_of

CATALOG = catalog_of(["greeting"])
ENABLED = '[plugins]\nenabled = ["greeting"]'


async def save(address: str, directory: Path) -> None:
    target = BackupTarget(directory)
    async with grpc.aio.insecure_channel(address) as channel:
        async for each in Stub(
            channel, admin_pb2.DESCRIPTOR.services_by_name["AdminService"]
        ).Backup(BackupRequest()):
            await asyncio.to_thread(target.take, each)


def bring_back(directory: Path, settings: Settings) -> None:
    restore(directory, settings)


def show(directory: Path) -> None:
    for shard, manifest in read(directory).shards.items():
        size = sum(file.size for file in manifest.files)
        print(f"{shard} at index {manifest.record.position.index}: {size} bytes")


async def say(running: Node, name: str) -> None:
    hello = SayHelloCommand(town="oslo", name=name, salutation="hello", ttl_ms=3_600_000)
    await running.router.propose(hello)


async def names(running: Node) -> list[str]:
    found = running.api.query(ListGreetingsQuery(town="oslo"), Greeting)
    return [each.name async for each in found]


def test_a_node_comes_back_as_it_was_when_it_was_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, new, backup = (
        settings_of(tmp_path, CATALOG, name="q1", more=ENABLED),
        settings_of(tmp_path, CATALOG, name="q9", more=ENABLED),
        tmp_path / "backup",
    )

    async def run() -> None:
        async with run_node(old, CATALOG) as running:
            await say(running, "ada")
            await say(running, "ben")
            await save(old.node.address, backup)
            await say(running, "too late")
        await asyncio.to_thread(bring_back, backup, new)
        async with run_node(new, CATALOG) as running:
            await say(running, "cy")
            assert await names(running) == ["ada", "ben", "cy"]
            for shard in running.shards.all():
                assert shard.status().generation == 1
                members = shard.configuration
                assert members is not None
                assert [peer.node for peer in members.peers] == ["q9"]

    asyncio.run(run())

    saved: Backup = read(backup)
    assert METADATA in saved.shards
    assert len(saved.shards) > 1
    show(backup)
    shown = capsys.readouterr().out
    for shard, manifest in saved.shards.items():
        assert f"{shard} at index {manifest.record.position.index}: " in shown


def test_a_directory_that_holds_anything_is_left_alone(tmp_path: Path) -> None:
    old, backup = settings_of(tmp_path, CATALOG, name="q1", more=ENABLED), tmp_path / "backup"

    async def run() -> None:
        async with run_node(old, CATALOG) as running:
            await say(running, "ada")
            await save(old.node.address, backup)
            with pytest.raises(BackupError, match="is not empty"):
                await save(old.node.address, backup)

    asyncio.run(run())

    with pytest.raises(BackupError, match=r"restore into an empty node\.dir"):
        bring_back(backup, old)
