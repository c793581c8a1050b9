"""Every moment of a cluster is restored from its archive, and no other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from quorate.cli import archiving
from quorate.client import AsyncClient, connect
from quorate.config import load
from quorate.groups.snapshots.parts import BackupError
from quorate.node.directory import restore, verify
from quorate.storage.archive import Archive
from quorate.testing.cluster import Cluster
from quorate.testing.waiting import PATIENCE_S
from quorate.v1 import admin_pb2 as pb

TIMING = {"heartbeat_ms": 50, "election_min_ms": 200, "election_max_ms": 400}
SPLIT = "/quorate.v1.AdminService/SplitShard"


@asynccontextmanager
async def archived(
    client: AsyncClient, directory: Path, backup_every_s: float = 3_600.0
) -> AsyncIterator[Archive]:
    """Keep an archive."""
    following = asyncio.create_task(
        archiving.follow(
            client,
            directory,
            every_s=0.2,
            backup_every_s=backup_every_s,
            keep_s=None,
            say=print,
        )
    )
    try:
        await until(
            lambda: Archive.exists(directory) and bool(Archive(directory).backups()), following
        )
        yield Archive(directory)
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following


async def until(true: object, following: asyncio.Task[None] | None = None) -> None:
    assert callable(true)
    async with asyncio.timeout(PATIENCE_S):
        while not true():
            if following is not None and following.done():
                following.result()
            await asyncio.sleep(0.02)


def now_ms() -> int:
    return int(time.time() * 1_000)


async def written(client: AsyncClient, numbers: range) -> int:
    """Write pairs one after the other; return a moment after them, and before all that follow."""
    for number in numbers:
        await client.kv.put(f"k{number:03}/k", str(number).encode())
        await client.kv.put("last/k", str(number).encode())
    await asyncio.sleep(0.05)
    moment = now_ms()
    await asyncio.sleep(0.05)
    return moment


async def rows(directory: Path, archive: Path, until_ms: int | None) -> dict[bytes, bytes]:
    """Return what a cluster holds that is restored."""
    with Cluster(directory, nodes=1, settings={"timing": TIMING}, tls=False) as cluster:
        [node] = cluster.nodes.values()
        node.kill()
        for path in sorted(node.directory.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        restore(archive, load(node.file, {}, {}), until_ms)
        node.start()
        await asyncio.to_thread(cluster.ready)
        async with connect(cluster.endpoints) as client:
            return {pair.key: pair.value async for pair in client.kv.list("")}


def expected(count: int) -> dict[bytes, bytes]:
    pairs = {f"k{number:03}/k".encode(): str(number).encode() for number in range(count)}
    return {**pairs, b"last/k": str(count - 1).encode()}


@pytest.mark.ci
async def test_any_moment_is_restored_although_leaders_are_killed(tmp_path: Path) -> None:
    path = tmp_path / "archive"
    with Cluster(tmp_path / "cluster", settings={"timing": TIMING}, tls=False) as cluster:
        await asyncio.to_thread(cluster.ready)
        async with connect(cluster.endpoints, exactly_once=True) as client:
            await client.kv.put("k000/k", b"0")
            async with archived(client, path) as archive:
                first = await written(client, range(10))
                victim = await asyncio.to_thread(cluster.leader)
                victim.kill()
                second = await written(client, range(10, 20))
                victim.start()
                await asyncio.to_thread(cluster.ready)
                await written(client, range(20, 25))
                last = now_ms()
                await until(lambda: archive.complete_until_ms("metadata-0") > last)
            # It goes on where it ended.
            async with archived(client, path) as archive:
                await written(client, range(25, 30))
                last = now_ms()
                await until(lambda: archive.complete_until_ms("metadata-0") > last)
    for number, (moment, count) in enumerate([(first, 10), (second, 20), (None, 30)]):
        assert await rows(tmp_path / f"restored{number}", path, moment) == expected(count)

    settings = load(tmp_path / "cluster" / "node1.toml", {}, {})
    for moment, said in ((1_000, "begins at"), (now_ms() + 3_600_000, "complete until")):
        (tmp_path / "empty").mkdir(exist_ok=True)
        moved = settings.node.model_copy(update={"dir": tmp_path / "empty"})
        with pytest.raises(BackupError, match=said):
            restore(path, settings.model_copy(update={"node": moved}), moment)
    assert {line.split(":")[0] for line in verify(path)} == {"metadata/0"}
    [file] = sorted(path.glob("entries/metadata-0/*"))[:1]
    damaged = bytearray(file.read_bytes())
    damaged[-1] ^= 1
    file.write_bytes(bytes(damaged))
    with pytest.raises(BackupError, match="is damaged: restore to a moment before it"):
        list(verify(path))


@pytest.mark.full
async def test_a_split_begins_a_new_backup_and_backups_agree_with_entries(tmp_path: Path) -> None:
    path = tmp_path / "archive"
    with Cluster(tmp_path / "cluster", settings={"timing": TIMING}, tls=False) as cluster:
        await asyncio.to_thread(cluster.ready)
        async with (
            connect(cluster.endpoints) as client,
            archived(client, path, backup_every_s=2.0) as archive,
        ):
            await written(client, range(20))
            await until(lambda: len(archive.backups()) > 2)
            request = pb.SplitShardRequest(shard="metadata/0", into=2)
            await client.call(SPLIT, request, pb.SplitShardResponse)
            await until(lambda: (archive.backups()[-1] / "metadata-1").exists())
            await written(client, range(20, 40))
            last = now_ms()
            await until(
                lambda: all(archive.complete_until_ms(f"metadata-{n}") > last for n in (0, 1))
            )
    said = list(verify(path))
    assert any("and the entries since have the rows of" in line for line in said), said
    assert await rows(tmp_path / "restored", path, None) == expected(40)
