"""The loop on virtual time: what the runtime asks of one, and what a process's end does to it."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.sim.loop import Clock, VirtualLoop
from tests.support.sim.world import World


@pytest.fixture
def world() -> World:
    return World(1)


@pytest.fixture
def loop(world: World) -> VirtualLoop:
    return VirtualLoop(world, Clock(world))  # type: ignore[abstract]


def test_a_task_waits_on_virtual_time(world: World, loop: VirtualLoop) -> None:
    seen: list[float] = []

    async def work() -> None:
        over = loop.create_future()
        loop.call_later(30.0, over.set_result, None)
        await over
        seen.append(loop.time())

    loop.create_task(work())
    world.run(60.0)
    assert seen == [pytest.approx(30.0)]


def test_work_of_a_thread_happens_at_its_end(world: World, loop: VirtualLoop) -> None:
    seen: list[float] = []
    loop.run_in_executor(None, lambda: seen.append(world.now))
    world.run(0.0005)
    assert not seen
    world.run(1.0)
    assert seen == [0.001]


def test_one_thread_does_one_thing_at_a_time(world: World, loop: VirtualLoop) -> None:
    seen: list[float] = []
    with ThreadPoolExecutor(1) as alone:
        for _ in range(3):
            loop.run_in_executor(alone, lambda: seen.append(world.now))
        world.run(1.0)
    assert seen == [pytest.approx(0.001), pytest.approx(0.002), pytest.approx(0.003)]


def test_what_a_thread_raises_is_for_who_waits(world: World, loop: VirtualLoop) -> None:
    done = loop.run_in_executor(None, int, "no number")
    world.run(1.0)
    with pytest.raises(ValueError, match="no number"):
        done.result()


def test_nothing_happens_behind_the_end_and_no_cleanup_has_an_effect(
    world: World, loop: VirtualLoop
) -> None:
    seen: list[str] = []

    async def work() -> None:
        try:
            await loop.create_future()
        finally:
            await loop.run_in_executor(None, seen.append, "cleaned up")

    loop.create_task(work())
    loop.run_in_executor(None, seen.append, "worked")
    loop.call_later(0.5, seen.append, "called")
    world.run(0.0005)
    loop.end()
    world.run(1.0)
    world.dispose()
    assert seen == []


def test_a_paused_loop_goes_on_with_what_came_meanwhile(world: World, loop: VirtualLoop) -> None:
    seen: list[int] = []
    loop.pause()
    for number in (1, 2):
        loop.call_soon(seen.append, number)
    world.run(1.0)
    assert not seen
    loop.resume()
    world.run(2.0)
    assert seen == [1, 2]


def test_what_comes_from_outside_is_taken_at_once_unless_the_loop_is_paused(
    world: World, loop: VirtualLoop
) -> None:
    seen: list[tuple[float, int]] = []

    def take(number: int) -> None:
        assert asyncio.get_running_loop() is loop
        seen.append((world.now, number))

    loop.run(take, 1)
    assert seen == [(0.0, 1)]
    loop.pause()
    loop.run(take, 2)
    world.run(1.0)
    assert seen == [(0.0, 1)]
    loop.resume()
    world.run(2.0)
    assert seen == [(0.0, 1), (1.0, 2)]
    loop.end()
    loop.run(take, 3)
    assert len(seen) == 2


def test_what_a_callback_raises_ends_the_run(world: World, loop: VirtualLoop) -> None:
    loop.call_soon(int, "no number")
    with pytest.raises(ValueError, match="no number"):
        world.run(1.0)
