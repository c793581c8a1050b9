"""What the page shows, on real databases: a node is backed up while it serves, and restored."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from google.protobuf.message import Message
from quorate.apply.control import METADATA
from quorate.apply.outcomes import Outcome
from quorate.config.sections import LimitsSection
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.consensus.timing import Timing
from quorate.groups.groups import Groups
from quorate.groups.node_shards import NodeShards
from quorate.groups.routing.forwarding import ForwardedAnswers
from quorate.groups.shard.log_keeper import TailJournal
from quorate.groups.shard.settings import ShardSettings
from quorate.groups.shard.shard import Shard
from quorate.groups.snapshots.backup import Backup, BackupError, back_up, read, restore
from quorate.storage.data.home import DiskHome
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.rocks import RocksEngine
from quorate.storage.identity import replica_id
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.sync_loop import SyncLoop
from quorate.storage.log.witness import FileWitnesses
from quorate.storage.shard_id import ShardId
from quorate.testing.installed import catalog_of
from quorate_greeting.v1.commands_pb2 import SayHelloCommand
from quorate_greeting.v1.queries_pb2 import ListGreetingsQuery
from quorate_greeting.v1.rows_pb2 import Greeting

CLUSTER = b"the cluster's id"
SETTINGS = ShardSettings(timing=Timing(heartbeat_s=0.02, election_min_s=0.06, election_max_s=0.09))


async def save(shards: NodeShards, target: Path, cluster: bytes) -> Backup:
    data = {shard.id: shard.data for shard in shards.all()}
    return await back_up(data, target, cluster=cluster, loop=asyncio.get_running_loop())


def bring_back(backup: Path, directory: Path, node: str) -> Backup:
    me = Peer(node, replica_id(directory))
    return restore(backup, lambda shard: DiskHome(directory / str(shard)), me)


def show(backup: Path) -> None:
    for shard, manifest in read(backup).shards.items():
        size = sum(file.size for file in manifest.files)
        print(f"{shard} at index {manifest.record.position.index}: {size} bytes")


def give_up(error: Exception) -> None:
    raise error


class Alone:
    """A node that is its whole cluster: nobody is to be sent to."""

    def send(self, *_: object) -> None:
        """Send nothing."""

    def needed(self, *_: object) -> None:
        """Send no snapshot."""


@asynccontextmanager
async def node(directory: Path, name: str, *, founds: bool = False) -> AsyncIterator[NodeShards]:
    """Run a node with one member, once its shards know their slots."""
    loop = asyncio.get_running_loop()
    me, catalog, alone = Peer(name, replica_id(directory)), catalog_of(["greeting"]), Alone()
    log = NodeLog(RocksEngine(directory / "log", [FAMILY]), FileWitnesses(directory / "witness"))
    syncs = SyncLoop(log, loop, lambda number: shards.synced(number), give_up)

    def new_shard(shard: ShardId, data: ShardData, journal: TailJournal) -> Shard:
        return Shard(
            shard,
            me,
            catalog,
            data,
            journal,
            peers=alone,
            syncs=syncs,
            snapshots=alone,
            loop=loop,
            clock=loop.time,
            wall_ms=lambda: time.time_ns() // 1_000_000,
            rng=random.Random(1),
            settings=SETTINGS,
        )

    async def submit(shard: ShardId, message: Message) -> object:
        return await groups_of(shards).propose_control(shard, message)

    shards = NodeShards(
        me,
        "127.0.0.1:1",
        catalog,
        log,
        lambda shard: DiskHome(directory / str(shard)),
        new_shard,
        configured={},
        loop=loop,
        failed=give_up,
    )
    shards.open(Configuration.of([Member(me)]) if founds else None, submit)
    try:
        await formed(shards)
        yield shards
    finally:
        await shards.close()
        await syncs.close()
        log.close()


async def formed(shards: NodeShards) -> None:
    """Wait until every shard that is declared is there and knows its slots."""
    wanted = sum(shards.declared.values())
    async with asyncio.timeout(30):
        while sum(shard.applier.slots.version > 0 for shard in shards.all()) < wanted:
            await asyncio.sleep(0.005)


def groups_of(shards: NodeShards) -> Groups:
    return Groups(
        shards.me.node,
        catalog_of(["greeting"]),
        shards,
        Nowhere(),
        loop=asyncio.get_running_loop(),
        limits=LimitsSection(),
    )


class Nowhere:
    """There is no other node."""

    async def propose(self, node: str, request: object) -> Outcome:
        raise AssertionError(f"{request} was sent to {node}")

    async def query(self, node: str, request: object) -> ForwardedAnswers:
        raise AssertionError(f"{request} was sent to {node}")


async def say(shards: NodeShards, name: str) -> None:
    hello = SayHelloCommand(town="oslo", name=name, salutation="hello", ttl_ms=3_600_000)
    await groups_of(shards).propose(hello)


async def names(shards: NodeShards) -> list[str]:
    groups = groups_of(shards)
    return [each.name async for each in groups.query(ListGreetingsQuery(town="oslo"), Greeting)]


def test_a_node_comes_back_as_it_was_when_it_was_saved(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def run() -> Backup:
        async with node(tmp_path / "old", "q1", founds=True) as shards:
            await say(shards, "ada")
            await say(shards, "ben")
            saved = await save(shards, tmp_path / "backup", CLUSTER)
            await say(shards, "too late")
        assert bring_back(tmp_path / "backup", tmp_path / "new", "q9") == saved
        async with node(tmp_path / "new", "q9") as shards:
            await say(shards, "cy")
            assert await names(shards) == ["ada", "ben", "cy"]
            for shard in shards.all():
                assert shard.status().generation == 1
                members = shard.configuration
                assert members is not None
                assert [peer.node for peer in members.peers] == ["q9"]
        return saved

    saved = asyncio.run(run())

    assert METADATA in saved.shards
    assert len(saved.shards) > 1
    assert read(tmp_path / "backup") == saved
    show(tmp_path / "backup")
    shown = capsys.readouterr().out
    for shard, manifest in saved.shards.items():
        assert f"{shard} at index {manifest.record.position.index}: " in shown


def test_a_directory_that_holds_anything_is_left_alone(tmp_path: Path) -> None:
    async def run() -> None:
        async with node(tmp_path / "old", "q1", founds=True) as shards:
            await say(shards, "ada")
            await save(shards, tmp_path / "backup", CLUSTER)
            with pytest.raises(BackupError, match="is not empty"):
                await save(shards, tmp_path / "backup", CLUSTER)

    asyncio.run(run())

    with pytest.raises(BackupError, match="restore into an empty node"):
        bring_back(tmp_path / "backup", tmp_path / "old", "q1")
