from __future__ import annotations

import asyncio
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from quorate.consensus.journal import Position
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.plugin import keys
from quorate.plugin.shard_id import ShardId
from quorate.shards.snapshots.backup import Backup, folder_of, parts, read, restore
from quorate.shards.snapshots.parts import MANIFEST, BackupError, BackupTarget
from quorate.shards.watching.feeds import Feed, Lost
from quorate.shards.watching.tokens import WatchToken
from quorate.shards.watching.watches import Watches
from quorate.storage.data.home import DiskHome, MemoryHome
from quorate.storage.data.record import AppliedRecord
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch
from quorate.storage.families import NODES, SHARDS
from quorate.v1 import control_pb2

if TYPE_CHECKING:
    from quorate.apply.entries import LoggedCommand

    from core.tests.steered import Cluster

METADATA, KV = ShardId("metadata", 0), ShardId("kv", 3)
ME = Peer("alone", 77)


async def back_up(
    shards: Mapping[ShardId, ShardData],
    directory: Path,
    *,
    cluster: bytes,
    loop: asyncio.AbstractEventLoop,
) -> None:
    target = BackupTarget(directory)
    async with aclosing(parts(shards, cluster=cluster, loop=loop)) as coming:
        async for part in coming:
            target.take(part)


def elsewhere(*_: object) -> Feed:
    raise AssertionError("every shard is here")


@pytest.fixture
def data(tmp_path: Path) -> Iterator[dict[ShardId, ShardData]]:
    """Two shards that a cluster of three nodes has written."""
    opened = {
        shard: ShardData.open(DiskHome(tmp_path / "node" / folder_of(shard)), ("kv.rows",))
        for shard in (KV, METADATA)
    }
    members = Configuration.of(Member(Peer(name, ord(name))) for name in "abc")
    for at, (shard, each) in enumerate(opened.items(), 40):
        batch = Batch()
        for number in range(100):
            batch.put("kv.rows", b"%d" % number, b"%d" % at)
        if shard == METADATA:
            row = control_pb2.ShardRow(group="kv", number=3, version=9, slots=bytes(128))
            for peer in members.peers:
                row.members.add(node=peer.node, replica=peer.replica)
            stored = (7 << 20).to_bytes(8) + row.SerializeToString()
            batch.put(SHARDS, keys.pack("kv", 3), stored)
            batch.put(NODES, b"a", (6 << 20).to_bytes(8) + b"declared")
        record = AppliedRecord(Position(at, 6), 3, members.encode(), 1_000 + at, 123, 4)
        each.commit(batch, record)
    yield opened
    for each in opened.values():
        each.close()


@pytest.fixture
def directory(data: dict[ShardId, ShardData], tmp_path: Path) -> Path:
    """A backup of them."""
    target = tmp_path / "backup"

    async def run() -> None:
        await back_up(data, target, cluster=b"\x01\x02", loop=asyncio.get_running_loop())

    asyncio.run(run())
    return target


def restored(directory: Path, tmp_path: Path) -> dict[ShardId, ShardData]:
    restore(directory, lambda shard: DiskHome(tmp_path / "new" / folder_of(shard)), ME)
    return {
        shard: ShardData.open(DiskHome(tmp_path / "new" / folder_of(shard)), ("kv.rows",))
        for shard in (METADATA, KV)
    }


def test_a_restored_shard_is_the_node_s_own_in_a_new_generation(
    directory: Path, tmp_path: Path
) -> None:
    for shard, data in restored(directory, tmp_path).items():
        at = 40 if shard == KV else 41
        # Whatever was written after the backup had lower revisions.
        index = 1 << 34
        assert data.record == AppliedRecord(
            Position(index, 6),
            index,
            Configuration.of([Member(ME)]).encode(),
            1_000 + at,
            123,
            5,
        )
        # The log is reset to it when it is opened.
        assert data.installed == Position(index, 6)
        rows = dict(data.iterate("kv.rows", b"", None))
        assert rows == {b"%d" % n: b"%d" % at for n in range(100)}
        data.close()


def test_the_restored_node_is_the_member_of_every_shard(directory: Path, tmp_path: Path) -> None:
    new = restored(directory, tmp_path)
    [(key, stored)] = new[METADATA].iterate(SHARDS, b"", None)
    row = control_pb2.ShardRow.FromString(stored[8:])

    assert key == keys.pack("kv", 3)
    assert [(member.node, member.replica) for member in row.members] == [ME]
    assert (row.version, row.slots) == (9, bytes(128))
    assert list(new[METADATA].iterate(NODES, b"", None)) == []
    for data in new.values():
        data.close()


def test_a_backup_of_a_shard_that_goes_on_is_of_one_moment(
    data: dict[ShardId, ShardData], directory: Path, tmp_path: Path
) -> None:
    batch = Batch()
    batch.put("kv.rows", b"later", b"")
    data[KV].commit(batch, data[KV].record)

    new = restored(directory, tmp_path)

    assert new[KV].get("kv.rows", b"later") is None
    for each in new.values():
        each.close()


def test_metadata_comes_last(
    data: dict[ShardId, ShardData], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[ShardData] = []
    flush = ShardData.flush

    def noted(each: ShardData) -> None:
        flushed.append(each)
        flush(each)

    monkeypatch.setattr(ShardData, "flush", noted)

    async def run() -> None:
        target = tmp_path / "other"
        await back_up(data, target, cluster=b"", loop=asyncio.get_running_loop())

    asyncio.run(run())

    assert flushed == [data[KV], data[METADATA]]


def test_no_copy_is_left_in_the_node(data: dict[ShardId, ShardData], tmp_path: Path) -> None:
    folders = sorted(path.name for path in (tmp_path / "node").glob("*/*/"))

    async def run() -> None:
        target = tmp_path / "other"
        await back_up(data, target, cluster=b"", loop=asyncio.get_running_loop())

    asyncio.run(run())

    assert sorted(path.name for path in (tmp_path / "node").glob("*/*/")) == folders


def test_a_backup_goes_into_an_empty_directory(
    data: dict[ShardId, ShardData], directory: Path
) -> None:
    async def run() -> None:
        await back_up(data, directory, cluster=b"", loop=asyncio.get_running_loop())

    with pytest.raises(BackupError, match="is not empty: name an empty directory, or a new one"):
        asyncio.run(run())


def test_a_shard_without_state_is_not_backed_up(tmp_path: Path) -> None:
    async def run() -> None:
        data = {KV: ShardData.open(MemoryHome(), ())}
        await back_up(data, tmp_path / "b", cluster=b"", loop=asyncio.get_running_loop())

    with pytest.raises(BackupError, match="shard kv/3 has no state yet"):
        asyncio.run(run())


def test_without_its_manifest_it_is_no_backup(directory: Path) -> None:
    (directory / MANIFEST).unlink()

    with pytest.raises(BackupError, match="it is no backup, or an unfinished one"):
        read(directory)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[]",
        b"{}",
        b'{"format": 2, "cluster": "", "shards": {}}',
        b'{"format": 1, "cluster": "", "shards": {"kv/1": {}}}',
        b'{"format": 1, "cluster": "", "shards": {"../1": {}}}',
        b'{"format": 1, "cluster": 3, "shards": {}}',
    ],
)
def test_a_manifest_that_cannot_be_read(directory: Path, content: bytes) -> None:
    (directory / MANIFEST).write_bytes(content)

    with pytest.raises(BackupError, match=f"{MANIFEST} cannot be read"):
        read(directory)


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    if content:
        content[len(content) // 2] ^= 1
    path.write_bytes(content)


@pytest.mark.ci
@pytest.mark.parametrize(
    "damage",
    [
        pytest.param(flipped, id="a byte"),
        pytest.param(lambda path: path.write_bytes(path.read_bytes()[:-1]), id="cut"),
        pytest.param(lambda path: path.unlink(), id="gone"),
    ],
)
def test_damage_of_any_file_is_found_and_named(
    directory: Path, tmp_path: Path, damage: Callable[[Path], object]
) -> None:
    files = sorted(path for path in directory.glob("*/*") if path.is_file())
    assert len(files) > 6
    for number, path in enumerate(files):
        copy = tmp_path / f"copy{number}"
        shutil.copytree(directory, copy)
        damaged = copy / path.relative_to(directory)
        damage(damaged)
        if damaged.exists() and damaged.read_bytes() == path.read_bytes():
            # It is empty.
            continue
        shard = path.parent.name.replace("-", "/")
        with pytest.raises(BackupError, match=f"shard {shard} cannot be restored") as refused:
            restored(copy, tmp_path / f"node{number}")
        assert path.name in str(refused.value)


def test_no_bit_of_a_manifest_changes_what_it_says(directory: Path) -> None:
    content = (directory / MANIFEST).read_bytes()
    said, found = read(directory), 0
    for at in range(len(content)):
        for bit in (0, 1, 4):
            flipped = bytes([*content[:at], content[at] ^ (1 << bit), *content[at + 1 :]])
            try:
                assert Backup.decode(flipped) == said, (at, bit)
            except ValueError:
                found += 1
    assert found > len(content)
    with pytest.raises(ValueError, match="Expecting"):
        Backup.decode(content[:-9])


def test_a_node_that_is_not_empty_is_left_alone(
    directory: Path, tmp_path: Path, data: dict[ShardId, ShardData]
) -> None:
    before = data[KV].record
    with pytest.raises(BackupError, match="restore into an empty node"):
        restore(directory, lambda s: DiskHome(tmp_path / "node" / folder_of(s)), ME)
    assert data[KV].record == before


def test_the_manifest_is_readable(directory: Path) -> None:
    content = json.loads((directory / MANIFEST).read_bytes())

    assert content["cluster"] == "0102"
    assert content["shards"]["kv/3"]["index"] == 40


def test_a_restored_cluster_goes_on(
    new_cluster: Callable[..., Cluster],
    new_row: Callable[[str, str], LoggedCommand],
    tmp_path: Path,
) -> None:
    """Backed up, restored into a node that is alone, started, written: old watches list again."""
    old = new_cluster()
    for number in range(20):
        old.propose(new_row(f"row{number}", "old"))
    leader = old.leader

    async def save() -> None:
        shards = {METADATA: leader.metadata.data}
        await back_up(shards, tmp_path / "backup", cluster=b"c", loop=leader.loop)

    old.result(leader.loop.create_task(save()))
    token = WatchToken(b"c", 0, {METADATA: leader.metadata.revision}).encode()
    old.propose(new_row("lost", "after the backup"))

    new = new_cluster("z", settled=False)
    node = new.nodes["z"]
    node.kill()
    home = MemoryHome()
    restore(tmp_path / "backup", lambda _: home, node.peer)
    node.__init__(new, "z", {})  # type: ignore[misc]
    node.homes[METADATA] = home
    node.start()
    new.propose(new_row("row3", "new"))

    assert node.rows() == {f"row{n}": "new" if n == 3 else "old" for n in range(20)}
    assert node.metadata.status().generation == 1
    assert node.metadata.configuration == Configuration.of([Member(node.peer)])
    watches = Watches(
        b"c",
        node.shards.get,
        elsewhere,
        loop=node.loop,
    )
    watch = node.run(lambda: watches.open({"toy.rows": b""}, (METADATA,), token))
    seen = new.result(node.loop.create_task(watch.__anext__()))
    assert seen.resync
    assert watch.lost == Lost("shard metadata/0 was restored or recovered").reason
    old.world.dispose()
    new.world.dispose()


def test_a_backup_lacks_no_shard_that_the_slot_map_has(
    data: dict[ShardId, ShardData], tmp_path: Path
) -> None:
    """A restored node would found it anew, empty, and say nothing."""

    async def run() -> None:
        given = {METADATA: data[METADATA]}
        loop = asyncio.get_running_loop()
        await back_up(given, tmp_path / "part", cluster=b"", loop=loop)

    with pytest.raises(BackupError, match="kv/3 has no replica on this node, and none"):
        asyncio.run(run())
    assert not (tmp_path / "part" / MANIFEST).exists()
