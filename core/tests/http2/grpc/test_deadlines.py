"""Deadlines of calls share timers, and leave none behind."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from quorate.http2.grpc.deadlines import Deadlines

_YEAR_S = 365 * 24 * 3_600.0


class Late:
    def __init__(self) -> None:
        self.expired = asyncio.Event()

    def expire(self) -> None:
        self.expired.set()


async def test_a_deadline_that_was_removed_leaves_nothing() -> None:
    loop = asyncio.get_running_loop()
    deadlines, late = Deadlines(loop), Late()
    for number in range(100):
        deadlines.remove(late, deadlines.add(late, loop.time() + _YEAR_S + number))

    assert not deadlines._due


async def test_others_of_the_same_moment_still_expire() -> None:
    loop = asyncio.get_running_loop()
    deadlines, gone, late = Deadlines(loop), Late(), Late()
    at = loop.time()
    deadlines.remove(gone, deadlines.add(gone, at))
    grain = deadlines.add(late, at)
    deadlines.remove(gone, grain)

    await asyncio.wait_for(late.expired.wait(), 10)
    assert not gone.expired.is_set()
    assert not deadlines._due


async def test_one_timer_does_for_all_deadlines(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = asyncio.get_running_loop()
    deadlines, soon, late = Deadlines(loop), Late(), Late()
    set_for: list[float] = []
    call_at = loop.call_at

    def counted(when: float, *rest: Any, **more: Any) -> asyncio.TimerHandle:
        set_for.append(when)
        return call_at(when, *rest, **more)

    monkeypatch.setattr(loop, "call_at", counted)
    now = loop.time()
    for number in range(5_000):
        # Few are left at a time, as of calls that are answered.
        deadlines.remove(late, deadlines.add(late, now + 100 + number))
    assert len(set_for) == 1
    assert set_for[0] <= now + 61
    assert len(deadlines._grains) < 2_000

    deadlines.add(late, now + 0.06)
    deadlines.add(soon, now + 0.02)
    await asyncio.wait_for(late.expired.wait(), 10)
    assert soon.expired.is_set()
    assert loop.time() >= now + 0.06
    assert not deadlines._due
