from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest
from quorate.rpc import large_requests
from quorate.rpc.large_requests import LARGE_BYTES, LargeRequests
from quorate.shards.refusals import ExhaustedError


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine does not make a turn too long."""
    monkeypatch.setattr(large_requests, "_LONGEST_TURN_S", 20.0)


def test_a_large_request_gives_way_for_as_long_as_small_ones_come() -> None:
    clock = Clock()
    large = LargeRequests(clock)
    assert not large.gives_way(LARGE_BYTES)
    assert not large.gives_way(LARGE_BYTES - 1)
    assert large.gives_way(LARGE_BYTES)
    clock.now += 0.24
    assert large.gives_way(LARGE_BYTES)
    clock.now += 0.02
    assert not large.gives_way(LARGE_BYTES)
    assert not large.gives_way(1)
    assert large.gives_way(LARGE_BYTES)


def busy(clock: Clock, **bounds: int) -> LargeRequests:
    """A node that is asked for little as long as the clock stands still."""
    large = LargeRequests(clock, **bounds)
    large.gives_way(1)
    return large


async def test_one_has_its_turn_at_a_time_in_their_order(patience: None) -> None:
    large = busy(Clock())
    went: list[int] = []
    over = [asyncio.Event() for _ in range(3)]

    async def ask(number: int) -> None:
        async with large.turn(LARGE_BYTES):
            went.append(number)
            await over[number].wait()

    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(ask(number))
        for number in range(3):
            while len(went) <= number:
                await asyncio.sleep(0)
            assert went == list(range(number + 1))
            over[number].set()


async def test_a_small_request_meets_an_idle_node_between_two_large_ones() -> None:
    clock = Clock()
    large = busy(clock)
    async with large.turn(LARGE_BYTES):
        clock.now += 0.02
    began = asyncio.get_running_loop().time()
    async with asyncio.timeout(20), large.turn(LARGE_BYTES):
        # Half the time that the first one took, on a clock that may be a millisecond coarse.
        assert asyncio.get_running_loop().time() - began > 0.008


async def test_a_request_that_waits_itself_does_not_hold_up_the_others_for_long() -> None:
    large = busy(Clock())
    async with asyncio.timeout(20), AsyncExitStack() as stack:
        for _ in range(3):
            await stack.enter_async_context(large.turn(LARGE_BYTES))
    async with asyncio.timeout(20), large.turn(LARGE_BYTES):
        pass


async def test_one_that_is_cancelled_leaves_its_place_to_the_next(patience: None) -> None:
    large = busy(Clock(), waiting_bytes=LARGE_BYTES)
    has = asyncio.Event()

    async def ask() -> None:
        async with large.turn(LARGE_BYTES):
            has.set()

    async with asyncio.timeout(20):
        async with large.turn(LARGE_BYTES):
            waiting = asyncio.create_task(ask())
            await asyncio.sleep(0)
            with pytest.raises(ExhaustedError, match="try again after 2000 ms"):
                await large.turn(LARGE_BYTES).__aenter__()
            waiting.cancel()
            await asyncio.wait([waiting])
            waiting = asyncio.create_task(ask())
            await asyncio.sleep(0)
            assert not has.is_set()
        await waiting
    assert has.is_set()


async def test_nothing_waits_once_no_small_requests_come(patience: None) -> None:
    clock = Clock()
    large = busy(clock)
    has = asyncio.Event()

    async def ask() -> None:
        async with large.turn(LARGE_BYTES):
            has.set()

    async with asyncio.timeout(20), large.turn(LARGE_BYTES):
        waiting = asyncio.create_task(ask())
        await asyncio.sleep(0)
        assert not has.is_set()
        clock.now += 1.0
        await waiting
    # It took nobody's turn: the next one has it as soon as the first is over.
    large.gives_way(1)
    async with asyncio.timeout(20), large.turn(LARGE_BYTES):
        pass
