from __future__ import annotations

import asyncio
import random
import socket
import time

import pytest
import uvloop
from quorate.consensus.driver import Alarms
from quorate.consensus.timing import Timing


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_what_is_due_together_rings_in_one_turn(new_loop: type) -> None:
    async def try_it() -> bool:
        loop = asyncio.get_running_loop()
        stood = True
        alarms, turn, rung = Alarms(loop), 0, list[tuple[int, int]]()
        moments, ended = set[int](), loop.create_future()
        due = round(loop.time() + 0.5, 3)

        def later(number: int) -> None:
            rung.append((turn, number))
            if len(rung) == 4:
                ended.set_result(None)

        def ringing(number: int) -> None:
            nonlocal stood
            now = loop.time()
            delay_s = due - now + (number - 2) * 1e-9
            moments.add(alarms.set(delay_s, lambda _: later(number)))
            # On a busy machine time may pass between the two looks at it, which is another delay.
            stood = stood and loop.time() - now < 2e-5
            if number < 3:
                loop.call_later(0.002, ringing, number + 1)

        # They are set in turns of their own, as replicas do, and floating point parts them a bit.
        ringing(0)
        while not ended.done():
            turn += 1
            await asyncio.sleep(0)
        assert loop.time() >= due - 0.001
        if not stood:
            return False
        assert [number for _, number in rung] == [0, 1, 2, 3]
        assert len({each for each, _ in rung}) == len(moments) == 1
        return True

    loop = new_loop()
    try:
        assert any(loop.run_until_complete(asyncio.wait_for(try_it(), 10)) for _ in range(100))
    finally:
        loop.close()


async def test_one_that_sets_the_same_moment_twice_rings_once_for_both() -> None:
    alarms = Alarms(asyncio.get_running_loop())
    rung: list[int] = []
    first = alarms.set(0.01, rung.append)
    second = alarms.set(0.0, rung.append)
    async with asyncio.timeout(10):
        while len(rung) < 2:
            await asyncio.sleep(0.001)
    assert rung == [second, first]


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_after_a_standstill_it_rings_after_what_came_meanwhile(new_loop: type) -> None:
    async def try_it() -> None:
        loop = asyncio.get_running_loop()
        happened: list[str] = []
        ours, theirs = socket.socketpair()
        with ours, theirs:
            ours.setblocking(False)
            loop.add_reader(ours, lambda: happened.append(ours.recv(10).decode()))
            Alarms(loop).set(0.01, lambda _: happened.append("rings"))
            theirs.send(b"read")
            time.sleep(0.2)
            while len(happened) < 2:
                await asyncio.sleep(0.001)
            loop.remove_reader(ours)
        assert happened == ["read", "rings"]

    loop = new_loop()
    try:
        loop.run_until_complete(asyncio.wait_for(try_it(), 10))
    finally:
        loop.close()


def test_leaders_send_heartbeats_at_the_same_moments_and_never_late() -> None:
    timing, rng = Timing(heartbeat_s=0.1), random.Random(1)
    for now in (rng.uniform(0.0, 1e6) for _ in range(1_000)):
        due = timing.next_heartbeat(now)
        assert now < due <= now + timing.heartbeat_s
        assert due / timing.heartbeat_s == pytest.approx(round(due / timing.heartbeat_s), abs=1e-6)


def test_a_heartbeat_at_its_moment_is_not_sent_twice() -> None:
    timing, now = Timing(heartbeat_s=0.1), 0.0
    for number in range(1, 100_000):
        now = timing.next_heartbeat(now)
        assert now == pytest.approx(number * timing.heartbeat_s)
