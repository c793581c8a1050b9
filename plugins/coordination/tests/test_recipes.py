"""Counters, queues and barriers of several programs, over a node with its own disk and sockets."""

from __future__ import annotations

import asyncio
from asyncio import run
from collections.abc import Iterator
from pathlib import Path

import pytest
from quorate.client import Client, connect
from quorate.testing.cluster import Cluster
from quorate_coordination.client import Coordination, SyncCoordination


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
