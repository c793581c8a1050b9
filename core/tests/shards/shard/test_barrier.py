"""How many reads share a question to the leader, on a loop whose time a test moves."""

from __future__ import annotations

import asyncio

import pytest
import uvloop
from quorate.consensus.reads import ReadOutcome
from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.barrier import Barrier

from tests.support.sim.loop import Clock, VirtualLoop
from tests.support.sim.world import World

LINGER_S = 0.003
RETRY_S = 0.1


class Bench:
    """A barrier with the times of its questions; each is answered when a test says so."""

    def __init__(self) -> None:
        self.world = World(1)
        self.loop = VirtualLoop(self.world, Clock(self.world))  # type: ignore[abstract]
        self.asked: list[tuple[float, int]] = []
        self.barrier = Barrier(
            ShardId("metadata", 0),
            self.loop,
            lambda token: self.asked.append((self.world.now, token)),
            lambda: False,
            applied=5,
            linger_s=LINGER_S,
            retry_s=RETRY_S,
        )

    def read(self, number: int = 1) -> list[asyncio.Future[int]]:
        return [self.barrier.read(30.0) for _ in range(number)]

    def answer(self, index: int | None = 5) -> None:
        self.barrier.answered([ReadOutcome(self.asked[-1][1], index)])

    @property
    def times(self) -> list[float]:
        # The loop's timers ring a microsecond late.
        return [round(time, 5) for time, _ in self.asked]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_the_reads_of_a_turn_share_a_question(bench: Bench) -> None:
    reads = bench.read(3)
    bench.world.run(0.0)
    bench.answer()

    assert len(bench.asked) == 1
    assert [read.result() for read in reads] == [5, 5, 5]


def test_a_reader_alone_never_lingers(bench: Bench) -> None:
    for _ in range(3):
        [read] = bench.read()
        bench.world.run(0.0)
        bench.answer()
        assert read.done()

    assert bench.times == [0.0, 0.0, 0.0]


def test_a_read_never_joins_a_question_that_was_asked_before_it(bench: Bench) -> None:
    [early] = bench.read()
    bench.world.run(0.0)
    [late] = bench.read()
    bench.answer()
    assert (early.done(), late.done()) == (True, False)
    bench.world.run(0.0)
    bench.answer()

    assert late.done()
    assert len(bench.asked) == 2


def test_all_that_come_while_a_question_is_under_way_share_the_next_one(bench: Bench) -> None:
    bench.read()
    bench.world.run(0.0)
    for number in range(20):
        bench.read()
        bench.world.run(number * LINGER_S)
    assert bench.times == [0.0]
    bench.answer()
    bench.world.run(bench.world.now)
    assert len(bench.asked) == 2


def test_a_question_without_an_answer_holds_the_next_one_up_for_a_while(bench: Bench) -> None:
    bench.read()
    bench.world.run(0.0)
    bench.read()
    bench.world.run(RETRY_S * 0.9)
    assert bench.times == [0.0]
    bench.world.run(1.0)

    assert bench.times == [0.0, RETRY_S]


def test_without_a_leader_it_asks_less_and_less_often_and_at_once_when_there_is_one(
    bench: Bench,
) -> None:
    [read] = bench.read()
    bench.world.run(0.0)
    for pause_s in (RETRY_S, 2 * RETRY_S, 4 * RETRY_S, 8 * RETRY_S, 10 * RETRY_S, 10 * RETRY_S):
        asked_at = bench.world.now
        bench.answer(None)
        bench.world.run(asked_at + pause_s + LINGER_S)
        assert round(bench.asked[-1][0] - asked_at, 2) == pytest.approx(pause_s)
    bench.answer(None)
    bench.barrier.led()
    bench.world.run(bench.world.now)
    bench.answer()
    assert read.done()

    bench.read()
    bench.world.run(bench.world.now)
    asked_at = bench.world.now
    bench.answer(None)
    bench.world.run(asked_at + RETRY_S + LINGER_S)
    assert round(bench.asked[-1][0] - asked_at, 2) == pytest.approx(RETRY_S)


def test_the_answer_ends_the_wait_of_those_who_wait_for_others(bench: Bench) -> None:
    bench.read(2)
    bench.world.run(0.0)
    bench.read()
    bench.answer()
    bench.world.run(1.0)

    assert bench.times == [0.0, LINGER_S]


def test_those_who_were_answered_together_come_together_again(bench: Bench) -> None:
    bench.read(3)
    bench.world.run(0.0)
    bench.answer()
    for _ in range(2):
        bench.read()
        bench.world.run(0.0)
        assert len(bench.asked) == 1
    bench.read()
    bench.world.run(0.0)

    assert bench.times == [0.0, 0.0]


def test_others_that_do_not_come_are_waited_for_no_longer_than_a_linger(bench: Bench) -> None:
    bench.read(3)
    bench.world.run(0.0)
    bench.answer()
    bench.read(2)
    bench.world.run(1.0)

    assert bench.times == [0.0, LINGER_S]


def test_a_read_without_an_answer_is_asked_for_again_in_a_while(bench: Bench) -> None:
    [read] = bench.read()
    bench.world.run(0.0)
    bench.answer(None)
    [joins] = bench.read()
    bench.world.run(RETRY_S * 0.9)
    assert bench.times == [0.0]
    bench.world.run(1.0)
    bench.answer()

    assert bench.times == [0.0, RETRY_S]
    assert read.done()
    assert joins.done()


def test_nothing_is_asked_once_it_has_ended(bench: Bench) -> None:
    [first] = bench.read()
    bench.world.run(0.0)
    [second] = bench.read()
    bench.barrier.end(RuntimeError("closed"))
    bench.world.run(1.0)

    assert len(bench.asked) == 1
    assert isinstance(first.exception(), RuntimeError)
    assert isinstance(second.exception(), RuntimeError)


def test_without_a_linger_reads_go_on_every_kind_of_loop() -> None:
    """A loop that is late has no time left to linger, and its timers are none then."""
    served: list[int] = []

    async def read() -> None:
        loop = asyncio.get_running_loop()
        asked: list[int] = []
        barrier = Barrier(
            ShardId("metadata", 0),
            loop,
            asked.append,
            lambda: False,
            applied=5,
            linger_s=0.0,
            retry_s=RETRY_S,
        )
        # The second time two of three have come.
        for number in (3, 2):
            reads = [barrier.read(30.0) for _ in range(number)]
            async with asyncio.timeout(10):
                while not asked:
                    await asyncio.sleep(0)
                barrier.answered([ReadOutcome(asked.pop(), 5)])
                served.append(sum(await asyncio.gather(*reads)))

    uvloop.run(read())
    asyncio.run(read())

    assert served == [15, 10, 15, 10]
