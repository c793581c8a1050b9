"""Shards that are split under their clients."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterable
from pathlib import Path

import pytest
from quorate.client import AsyncClient, RejectedError, connect
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster
from quorate.testing.waiting import PATIENCE_S, until
from quorate.v1 import admin_pb2 as pb

from tests.support.linearizability import check
from tests.support.linearizability.load import Load, Plan
from tests.support.reach import Reach
from tests.support.traffic import KEYS, traffic

ADMIN = "/quorate.v1.AdminService"
ROWS = 500

#: Where the leader of the shard dies.
LED = (
    "split.cutting",
    "split.cut",
    "split.flushed",
    "split.copied",
    "split.forked",
    "split.finishing",
    "split.finished",
    "split.forgetting",
)
#: Where another replica does.
FOLLOWED = ("split.flushed", "split.copied", "split.forked")


async def split(client: AsyncClient, shard: str, into: int) -> list[str]:
    """Split a shard, and return its parts once that is over."""
    request = pb.SplitShardRequest(shard=shard, into=into)
    answer = await client.call(f"{ADMIN}/SplitShard", request, pb.SplitShardResponse)
    return [part.shard for part in answer.parts]


async def slots(client: AsyncClient, shards: Iterable[str] = ()) -> dict[str, int]:
    """Wait until all are founded, and none is split or merged; return how many slots each has.

    The node that is asked may hear of a change later than its caller: name what must be there.
    """
    async with asyncio.timeout(2 * PATIENCE_S):
        while True:
            places = (await client.topology()).shards
            found = {
                f"{each.group}/{each.number}": sum(byte.bit_count() for byte in each.slots)
                for each in places
            }
            over = all(
                place.version and not (place.splits_into or place.merges_into) for place in places
            )
            if over and found.keys() >= set(shards):
                return found
            await asyncio.sleep(0.05)


async def rows(client: AsyncClient) -> dict[bytes, bytes]:
    found = [(pair.key, pair.value) async for pair in client.kv.list("")]
    assert len({key for key, _ in found}) == len(found)
    return dict(found)


async def forgotten(cluster: Cluster, shards: Iterable[str]) -> None:
    """Wait until no leader has rows of foreign slots any more."""

    def done() -> bool:
        said = [node.said for node in cluster.nodes.values()]
        return all(any(f"shard {shard} has looked at" in each for each in said) for shard in shards)

    await asyncio.to_thread(until, done)


@pytest.mark.ci
async def test_a_shard_is_split_and_split_again_and_no_client_notices(tmp_path: Path) -> None:
    """1 shard into 4 and one of these in two: 0 failed, 0 lost, 0 events missed or twice."""
    with Cluster(tmp_path, settings={"timing": QUICK_ELECTIONS}) as cluster:
        await asyncio.to_thread(cluster.ready)
        # A busy machine has elections of its own accord.
        async with connect(cluster.endpoints, timeout_s=PATIENCE_S, exactly_once=True) as client:
            kept = {f"kept{number}/k".encode(): str(number).encode() for number in range(ROWS)}
            for key, value in kept.items():
                await client.kv.put(key, value)
            await client.kv.put("grown/first", b"")
            async with traffic(client) as found:
                while len(found.answered) < KEYS:
                    await asyncio.sleep(0.05)
                parts = await split(client, "metadata/0", 4)
                assert await slots(client, parts) == dict.fromkeys(parts, 256)
                assert await split(client, "metadata/2", 2) == ["metadata/2", "metadata/4"]
                after = await slots(client, [*parts, "metadata/4"])
                assert sorted(after.values()) == [128, 128, 256, 256, 256]
                await forgotten(cluster, after)
            print(f"longest write: {found.longest_s * 1_000:.0f} ms")
            written = {key.encode(): values[-1].encode() for key, values in found.answered.items()}
            expected = {**kept, **written, b"grown/first": b""}
            assert await rows(client) == expected
            for key in kept:
                await client.kv.delete(key)
            # Whoever starts again finds the new shards by itself.
            for node in cluster.nodes.values():
                node.kill()
            for node in cluster.nodes.values():
                node.start()
            await asyncio.to_thread(cluster.ready)
            assert await rows(client) == {**written, b"grown/first": b""}
            assert await slots(client, after) == after


@pytest.mark.full
@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("led", [True, False], ids=["leader", "follower"])
async def test_whoever_dies_at_any_step_a_split_is_carried_out(tmp_path: Path, led: bool) -> None:
    """Each step in a cluster that was split at the steps before."""
    with Cluster(tmp_path, settings={"timing": QUICK_ELECTIONS}) as cluster:
        await asyncio.to_thread(cluster.ready)
        async with connect(cluster.endpoints, exactly_once=True) as client:
            for number in range(ROWS):
                await client.kv.put(f"kept{number}/k", str(number).encode())
            for count, step in enumerate(LED if led else FOLLOWED, 2):
                victim = cluster.nodes["node1"]
                victim.kill()
                victim.failpoint = step
                victim.start()
                await asyncio.to_thread(victim.ready)
                leader = "node1" if led else "node2"
                await lead(client, cluster, leader)
                parts = await split(client, "metadata/0", 2)
                assert await asyncio.to_thread(victim.wait) == -signal.SIGKILL, step
                victim.failpoint = ""
                written = {f"{step}{number}/k": step.encode() for number in range(50)}
                for key, value in written.items():
                    await client.kv.put(key, value)
                victim.start()
                await asyncio.to_thread(cluster.ready)
                after = await slots(client, parts)
                assert len(after) == count, step
                assert sum(after.values()) == 1_024
                found = await rows(client)
                for key, value in written.items():
                    assert found[key.encode()] == value, (step, key)
                assert sum(key.startswith(b"kept") for key in found) == ROWS, step


@pytest.mark.full
@pytest.mark.timeout(600)
async def test_what_clients_see_while_shards_are_split_has_one_order(tmp_path: Path) -> None:
    """1 shard into 8, under clients of four of its slots; in between a leader is killed."""
    with Cluster(tmp_path, settings={"timing": QUICK_ELECTIONS}) as cluster:
        await asyncio.to_thread(cluster.ready)
        addresses = [node.address for node in cluster.nodes.values()]
        async with (
            connect(cluster.endpoints, timeout_s=PATIENCE_S) as client,
            Reach(addresses) as reach,
        ):
            load = Load(reach, Plan(seed=22, operations=1_000_000, teams=4))
            clients = asyncio.create_task(load.run())
            parts = ["metadata/0"]
            for turn in range(3):
                await load.reached(1_000 * (turn + 1))
                for shard in list(parts):
                    parts += (await split(client, shard, 2))[1:]
                if turn == 1:
                    killed = await asyncio.to_thread(cluster.leader)
                    killed.kill()
                    killed.start()
                    await asyncio.to_thread(cluster.ready)
                await slots(client, parts)
            await load.reached(5_000)
            clients.cancel()
            await asyncio.gather(clients, return_exceptions=True)
        print(f"{len(load.history)} operations checked")
        assert len(parts) == 8
        violation = check(load.history)
        assert violation is None, violation


async def lead(client: AsyncClient, cluster: Cluster, node: str) -> None:
    """Have a node lead metadata/0."""
    request = pb.TransferLeaderRequest(shard="metadata/0", node=node)
    async with asyncio.timeout(2 * PATIENCE_S):
        while (leader := await asyncio.to_thread(cluster.leader)).name != node:
            try:
                await client.at(leader.name).call(
                    f"{ADMIN}/TransferLeader", request, pb.TransferLeaderResponse
                )
            except Exception:  # noqa: BLE001 - it is asked again until it leads
                await asyncio.sleep(0.1)


@pytest.mark.ci
async def test_what_cannot_be_split_is_refused_with_what_would_help(tmp_path: Path) -> None:
    with Cluster(tmp_path, nodes=1, settings={"timing": QUICK_ELECTIONS}) as cluster:
        await asyncio.to_thread(cluster.ready)
        async with connect(cluster.endpoints) as client:
            await slots(client)

            async def refused(shard: str, into: int) -> str:
                with pytest.raises(RejectedError) as error:
                    await split(client, shard, into)
                return str(error.value)

            assert "quorate shard list" in await refused("metadata/7", 2)
            assert "quorate shard list" in await refused("nothing/0", 2)
            assert "into 2 to 1024 shards" in await refused("metadata/0", 1)
            assert "into 2 to 1024 shards" in await refused("metadata/0", 1_025)
            request = pb.SplitShardRequest(shard="metadata/0", into=3, check_only=True)
            answer = await client.call(f"{ADMIN}/SplitShard", request, pb.SplitShardResponse)
            assert [part.slots for part in answer.parts] == [341, 341, 342]
            assert len(await slots(client)) == 1


@pytest.mark.ci
async def test_a_shard_that_grows_is_split_by_itself_up_to_a_limit(tmp_path: Path) -> None:
    group = {"split_above_rows": 100, "split_pause_s": 0.5, "most_shards": 3}
    settings: dict[str, dict[str, object]] = {
        "timing": {**QUICK_ELECTIONS},
        "groups": {"metadata": group},
    }
    with Cluster(tmp_path, nodes=1, settings=settings) as cluster:
        await asyncio.to_thread(cluster.ready)
        async with connect(cluster.endpoints) as client:
            for number in range(ROWS):
                await client.kv.put(f"kept{number}/k", b"")
            third = ["metadata/0", "metadata/1", "metadata/2"]
            assert (await slots(client, third)).keys() == set(third)
            assert len(await rows(client)) == ROWS
            # Three shards have more than a hundred rows each, and stay.
            async with asyncio.timeout(2 * PATIENCE_S):
                while not (
                    all("most_shards" in each for each in (await excesses(client)).values())
                    and len(await excesses(client)) == 3
                ):
                    await asyncio.sleep(0.05)
            assert len(await slots(client)) == 3


async def excesses(client: AsyncClient) -> dict[str, str]:
    """Return what shards have too much of."""
    status = await client.call(f"{ADMIN}/Status", pb.NodeStatusRequest(), pb.NodeStatusResponse)
    return {each.shard: each.excess for each in status.shards if each.excess}
