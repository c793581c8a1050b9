"""How far a node has come."""

import asyncio

import pytest
from quorate.node.readiness import STOPPING, Lifecycle


async def test_what_is_missing_is_told_in_every_phase() -> None:
    life = Lifecycle(asyncio.get_running_loop())
    ready = asyncio.Event()
    assert "is starting" in life.missing()[0]

    async def become_ready() -> None:
        await ready.wait()

    life.make_ready(become_ready(), lambda: ["there is no toy/0 yet"])
    assert life.missing() == ["there is no toy/0 yet"]

    ready.set()
    await life.ready()
    assert life.missing() == []

    life.end(OSError("the disk is gone"))
    assert life.missing() == ["this node cannot go on: the disk is gone"]

    life.stop()
    assert life.missing() == [STOPPING]


async def test_nothing_is_waited_for_before_a_node_is_ready() -> None:
    with pytest.raises(RuntimeError, match="start the node first"):
        await Lifecycle(asyncio.get_running_loop()).ready()


async def test_what_ends_a_node_is_told_to_all_who_wait_and_the_first_reason_counts() -> None:
    life = Lifecycle(asyncio.get_running_loop())
    life.make_ready(asyncio.sleep(60), list)
    waiting = [asyncio.ensure_future(each()) for each in (life.ready, life.ended)]
    await asyncio.sleep(0)
    life.end(OSError("the disk is gone"))
    life.end(ValueError("and something else"))
    for each in waiting:
        with pytest.raises(OSError, match="the disk is gone"):
            await each
    await life.stop_getting_ready()


async def test_a_node_that_cannot_become_ready_is_at_its_end() -> None:
    life = Lifecycle(asyncio.get_running_loop())

    async def become_ready() -> None:
        raise OSError("a shard cannot be opened")

    life.make_ready(become_ready(), list)
    with pytest.raises(OSError, match="a shard cannot be opened"):
        await life.ended()


async def test_one_who_waits_for_the_end_may_give_up() -> None:
    life = Lifecycle(asyncio.get_running_loop())
    waiting = asyncio.ensure_future(life.ended())
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting

    life.end(OSError("the disk is gone"))
    with pytest.raises(OSError, match="the disk is gone"):
        await life.ended()


async def test_becoming_ready_stops_with_the_node() -> None:
    life = Lifecycle(asyncio.get_running_loop())
    cancelled: list[bool] = []

    async def become_ready() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append(True)

    life.make_ready(become_ready(), list)
    await asyncio.sleep(0)
    life.stop()
    await life.stop_getting_ready()
    assert cancelled == [True]
