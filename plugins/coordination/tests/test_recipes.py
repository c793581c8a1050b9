"""Counters, queues and barriers of several programs, over a node with its own disk and sockets."""

from __future__ import annotations

import asyncio
from asyncio import run
from collections.abc import Iterator
from pathlib import Path

import pytest
from quorate.client import Client, connect
from quorate.testing.cluster import Cluster
from quorate_coordination.client import Coordination, LeaseLostError, SyncCoordination


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    path: Path = tmp_path_factory.mktemp("recipes")
    with Cluster(path, nodes=1, plugins=["coordination"]) as cluster:
        yield cluster.ready()


def test_a_counter_loses_nothing(cluster: Cluster) -> None:
    async def count() -> None:
        async with connect(cluster.endpoints) as q:
            counter = Coordination(q).counter("counters/hits")
            assert await counter.value() == 0
            values = await asyncio.gather(*(counter.add() for _ in range(20)))
            assert sorted(values) == list(range(1, 21))
            assert await counter.add(-20) == 0

    run(count())


def test_each_item_of_a_queue_is_taken_once_and_in_order(cluster: Cluster) -> None:
    async def pass_on() -> None:
        async with connect(cluster.endpoints) as q:
            queue = Coordination(q).queue("queues/mail")
            waiting = asyncio.create_task(queue.take())
            await queue.put(b"first")
            assert await waiting == b"first"
            await asyncio.gather(*(queue.put(b"%d" % number) for number in range(10)))
            assert await queue.size() == 10
            taken = await asyncio.gather(*(queue.take() for _ in range(10)))
            assert sorted(taken) == [b"%d" % number for number in range(10)]
            for item in (b"a", b"b", b"c"):
                await queue.put(item)
            assert [await queue.take() for _ in range(3)] == [b"a", b"b", b"c"]
            assert await queue.size() == 0

    run(pass_on())


def test_nobody_begins_before_all_have_come_and_ends_before_all_have_left(
    cluster: Cluster,
) -> None:
    async def meet() -> None:
        async with connect(cluster.endpoints) as q:
            barrier = Coordination(q).barrier("barriers/load", 3)
            seen: list[str] = []

            async def party() -> None:
                seen.append("come")
                async with barrier.entered():
                    seen.append("begun")
                    seen.append("done")
                seen.append("left")

            await asyncio.gather(*(party() for _ in range(3)))
            assert seen[:3] == ["come"] * 3
            assert seen[-3:] == ["left"] * 3
            assert await q.kv.get("barriers/load/open") is None

    run(meet())


def test_twins_do_the_same_without_await(cluster: Cluster) -> None:
    with Client(cluster.endpoints) as q:
        coordination = SyncCoordination(q)
        assert coordination.counter("counters/sync").add(3) == 3
        queue = coordination.queue("queues/sync")
        queue.put(b"one")
        assert (queue.size(), queue.take()) == (1, b"one")
        with coordination.barrier("barriers/sync", 1).entered():
            pass


def test_what_a_taker_has_not_done_comes_back_in_its_place_when_it_ends(cluster: Cluster) -> None:
    async def die() -> None:
        async with connect(cluster.endpoints) as q:
            coordination = Coordination(q)
            queue = coordination.queue("queues/orders")
            for item in ("a", "b", "c"):
                await queue.put(item)
            async with queue.taker() as alive:
                async with queue.taker() as dying:
                    first, second = await dying.take(), await dying.take()
                    assert (first.value, second.value) == (b"a", b"b")
                    await dying.done(second)
                    # An answer that was lost: to say it again is safe.
                    await dying.done(second)
                    assert (await alive.take()).value == b"c"
                    with pytest.raises(TimeoutError):
                        await alive.take(wait_s=0.1)
                    waiting = asyncio.create_task(alive.take())
                    await coordination.leases.delete(dying._lease.name)
                    again = await waiting
                    assert again.value == b"a"
                    with pytest.raises(LeaseLostError, match="item 1 was given to another taker"):
                        await dying.done(first)
                    with pytest.raises(LeaseLostError):
                        await dying.take()
                await alive.done(again)
                assert await queue.size() == 1
            assert await queue.take() == b"c"
            assert await queue.size() == 0
            assert [each.key async for each in q.kv.list("queues/orders/")] == [
                b"queues/orders/last"
            ]

    run(die())


def test_a_claim_whose_answer_was_lost_is_given_to_the_same_taker(cluster: Cluster) -> None:
    async def lose() -> None:
        async with connect(cluster.endpoints) as q:
            queue = Coordination(q).queue("queues/lost")
            await queue.put("a")
            async with queue.taker() as taker:
                taken = await taker.take()
                taker._given.clear()
                assert (await taker.take()).value == taken.value

    run(lose())


def test_a_gate_lets_nobody_pass_while_it_is_closed(cluster: Cluster) -> None:
    async def wait() -> None:
        async with connect(cluster.endpoints) as q:
            gate = Coordination(q).gate("gates/load")
            await gate.wait()
            await gate.close("a load is under way")
            waiting = asyncio.create_task(gate.wait())
            done, _ = await asyncio.wait([waiting], timeout=0.2)
            assert not done
            assert await gate.open()
            await waiting
            assert not await gate.open()

    run(wait())


def test_takers_and_gates_without_await(cluster: Cluster) -> None:
    with Client(cluster.endpoints) as q:
        coordination = SyncCoordination(q)
        queue = coordination.queue("queues/sync-takers")
        queue.put("one")
        with queue.taker() as taker:
            taker.done(taker.take(wait_s=5))
            assert (taker.lost, queue.size()) == (False, 0)
        gate = coordination.gate("gates/sync")
        gate.close()
        assert gate.open()
        gate.wait()
