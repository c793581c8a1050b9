from __future__ import annotations

import asyncio
from functools import partial

import pytest
from quorate.shards.timing import Background, every, until_beat

from tests.support.sim.loop import Clock, VirtualLoop
from tests.support.sim.world import World


@pytest.fixture
def world() -> World:
    return World(1)


@pytest.fixture
def loop(world: World) -> VirtualLoop:
    return VirtualLoop(world, Clock(world))  # type: ignore[abstract]


def test_what_is_done_at_intervals_wakes_the_node_together(world: World, loop: VirtualLoop) -> None:
    turns: list[float] = []

    def act() -> None:
        turns.append(round(world.now, 3))

    for number, interval_s in enumerate((0.1, 0.1, 0.1, 0.2, 0.5, 1.0)):
        world.run(0.017 * number)
        loop.create_task(every(loop, interval_s, act, "never"))
    world.run(0.15)
    turns.clear()
    world.run(10.15)
    assert len(turns) == pytest.approx(300 + 50 + 20 + 10, abs=5)
    assert len(set(turns)) == 100


def test_a_timer_that_rings_early_does_not_count_twice(world: World, loop: VirtualLoop) -> None:
    world.run(0.9991)
    began = world.now
    ended: list[float] = []
    task = loop.create_task(until_beat(loop, 0.1))
    task.add_done_callback(lambda _: ended.append(world.now))
    world.run(2.0)
    assert [round(at - began, 3) for at in ended] == [0.101]


def test_a_failure_is_not_the_last_act(
    world: World, loop: VirtualLoop, caplog: pytest.LogCaptureFixture
) -> None:
    acts = iter([partial(int, "no"), partial(int, "1"), partial(int, "no")])
    done: list[int] = []
    loop.create_task(every(loop, 0.1, lambda: done.append(next(acts)()), "cannot act"))
    world.run(0.25)
    assert done == [1]
    assert caplog.messages == ["cannot act"] * 2


class Working(Background):
    working = False

    async def _run(self) -> None:
        self.working = True
        try:
            await asyncio.Event().wait()
        finally:
            # A stop that did not wait for it would be over by then.
            await asyncio.sleep(0)
            self.working = False


async def test_nothing_of_work_is_under_way_after_its_stop() -> None:
    work = Working(asyncio.get_running_loop())
    await work.stop()
    work.start()
    await asyncio.sleep(0)
    assert work.working
    await work.stop()
    assert not work.working
