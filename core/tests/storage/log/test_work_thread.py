from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from functools import partial

import pytest
from quorate.storage.log.work_thread import WorkThread


@pytest.fixture
async def thread() -> AsyncIterator[WorkThread]:
    thread = WorkThread(asyncio.get_running_loop(), "worker")
    yield thread
    thread.close()


async def test_work_is_done_in_its_order_in_one_thread(thread: WorkThread) -> None:
    threads: list[str] = []
    ended: list[str] = []
    last = asyncio.get_running_loop().create_future()
    for number in range(3):
        thread.start(
            lambda: threads.append(threading.current_thread().name),
            partial(lambda number, error: ended.append(f"{number} {error}"), number),
        )
    thread.start(lambda: None, last.set_result)

    assert await asyncio.wait_for(last, 10) is None
    assert threads == ["worker"] * 3
    assert ended == ["0 None", "1 None", "2 None"]


async def test_an_error_is_for_the_loop_and_the_thread_goes_on(thread: WorkThread) -> None:
    loop = asyncio.get_running_loop()
    first, second = loop.create_future(), loop.create_future()
    thread.start(lambda: int("none"), first.set_result)  # type: ignore[arg-type]
    thread.start(lambda: None, second.set_result)

    assert isinstance(await asyncio.wait_for(first, 10), ValueError)
    assert await asyncio.wait_for(second, 10) is None


async def test_what_was_started_is_done_before_the_end() -> None:
    thread = WorkThread(asyncio.get_running_loop(), "worker")
    done: list[int] = []
    for number in range(3):
        thread.start(partial(done.append, number), lambda _: None)
    thread.close()

    assert done == [0, 1, 2]
    WorkThread(asyncio.get_running_loop(), "unused").close()


def test_a_loop_that_has_ended_is_told_nothing() -> None:
    loop = asyncio.new_event_loop()
    thread = WorkThread(loop, "worker")
    loop.close()
    done = threading.Event()
    thread.start(done.set, lambda _: pytest.fail("there is no loop"))
    thread.close()

    assert done.is_set()
