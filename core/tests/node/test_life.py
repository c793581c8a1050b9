"""How far a node has come."""

import asyncio

import pytest
from quorate.node.readiness import STOPPING, Life


async def test_what_is_missing_is_told_in_every_phase() -> None:
    life = Life(asyncio.get_running_loop())
    ready = asyncio.Event()
    assert "is starting" in life.missing()[0]

    async def settle() -> None:
        await ready.wait()

    life.settle(settle(), lambda: ["there is no toy/0 yet"])
    assert life.missing() == ["there is no toy/0 yet"]

    ready.set()
    await life.settled()
    assert life.missing() == []

    life.end(OSError("the disk is gone"))
    assert life.missing() == ["this node cannot go on: the disk is gone"]

    life.stop()
    assert life.missing() == [STOPPING]


async def test_nothing_is_waited_for_before_a_node_settles() -> None:
    with pytest.raises(RuntimeError, match="start the node first"):
        await Life(asyncio.get_running_loop()).settled()


async def test_what_ends_a_node_is_told_to_all_who_wait_and_the_first_reason_counts() -> None:
    life = Life(asyncio.get_running_loop())
    life.settle(asyncio.sleep(60), list)
    waiting = [asyncio.ensure_future(each()) for each in (life.settled, life.ended)]
    await asyncio.sleep(0)
    life.end(OSError("the disk is gone"))
    life.end(ValueError("and something else"))
    for each in waiting:
        with pytest.raises(OSError, match="the disk is gone"):
            await each
    await life.stop_settling()


async def test_a_node_that_cannot_settle_is_at_its_end() -> None:
    life = Life(asyncio.get_running_loop())

    async def settle() -> None:
        raise OSError("a shard cannot be opened")

    life.settle(settle(), list)
    with pytest.raises(OSError, match="a shard cannot be opened"):
        await life.ended()


async def test_one_who_waits_for_the_end_may_give_up() -> None:
    life = Life(asyncio.get_running_loop())
    waiting = asyncio.ensure_future(life.ended())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    life.end(OSError("the disk is gone"))
    with pytest.raises(OSError, match="the disk is gone"):
        await life.ended()


async def test_settling_stops_with_the_node() -> None:
    life = Life(asyncio.get_running_loop())
    cancelled: list[bool] = []

    async def settle() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(True)

    life.settle(settle(), list)
    await asyncio.sleep(0)
    life.stop()
    await life.stop_settling()
    assert cancelled == [True]
