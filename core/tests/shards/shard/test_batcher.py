"""When commands become entries, on a loop whose time a test moves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import cast

import pytest
import uvloop
from quorate.shards.shard.batcher import Batcher
from quorate.shards.shard.writes import Write

from tests.support.sim.loop import Clock, VirtualLoop
from tests.support.sim.world import World

LINGER_S = 0.003
BEHIND_S = 0.02
ENOUGH_BYTES = 50


class Pipeline:
    idle = True
    full = False


def write_of(loop: asyncio.AbstractEventLoop, size: int, count: int = 1) -> Write:
    """Return what a batcher sees of a write."""
    return cast("Write", SimpleNamespace(future=loop.create_future(), size=size, count=count))


class Bench:
    """A batcher with its entries."""

    def __init__(self, batch_bytes: int = 100, max_commands: int = 5) -> None:
        self.world = World(1)
        self.loop = VirtualLoop(self.world, Clock(self.world))  # type: ignore[abstract]
        self.pipeline = Pipeline()
        self.entries: list[tuple[float, list[int]]] = []
        #: How many writes fit into an entry.
        self.room = 1_000
        self.batcher = Batcher(
            self.loop,
            self._propose,
            self.pipeline,
            linger_s=LINGER_S,
            behind_s=BEHIND_S,
            enough_bytes=ENOUGH_BYTES,
            batch_bytes=batch_bytes,
            max_commands=max_commands,
        )

    def _propose(self, writes: Sequence[Write]) -> Sequence[Write]:
        taken, left = writes[: self.room], writes[self.room :]
        self.entries.append((self.world.now, [write.size for write in taken]))
        self.pipeline.idle = False
        return left

    def put(self, size: int, count: int = 1) -> Write:
        write = write_of(self.loop, size, count)
        self.batcher.put(write)
        return write

    @property
    def sizes(self) -> list[list[int]]:
        return [sizes for _, sizes in self.entries]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_an_idle_shard_takes_a_whole_turn_at_once(bench: Bench) -> None:
    for _ in range(3):
        bench.put(10)
    assert bench.entries == []
    bench.world.run(0.0)

    assert bench.entries == [(0.0, [10, 10, 10])]


def test_behind_an_entry_in_flight_commands_wait_for_a_while(bench: Bench) -> None:
    bench.pipeline.idle = False
    bench.put(10)
    bench.world.run(BEHIND_S / 2)
    bench.put(11)
    bench.world.run(BEHIND_S * 0.9)
    assert bench.entries == []
    bench.world.run(BEHIND_S * 1.1)

    assert bench.sizes == [[10, 11]]


def test_a_commit_leaves_those_that_wait_for_others_a_linger_and_no_more(bench: Bench) -> None:
    for _ in range(3):
        bench.put(10)
    bench.world.run(0.0)
    bench.put(11)
    bench.world.run(BEHIND_S / 2)
    bench.batcher.committed()
    bench.batcher.committed()
    bench.world.run(BEHIND_S / 2 + LINGER_S * 0.9)
    assert len(bench.entries) == 1
    bench.world.run(BEHIND_S / 2 + LINGER_S * 1.1)

    assert bench.sizes[1:] == [[11]]


def test_a_linger_that_ends_earlier_stays(bench: Bench) -> None:
    for _ in range(3):
        bench.put(10)
    bench.world.run(0.0)
    bench.pipeline.idle = True
    bench.put(11)
    bench.pipeline.idle = False
    bench.put(12)
    bench.world.run(LINGER_S * 1.1)

    assert bench.sizes[1:] == [[11, 12]]


def test_a_commit_ends_the_linger(bench: Bench) -> None:
    bench.pipeline.idle = False
    bench.put(10)
    bench.world.run(LINGER_S / 2)
    bench.batcher.committed()
    bench.world.run(LINGER_S / 2)
    assert bench.entries == [(LINGER_S / 2, [10])]
    bench.batcher.committed()
    bench.world.run(1.0)

    assert len(bench.entries) == 1


def test_every_write_has_a_time_of_its_own(bench: Bench) -> None:
    bench.put(10)
    bench.put(10)
    bench.world.run(0.0)
    bench.put(11)
    bench.batcher.committed()
    bench.world.run(2 * LINGER_S)
    bench.put(12)
    bench.world.run(2 * LINGER_S + BEHIND_S * 0.9)
    assert bench.sizes == [[10, 10], [11]]
    bench.world.run(2 * LINGER_S + BEHIND_S * 1.1)
    bench.put(13)
    bench.world.run(1.0)

    assert bench.sizes[2:] == [[12], [13]]


def test_bytes_that_have_gone_count_no_more(bench: Bench) -> None:
    bench.put(ENOUGH_BYTES)
    bench.world.run(0.0)
    bench.put(11)
    bench.world.run(BEHIND_S * 0.9)
    assert len(bench.entries) == 1
    bench.world.run(BEHIND_S * 1.1)

    assert bench.sizes[1:] == [[11]]


def test_those_who_were_answered_together_go_on_together(bench: Bench) -> None:
    for _ in range(3):
        bench.put(10)
    bench.world.run(0.0)
    bench.pipeline.idle = True
    bench.put(11)
    bench.batcher.committed()
    bench.world.run(LINGER_S / 2)
    bench.put(12)
    assert bench.sizes == [[10, 10, 10]]
    bench.put(13)
    bench.world.run(LINGER_S / 2)

    assert bench.entries[1:] == [(LINGER_S / 2, [11, 12, 13])]


def test_others_that_do_not_come_are_waited_for_no_longer_than_a_linger(bench: Bench) -> None:
    for _ in range(3):
        bench.put(10)
    bench.world.run(0.0)
    bench.pipeline.idle = True
    bench.put(11)
    bench.world.run(LINGER_S * 0.9)
    assert len(bench.entries) == 1
    bench.world.run(LINGER_S * 1.1)

    assert bench.sizes[1:] == [[11]]


def test_a_writer_alone_never_lingers(bench: Bench) -> None:
    for _ in range(3):
        bench.pipeline.idle = True
        bench.put(10)
        bench.world.run(0.0)

    assert bench.entries == [(0.0, [10])] * 3


def test_a_large_batch_does_not_linger(bench: Bench) -> None:
    bench.pipeline.idle = False
    for _ in range(4):
        bench.put(10)
    bench.world.run(0.0)
    assert bench.entries == []
    bench.put(10)
    bench.world.run(0.0)

    assert bench.sizes == [[10] * 5]


def test_entries_are_bounded_by_bytes_and_commands(bench: Bench) -> None:
    for size, count in ((40, 1), (40, 1), (40, 1), (500, 1), (1, 3), (1, 3), (1, 9)):
        bench.put(size, count)
    bench.world.run(0.0)

    assert bench.sizes == [[40, 40], [40], [500], [1], [1], [1]]


def test_nothing_goes_while_the_pipeline_is_full(bench: Bench) -> None:
    bench.pipeline.full = True
    bench.put(10)
    bench.world.run(1.0)
    assert bench.entries == []
    bench.pipeline.full = False
    bench.batcher.committed()
    bench.world.run(1.0)

    assert bench.sizes == [[10]]


def test_what_did_not_fit_goes_next_in_its_order(bench: Bench) -> None:
    bench.room = 2
    for size in (10, 11, 12, 13, 14):
        bench.put(size)
    bench.world.run(0.0)

    assert bench.sizes == [[10, 11], [12, 13], [14]]


def test_what_is_taken_is_never_proposed(bench: Bench) -> None:
    writes = [bench.put(10), bench.put(10)]
    assert bench.batcher.take() == writes
    bench.world.run(1.0)

    assert bench.entries == []
    assert len(bench.batcher) == 0


def test_what_ended_in_the_queue_is_given_back_once(bench: Bench) -> None:
    bench.pipeline.full = True
    ended, waits = bench.put(90), bench.put(20)
    ended.future.cancel()
    assert bench.batcher.take_ended() == [ended]
    assert bench.batcher.take_ended() == []
    bench.pipeline.full = False
    bench.batcher.committed()
    bench.world.run(1.0)

    assert bench.sizes == [[20]]
    assert list(bench.batcher) == []
    assert not waits.future.done()


def test_without_a_linger_commands_go_on_every_kind_of_loop() -> None:
    entries: list[int] = []

    async def put() -> None:
        loop = asyncio.get_running_loop()
        pipeline = Pipeline()
        pipeline.idle = False

        def propose(writes: Sequence[Write]) -> Sequence[Write]:
            entries.append(len(writes))
            return ()

        batcher = Batcher(
            loop,
            propose,
            pipeline,
            linger_s=0.0,
            behind_s=0.0,
            enough_bytes=ENOUGH_BYTES,
            batch_bytes=ENOUGH_BYTES,
        )
        for _ in range(2):
            batcher.put(write_of(loop, 1))
        async with asyncio.timeout(10):
            while len(batcher):
                await asyncio.sleep(0)

    uvloop.run(put())
    asyncio.run(put())

    assert entries == [2, 2]
