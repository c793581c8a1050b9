"""What twins that block do when the thread that waits is interrupted."""

from __future__ import annotations

import _thread
import asyncio
import signal
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, TypeVar

import pytest
from quorate.client.errors import ClosedError
from quorate.client.twins import (
    Blocking,
    LoopThread,
    blocking,
    entering_twin,
    iterating,
    twinned,
)

R = TypeVar("R")


class Slow:
    """Gives nothing, and takes a while to end."""

    def __init__(self) -> None:
        self.waits = threading.Event()
        self.ended = False

    async def rows(self) -> AsyncGenerator[int, None]:
        try:
            self.waits.set()
            await asyncio.Event().wait()
            yield 0
        finally:
            for _ in range(5):
                await asyncio.sleep(0)
            self.ended = True


class SyncSlow(Blocking[Slow]):
    rows = iterating(Slow.rows)


class Interrupted(LoopThread):
    """Breaks its first wait off, as Ctrl-C does."""

    def __init__(self, slow: Slow) -> None:
        super().__init__()
        self._slow = slow
        self._first = True

    def run(self, coroutine: Coroutine[Any, Any, R]) -> R:
        if not self._first:
            return super().run(coroutine)
        self._first = False
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        assert self._slow.waits.wait(60)
        future.cancel()
        raise KeyboardInterrupt


async def _nothing() -> None:
    pass


def test_rows_that_are_interrupted_are_closed_in_order() -> None:
    slow = Slow()
    thread = Interrupted(slow)
    try:
        with pytest.raises(KeyboardInterrupt):
            next(SyncSlow(thread, slow).rows())
        assert slow.ended
    finally:
        thread.close(_nothing)


def test_a_signal_right_before_the_wait_ends_it() -> None:
    # An earlier test may have left a handler that ignores it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    thread = LoopThread()
    ended = threading.Event()

    async def wait() -> None:
        # As of a signal between the last look at signals and the wait, which no system call hears.
        asyncio.get_running_loop().call_later(0.1, _thread.interrupt_main)
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    try:
        with pytest.raises(KeyboardInterrupt):
            thread.run(wait())
        assert ended.wait(60)
    finally:
        signal.signal(signal.SIGINT, before)
        thread.close(_nothing)


def test_what_ran_out_of_time_by_itself_says_so() -> None:
    thread = LoopThread()

    async def late() -> None:
        raise TimeoutError("late")

    with pytest.raises(TimeoutError, match="late"):
        thread.run(late())
    thread.close(_nothing)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
async def test_a_thread_that_died_is_waited_for_no_more() -> None:
    thread = LoopThread()
    ended: list[bool] = []

    async def die() -> None:
        # It passes through the loop, and ends the thread without a word.
        asyncio.get_running_loop().call_soon(_exit)
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    with pytest.raises(ClosedError):
        thread.run(die())
    assert not ended
    thread.close(_nothing)
    assert ended


def _exit() -> None:
    raise SystemExit


class Room:
    """Has a number, and is entered before anything is in it."""

    def __init__(self, number: int) -> None:
        self._number = number
        self.entered = False

    async def number(self) -> int:
        return self._number

    def beside(self, by: int) -> Room:
        return Room(self._number + by)

    @asynccontextmanager
    async def door(self) -> AsyncIterator[Room]:
        self.entered = True
        yield self
        self.entered = False


class SyncRoom(Blocking[Room]):
    number = blocking(Room.number)


class SyncHouse(Blocking[Room]):
    beside = twinned(Room.beside, SyncRoom)
    door = entering_twin(Room.door, SyncRoom)


def test_what_a_method_returns_or_gives_has_its_own_twin() -> None:
    house = SyncHouse(LoopThread(), Room(7))
    assert house.beside(by=2).number() == 9
    with house.door() as room:
        assert (room.number(), house.asynchronous.entered) == (7, True)
    assert not house.asynchronous.entered
    house.thread.close(_nothing)
