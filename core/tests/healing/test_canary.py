"""What the canary raises an alarm about, and until when."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest
from quorate.apply.levels import CHECKED_FROM
from quorate.consensus.messages import Peer
from quorate.healing import canary as canary_module
from quorate.healing.canary import Canary
from quorate.plugin.shard_id import ShardId
from quorate.v1 import control_pb2 as pb

SHARD = ShardId("toy", 0)


class Stored:
    """A shard that keeps the canary's number, on other nodes."""

    def __init__(self) -> None:
        self.number = 0
        self.failure: Exception | None = None

    async def propose(self, shard: ShardId, command: pb.PutCanary, *, timeout_s: float) -> Any:
        if self.failure is not None:
            raise self.failure
        before, self.number = self.number, command.number
        return SimpleNamespace(reply=pb.PutCanaryReply(before=before).SerializeToString())


@pytest.fixture
def stored() -> Stored:
    return Stored()


def canary(stored: Stored) -> Canary:
    shards: Any = SimpleNamespace(me=Peer("n1", 1), get=lambda shard: None)
    census: Any = None
    loop = asyncio.get_running_loop()
    return Canary(
        shards, census, stored.propose, loop, wall_ms=lambda: 1_000, period_s=0, slow_s=60
    )


def looking(replicas: dict[ShardId, Any], stored: Stored, *, period_s: float) -> Canary:
    """Return a canary of these shards, and of one that is not open."""
    unopened = ShardId("toy", 3)
    shards: Any = SimpleNamespace(
        me=Peer("n1", 1),
        # Not for one that is not open: that would open it.
        get=replicas.__getitem__,
        is_unopened=lambda shard: shard == unopened,
        slot_map=SimpleNamespace(all=lambda: [unopened, *replicas]),
        level=lambda _: CHECKED_FROM,
    )
    census: Any = SimpleNamespace(load=lambda shard: 0.0)
    return Canary(
        shards,
        census,
        stored.propose,
        asyncio.get_running_loop(),
        wall_ms=lambda: 1_000,
        period_s=period_s,
        slow_s=60,
    )


async def test_a_lost_write_is_an_alarm_until_the_node_ends(stored: Stored) -> None:
    asked = canary(stored)
    for _ in range(2):
        await asked.ask(SHARD)
    assert not list(asked.alarms())
    stored.number = 0
    for _ in range(3):
        await asked.ask(SHARD)
    assert asked.failures == 1
    [alarm] = asked.alarms()
    assert alarm == "the canary of n1: shard toy/0 had 0 stored and not 1002"


async def test_a_second_miss_is_an_alarm_until_there_is_an_answer(stored: Stored) -> None:
    asked = canary(stored)
    stored.failure = ConnectionError("nobody leads")
    # An election explains one.
    assert not await asked.ask(SHARD)
    assert not list(asked.alarms())
    assert not await asked.ask(SHARD)
    [alarm] = asked.alarms()
    assert "shard toy/0 did not answer: nobody leads" in alarm
    stored.failure = None
    assert await asked.ask(SHARD)
    assert not list(asked.alarms())
    assert asked.failures == 1


async def test_a_miss_is_asked_again_at_once(
    monkeypatch: pytest.MonkeyPatch, stored: Stored
) -> None:
    monkeypatch.setattr(canary_module, "_BREATH_S", 0.001)
    asked = list[bool]()
    again = asyncio.Event()

    async def ask(shard: ShardId) -> bool:
        asked.append(True)
        if len(asked) == 2:
            again.set()
        return False

    made = looking({SHARD: SimpleNamespace(resting=False)}, stored, period_s=3_600)
    monkeypatch.setattr(made, "ask", ask)
    made.start()
    await asyncio.wait_for(again.wait(), 30)
    await made.stop()


async def test_a_shard_that_came_to_rest_meanwhile_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, stored: Stored
) -> None:
    monkeypatch.setattr(canary_module, "_BREATH_S", 0.001)
    asked = list[ShardId]()
    replicas = {ShardId("toy", n): SimpleNamespace(resting=False) for n in range(3)}
    done = asyncio.Event()

    async def ask(shard: ShardId) -> bool:
        asked.append(shard)
        for other, replica in replicas.items():
            replica.resting = other != SHARD
        if len(asked) == 3:
            done.set()
        return True

    made = looking(replicas, stored, period_s=0.003)
    monkeypatch.setattr(made, "ask", ask)
    made.start()
    await asyncio.wait_for(done.wait(), 30)
    await made.stop()
    assert set(asked) == {SHARD}


async def test_a_shard_that_is_gone_is_no_alarm(
    monkeypatch: pytest.MonkeyPatch, stored: Stored
) -> None:
    monkeypatch.setattr(canary_module, "_BREATH_S", 0.001)
    replicas = {SHARD: SimpleNamespace(resting=False)}
    stored.failure = ConnectionError("it is frozen")
    made = looking(replicas, stored, period_s=0.001)
    made.start()
    async with asyncio.timeout(30):
        while not list(made.alarms()):
            await asyncio.sleep(0.001)
        # It is merged into another one.
        replicas.clear()
        while list(made.alarms()):
            await asyncio.sleep(0.001)
    await made.stop()
