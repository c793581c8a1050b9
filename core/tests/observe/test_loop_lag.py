from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

import pytest
from quorate.observe.loop_lag import LoopLag


class Loop:
    """A loop that comes to what is due when a test lets it."""

    def __init__(self) -> None:
        self.now = 0.0
        self.due: tuple[float, Callable[[], None]] | None = None

    def time(self) -> float:
        return self.now

    def call_later(self, delay_s: float, callback: Callable[[], None]) -> Loop:
        self.due = self.now + delay_s, callback
        return self

    def cancel(self) -> None:
        self.due = None

    def turn(self, late_s: float) -> None:
        assert self.due is not None
        at, callback = self.due
        self.now = at + late_s
        callback()


@pytest.fixture
def loop() -> Loop:
    return Loop()


@pytest.fixture
def lag(loop: Loop) -> LoopLag:
    lag = LoopLag(cast(asyncio.AbstractEventLoop, loop), lambda: loop.now)
    lag.start()
    return lag


def test_each_sample_is_how_late_the_loop_was(loop: Loop, lag: LoopLag) -> None:
    for late_s in (0.0, 0.3, 0.02):
        loop.turn(late_s)

    assert list(lag.late.buckets())[-1] == (float("inf"), 3)
    assert lag.late.total == pytest.approx(0.32)
    assert lag.longest_s == pytest.approx(0.3)


def test_it_looks_at_multiples_of_its_interval(loop: Loop, lag: LoopLag) -> None:
    for late_s in (0.0, 0.03, 0.26):
        loop.turn(late_s)
        assert loop.due is not None
        assert 10 * loop.due[0] == pytest.approx(round(10 * loop.due[0]))
        assert 0.05 <= loop.due[0] - loop.now <= 0.15


def test_a_stop_is_forgotten_after_a_while(loop: Loop, lag: LoopLag) -> None:
    loop.turn(5.0)
    while loop.now < 60:
        loop.turn(0.001)
        assert lag.longest_s == pytest.approx(5.0)
    while loop.now < 70:
        loop.turn(0.001)

    assert lag.longest_s == pytest.approx(0.001)


def test_it_looks_no_more_when_it_is_stopped(loop: Loop, lag: LoopLag) -> None:
    lag.stop()

    assert loop.due is None
