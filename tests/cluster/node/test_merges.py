"""Shards that are merged under their clients."""

from __future__ import annotations

import asyncio
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from quorate.client import AsyncClient, ChangeKind, RejectedError, connect
from quorate.shards.topology_rows import MERGING
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster
from quorate.testing.waiting import PATIENCE_S
from quorate.v1 import admin_pb2 as pb

from tests.cluster.node.test_splits import forgotten, rows, slots, split
from tests.support.linearizability import check
from tests.support.linearizability.load import Load, Plan
from tests.support.reach import Reach

ADMIN = "/quorate.v1.AdminService"
ROWS = 300
KEYS: Final = 40

#: Where the leader of both shards dies, and of the new one.
LED = (
    "merge.freezing",
    "merge.half_frozen",
    "merge.frozen",
    "merge.finishing",
    "merge.finished",
    "merge.uniting",
    "merge.added",
    "merge.copied",
    "merge.united",
    "merge.settling",
    "merge.settled",
)
#: Where another replica does.
FOLLOWED = ("merge.uniting", "merge.added", "merge.copied", "merge.united")


async def merge(client: AsyncClient, one: str, other: str, node: str = "") -> str:
    """Begin to merge two shards, and return the new one."""
    request = pb.MergeShardsRequest(shard=one, other=other)
    asked = client.at(node) if node else client
    answer = await asked.call(f"{ADMIN}/MergeShards", request, pb.MergeShardsResponse)
    return answer.shard


async def begun(client: AsyncClient, one: str, other: str) -> str | None:
    """Begin to merge two shards; None while one of them is still being merged."""
    try:
        return await merge(client, one, other)
    except RejectedError as refusal:
        if refusal.code != MERGING:
            raise
        return None


async def merged(client: AsyncClient, one: str, other: str) -> str:
    """Merge two shards, and return the new one once a majority has it.

    A machine that is too busy to freeze both in time takes a merge back: it is begun again. A shard
    that was merged just now is settled a little later than it has its slots.
    """
    async with asyncio.timeout(2 * PATIENCE_S):
        while (new := await begun(client, one, other)) is None:
            await asyncio.sleep(0.05)
        while (found := await places(client)).keys() & {one, other} or not slots_of(found, new):
            place = found.get(one)
            if place is not None and place.unmerged and not place.merges_into:
                print(f"{one} was not merged: {place.unmerged}")
                # Unless that node has not heard that it was begun again.
                with suppress(RejectedError):
                    new = await merge(client, one, other)
            await asyncio.sleep(0.05)
    return new


async def places(client: AsyncClient) -> dict[str, pb.ShardPlace]:
    """Return the shards as a node knows them."""
    return {f"{each.group}/{each.number}": each for each in (await client.topology()).shards}


def slots_of(found: dict[str, pb.ShardPlace], shard: str) -> int:
    """Return how many slots a shard has."""
    return sum(byte.bit_count() for byte in found[shard].slots) if shard in found else 0


class Watcher:
    """Follows all rows of a prefix, and lists them again after RESYNC."""

    def __init__(self) -> None:
        self.rows: dict[str, bytes] = {}
        self.resyncs = 0

    async def follow(self, client: AsyncClient) -> None:
        async for change in client.watch("kv", prefix=b"m"):
            if change.kind is ChangeKind.RESYNC:
                self.resyncs += 1
                self.rows.clear()
            elif change.kind is ChangeKind.DELETED:
                self.rows.pop(change.key.decode(), None)
            else:
                known = int(self.rows.get(change.key.decode(), b"-1"))
                assert int(change.value) >= known, "a row went back"
                self.rows[change.key.decode()] = change.value


@pytest.mark.ci
async def test_four_shards_become_two_and_no_client_notices(tmp_path: Path) -> None:
    """metadata/0 into four, and three of these into one: 0 failed, 0 lost, 0 twice."""
    with Cluster(tmp_path, settings={"timing": QUICK_ELECTIONS}) as cluster:
        await asyncio.to_thread(cluster.ready)
        async with connect(cluster.endpoints, exactly_once=True) as client:
            kept = {f"kept{number}/k".encode(): b"1" for number in range(ROWS)}
            for key, value in kept.items():
                await client.kv.put(key, value)
            watchers = [Watcher() for _ in range(2)]
            following = [asyncio.create_task(each.follow(client)) for each in watchers]
            written: dict[str, bytes] = {}
            longest, over = [0.0], asyncio.Event()

            async def write() -> None:
                number = 0
                while not over.is_set():
                    number += 1
                    key, sent = f"m{number % KEYS}/k", time.monotonic()
                    await client.kv.put(key, str(number).encode())
                    written[key] = str(number).encode()
                    longest[0] = max(longest[0], time.monotonic() - sent)
                    await asyncio.sleep(0.01)

            writing = asyncio.create_task(write())
            parts = await split(client, "metadata/0", 4)
            await slots(client, parts)
            await forgotten(cluster, parts)
            before = longest[0]
            longest[0] = 0.0
            new = await merged(client, "metadata/1", "metadata/2")
            last = await merged(client, new, "metadata/3")
            assert await slots(client, [last]) == {"metadata/0": 256, last: 768}
            over.set()
            await writing
            print(
                f"longest write: {longest[0] * 1_000:.0f} ms, of the split {before * 1_000:.0f} ms"
            )
            expected = kept | {key.encode(): value for key, value in written.items()}
            assert await rows(client) == expected
            with suppress(TimeoutError):
                async with asyncio.timeout(PATIENCE_S):
                    while any(each.rows != written for each in watchers):
                        await asyncio.sleep(0.05)
            assert [each.rows for each in watchers] == [written] * len(watchers)
            assert all(each.resyncs for each in watchers)
            for task in following:
                task.cancel()
            await asyncio.gather(*following, return_exceptions=True)
            # Whoever starts again finds the new shard by itself, and nothing of the others.
            for node in cluster.nodes.values():
                node.kill()
            for node in cluster.nodes.values():
                node.start()
            await asyncio.to_thread(cluster.ready)
            assert await rows(client) == expected


@pytest.mark.full
@pytest.mark.timeout(1_500)
@pytest.mark.parametrize("led", [True, False], ids=["leader", "follower"])
async def test_whoever_dies_at_any_step_a_merge_is_carried_out(tmp_path: Path, led: bool) -> None:
    """Each step with two shards that were made for it."""
    with Cluster(tmp_path, settings={"timing": QUICK_ELECTIONS}) as cluster:
        await asyncio.to_thread(cluster.ready)
        async with connect(cluster.endpoints, exactly_once=True) as client:
            for number in range(ROWS):
                await client.kv.put(f"kept{number}/k", str(number).encode())
            parts = await split(client, "metadata/0", 2)
            await slots(client, parts)
            [shard] = parts[1:]
            for step in LED if led else FOLLOWED:
                halves = await split(client, shard, 2)
                await slots(client, halves)
                await forgotten(cluster, halves)
                victim = cluster.nodes["node1"]
                victim.kill()
                victim.failpoint = step
                victim.start()
                await asyncio.to_thread(victim.ready)
                for each in halves:
                    await lead(client, each, "node1" if led else "node2")
                one, other = halves
                shard = await merge(client, one, other, "node1" if led else "node2")
                assert await asyncio.to_thread(victim.wait) == -signal.SIGKILL, step
                victim.failpoint = ""
                written = {f"{step}{number}/k": step.encode() for number in range(20)}
                for key, value in written.items():
                    await client.kv.put(key, value)
                victim.start()
                await asyncio.to_thread(cluster.ready)
                async with asyncio.timeout(2 * PATIENCE_S):
                    while (found := await places(client)).keys() & {*halves}:
                        await asyncio.sleep(0.1)
                assert slots_of(found, shard) == 512, step
                there = await rows(client)
                for key, value in written.items():
                    assert there[key.encode()] == value, (step, key)
                assert sum(key.startswith(b"kept") for key in there) == ROWS, step


@pytest.mark.full
@pytest.mark.timeout(600)
async def test_what_clients_see_while_shards_are_merged_has_one_order(tmp_path: Path) -> None:
    """4 shards into 2, under clients of four of their slots; in between a leader is killed."""
    with Cluster(tmp_path, settings={"timing": QUICK_ELECTIONS}) as cluster:
        await asyncio.to_thread(cluster.ready)
        addresses = [node.address for node in cluster.nodes.values()]
        async with (
            connect(cluster.endpoints, timeout_s=PATIENCE_S) as client,
            Reach(addresses) as reach,
        ):
            load = Load(reach, Plan(seed=23, operations=1_000_000, teams=4))
            clients = asyncio.create_task(load.run())
            await load.reached(1_000)
            parts = await split(client, "metadata/0", 4)
            await slots(client, parts)
            await load.reached(2_000)
            await forgotten(cluster, parts)
            new = await merged(client, "metadata/1", "metadata/2")
            await load.reached(3_000)
            killed = cluster.nodes[(await places(client))[new].leader or "node1"]
            killed.kill()
            killed.start()
            await asyncio.to_thread(cluster.ready)
            last = await merged(client, new, "metadata/3")
            await load.reached(5_000)
            assert await slots(client, [last]) == {"metadata/0": 256, last: 768}
            clients.cancel()
            await asyncio.gather(clients, return_exceptions=True)
        print(f"{len(load.history)} operations checked")
        violation = check(load.history)
        assert violation is None, violation


async def lead(client: AsyncClient, shard: str, node: str) -> None:
    """Have a node lead a shard."""
    request = pb.TransferLeaderRequest(shard=shard, node=node)
    async with asyncio.timeout(2 * PATIENCE_S):
        while (leader := (await places(client))[shard].leader) != node:
            try:
                await client.at(leader).call(
                    f"{ADMIN}/TransferLeader", request, pb.TransferLeaderResponse
                )
            except Exception:  # noqa: BLE001 - it is asked again until it leads
                await asyncio.sleep(0.1)


@pytest.mark.ci
async def test_what_cannot_be_merged_is_refused_with_what_would_help(tmp_path: Path) -> None:
    settings: dict[str, dict[str, object]] = {
        "timing": {**QUICK_ELECTIONS},
        "groups": {"metadata": {"shards": 3}},
    }
    with Cluster(tmp_path, nodes=1, settings=settings) as cluster:
        await asyncio.to_thread(cluster.ready)
        async with connect(cluster.endpoints) as client:
            await slots(client, ["metadata/2"])

            async def refused(one: str, other: str) -> str:
                with pytest.raises(RejectedError) as error:
                    await merge(client, one, other)
                return str(error.value)

            assert "quorate shard list" in await refused("metadata/1", "metadata/7")
            assert "stays" in await refused("metadata/0", "metadata/1")
            assert "not two shards" in await refused("metadata/1", "metadata/1")
            request = pb.MergeShardsRequest(shard="metadata/1", other="metadata/2", check_only=True)
            answer = await client.call(f"{ADMIN}/MergeShards", request, pb.MergeShardsResponse)
            assert answer.slots == slots_of(await places(client), "metadata/1") + slots_of(
                await places(client), "metadata/2"
            )
            assert len(await slots(client)) == 3
            assert await merged(client, "metadata/1", "metadata/2") == answer.shard
            # The number in the files is the one that the group was founded with.
            [node] = cluster.nodes.values()
            node.kill()
            node.start()
            await asyncio.to_thread(cluster.ready)
            assert len(await slots(client)) == 2
