"""Others follow a replica, and release its database in time."""

from __future__ import annotations

from functools import partial

import pytest
from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.callbacks import StoreReaders, Subscribers

from tests.support.sim.loop import Clock, VirtualLoop
from tests.support.sim.world import World


@pytest.fixture
def world() -> World:
    return World(1)


@pytest.fixture
def loop(world: World) -> VirtualLoop:
    return VirtualLoop(world, Clock(world))  # type: ignore[abstract]


def test_one_call_covers_all_entries_applied_before_it(world: World, loop: VirtualLoop) -> None:
    applied = 0
    heard: list[int] = []
    subscribers = Subscribers(ShardId("toy", 0), loop, lambda: applied)
    cancel = subscribers.subscribe(heard.append)
    for _ in range(3):
        applied += 1
        subscribers.inform()
    assert heard == []
    world.run(1.0)
    assert heard == [3]

    cancel()
    subscribers.inform()
    world.run(2.0)
    assert heard == [3]


def test_a_follower_that_fails_hides_nothing_from_others(
    world: World, loop: VirtualLoop, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(index: int) -> None:
        raise ValueError(index)

    heard: list[int] = []
    subscribers = Subscribers(ShardId("toy", 0), loop, lambda: 7)
    subscribers.subscribe(fail)
    subscribers.subscribe(heard.append)
    subscribers.inform()
    world.run(1.0)

    assert heard == [7]
    assert [record.message for record in caplog.records] == ["a subscriber of shard toy/0 failed"]


def test_a_reader_releases_the_store_each_time_and_at_the_end(
    world: World, loop: VirtualLoop
) -> None:
    released: list[str] = []
    readers = StoreReaders(loop)
    readers.add(partial(released.append, "stays"))
    cancel = readers.add(partial(released.append, "goes"))
    readers.release()
    cancel()
    readers.end()
    readers.release()
    assert released == ["stays", "goes", "stays"]

    readers.add(partial(released.append, "late"))
    assert len(released) == 3
    world.run(1.0)
    assert released[3:] == ["late"]


def test_answers_to_writers_leave_before_others_hear_of_their_entries(
    world: World, loop: VirtualLoop
) -> None:
    order: list[str] = []
    subscribers = Subscribers(ShardId("toy", 0), loop, lambda: 7)
    subscribers.subscribe(lambda _: order.append("told"))
    # A writer goes on, and what it answers is sent when that turn is over.
    loop.call_soon(lambda: loop.call_soon(order.append, "sent"))
    subscribers.inform()
    world.run(1.0)

    assert order == ["sent", "told"]
