"""Every moment of a cluster is restored from its archive, and no other."""

from __future__ import annotations

import asyncio
import os
import random
import shutil
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from quorate.cli import archiving
from quorate.cli.main import main
from quorate.client import AsyncClient, connect
from quorate.config import load
from quorate.node.directory import restore, sandboxed, verify
from quorate.shards.snapshots.parts import BackupError
from quorate.storage.archive import Archive
from quorate.storage.backup_stores import Place, place_of
from quorate.storage.rows import value_of
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster
from quorate.testing.waiting import PATIENCE_S
from quorate.v1 import admin_pb2 as pb
from quorate.v1.kv_pb2 import Pair

from tests.support import object_store

#: How long the load is of which any moment is restored, and how many of them are.
LOAD_S = float(os.environ.get("QUORATE_RESTORE_LOAD_S", "600"))
MOMENTS = 20
SPLIT = "/quorate.v1.AdminService/SplitShard"


@asynccontextmanager
async def archived(
    client: AsyncClient, directory: Place, backup_every_s: float = 3_600.0
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


async def rows(directory: Path, archive: Place, until_ms: int | None) -> dict[bytes, bytes]:
    """Return what a cluster holds that is restored."""
    with Cluster(directory, nodes=1, settings={"timing": QUICK_ELECTIONS}, tls=False) as cluster:
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
    with Cluster(tmp_path / "cluster", settings={"timing": QUICK_ELECTIONS}, tls=False) as cluster:
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
                await until(lambda: archive.complete("metadata-0").until_ms > last)
            # It goes on where it ended.
            async with archived(client, path) as archive:
                await written(client, range(25, 30))
                last = now_ms()
                await until(lambda: archive.complete("metadata-0").until_ms > last)
    for number, (moment, count) in enumerate([(first, 10), (second, 20), (None, 30)]):
        assert await rows(tmp_path / f"restored{number}", path, moment) == expected(count)

    settings = load(tmp_path / "cluster" / "node1.toml", {}, {})
    for moment, said in ((1_000, "begins at"), (now_ms() + 3_600_000, "complete until")):
        (tmp_path / "empty").mkdir(exist_ok=True)
        moved = settings.node.model_copy(update={"dir": tmp_path / "empty"})
        with pytest.raises(BackupError, match=said):
            restore(path, settings.model_copy(update={"node": moved}), moment)
    assert {line.split(":")[0] for line in verify(path)} == {"metadata/0"}
    whole = pairs_of(path, tmp_path / "whole", last)
    assert whole == {key.decode(): value for key, value in expected(30).items()}
    entries = sorted(path.glob("entries/*/*"))
    manifests = sorted(path.rglob("*.json"))
    files = [*manifests, path / "until" / "metadata-0", entries[-1], *random.choices(entries, k=5)]
    for number, file in enumerate(files):
        copy = tmp_path / f"damaged{number}"
        shutil.copytree(path, copy)
        said = damage(copy / file.relative_to(path), number)
        # It is found, or does no harm.
        with suppress(BackupError):
            assert pairs_of(copy, tmp_path / f"sandbox{number}", last) == whole, said


def pairs_of(archive: Place, sandbox: Path, until_ms: int) -> dict[str, bytes]:
    """Return the pairs at a moment, without a cluster."""
    with sandboxed(archive, sandbox, until_ms) as shards:
        return {
            key.decode(): Pair.FromString(value_of(stored)).value
            for data in shards.values()
            if "kv.pairs" in data.families
            for key, stored in data.iterate("kv.pairs", b"", None)
        }


def damage(file: Path, kind: int) -> str:
    """Flip a bit of a file, cut it or remove it, and say so."""
    content = bytearray(file.read_bytes())
    at = random.randrange(len(content)) if content else 0
    if kind % 3 == 0 and content:
        content[at] ^= 1 << random.randrange(8)
        file.write_bytes(content)
        return f"flipped byte {at} of {file}"
    if kind % 3 == 1 and content:
        file.write_bytes(content[:at])
        return f"cut {file} to {at} bytes"
    file.unlink()
    return f"removed {file}"


@pytest.mark.full
@pytest.mark.timeout(LOAD_S + 600)
async def test_any_second_of_a_load_has_what_was_answered_until_then(tmp_path: Path) -> None:
    path, began = tmp_path / "archive", time.monotonic()
    #: Of each writer when each of its writes began and was answered, by Unix time in ms.
    writes: list[list[tuple[float, float]]] = [[] for _ in range(8)]

    async def write(client: AsyncClient, number: int) -> None:
        while time.monotonic() < began + LOAD_S:
            begun, count = time.time(), len(writes[number])
            await client.kv.put(f"{number}/{count:06}", b"", timeout_s=PATIENCE_S)
            writes[number].append((begun * 1_000, time.time() * 1_000))

    async def kill(cluster: Cluster) -> None:
        while time.monotonic() < began + LOAD_S:
            victim = await asyncio.to_thread(cluster.leader)
            victim.kill()
            await asyncio.sleep(1)
            victim.start()
            await asyncio.to_thread(cluster.ready)
            await asyncio.sleep(LOAD_S / 20)

    with Cluster(tmp_path / "cluster", settings={"timing": QUICK_ELECTIONS}, tls=False) as cluster:
        await asyncio.to_thread(cluster.ready)
        async with (
            connect(cluster.endpoints, exactly_once=True) as client,
            archived(client, path, backup_every_s=LOAD_S / 4) as archive,
        ):
            first = now_ms()
            async with asyncio.TaskGroup() as group:
                group.create_task(kill(cluster))
                for number in range(len(writes)):
                    group.create_task(write(client, number))
            last = now_ms()
            await until(lambda: archive.complete("metadata-0").until_ms > last)

    inflight = 0
    for number in range(MOMENTS):
        moment = random.randint(first, last)
        found = pairs_of(path, tmp_path / f"at{number}", moment)
        counts = Counter(int(key.split("/")[0]) for key in found)
        for writer, each in enumerate(writes):
            answered = sum(1 for _, at in each if at <= moment)
            begun = sum(1 for at, _ in each if at < moment + 1)
            inflight += begun - answered
            assert answered <= counts[writer] <= begun, (writer, moment)
        written = {f"{writer}/{n:06}" for writer, count in counts.items() for n in range(count)}
        assert set(found) == written, moment
        shutil.rmtree(tmp_path / f"at{number}")
    total = sum(map(len, writes))
    print(f"{total} writes, {MOMENTS} moments, {inflight} writes under way at them")
    assert total > LOAD_S
    # Within the millisecond of a moment a writer may end one write and begin the next.
    assert inflight <= 2 * MOMENTS * len(writes)


@pytest.mark.full
async def test_an_object_store_keeps_backups_and_archives(tmp_path: Path) -> None:
    with (
        object_store.bucket("archives") as bucket,
        Cluster(
            tmp_path / "cluster", nodes=1, settings={"timing": QUICK_ELECTIONS}, tls=False
        ) as cluster,
    ):
        await asyncio.to_thread(cluster.ready)
        place = place_of(f"{bucket}/archive")
        async with connect(cluster.endpoints) as client, archived(client, place) as archive:
            first = await written(client, range(10))
            await written(client, range(10, 20))
            last = now_ms()
            await until(lambda: archive.complete("metadata-0").until_ms > last)
        for command in (
            ["backup", f"{bucket}/backup", "--endpoints", cluster.endpoints],
            ["backup", f"{bucket}/backup", "--verify"],
            ["backup", f"{bucket}/archive", "--verify"],
        ):
            assert await asyncio.to_thread(main, command) == 0
        whole, early = expected(20), expected(10)
        assert pairs_of(place, tmp_path / "a", first) == {k.decode(): v for k, v in early.items()}
        for name, moment, pairs in (
            ("backup", None, whole),
            ("archive", None, whole),
            ("archive", first, early),
        ):
            restored = tmp_path / f"{name}{moment}"
            assert await rows(restored, place_of(f"{bucket}/{name}"), moment) == pairs
        (place_of(f"{bucket}/backup") / "backup.json").unlink()
        assert await asyncio.to_thread(main, ["backup", f"{bucket}/backup", "--verify"]) == 1


@pytest.mark.full
async def test_a_split_begins_a_new_backup_and_backups_agree_with_entries(tmp_path: Path) -> None:
    path = tmp_path / "archive"
    with Cluster(tmp_path / "cluster", settings={"timing": QUICK_ELECTIONS}, tls=False) as cluster:
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
                lambda: all(archive.complete(f"metadata-{n}").until_ms > last for n in (0, 1))
            )
    said = list(verify(path))
    assert any("and the entries since have the rows of" in line for line in said), said
    assert await rows(tmp_path / "restored", path, None) == expected(40)
