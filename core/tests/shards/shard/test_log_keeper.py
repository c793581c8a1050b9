"""When applied entries are made durable in the data."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import Any, cast

import pytest
from quorate.consensus.journal import Position
from quorate.shards.shard.log_keeper import LogKeeper, LogPolicy, SyncTurns
from quorate.storage.engine.port import FullError, StalledError

POLICY = LogPolicy(tail_entries=32, flush_s=0.01)


class Data:
    """Applies nothing and syncs when it is let."""

    def __init__(self) -> None:
        self.applied = 0
        self.durable_index = 0
        self.may_sync = Event()
        #: What the next syncs raise.
        self.errors: list[Exception] = []

    def begin_sync(self) -> int:
        return self.applied

    def sync(self) -> None:
        assert self.may_sync.wait(10)
        if self.errors:
            raise self.errors.pop()

    def synced(self, index: int) -> None:
        self.durable_index = max(self.durable_index, index)


class Journal:
    """Has nothing to cut."""

    weight = 0

    sentinel = Position(0, 0)

    def tail_from(self, max_entries: int, max_bytes: int) -> int:
        return 0


def new_keeper(
    data: Data,
    failures: list[Exception],
    turns: SyncTurns | None = None,
    policy: LogPolicy = POLICY,
) -> LogKeeper:
    return LogKeeper(
        cast("Any", data),
        cast("Any", Journal()),
        asyncio.get_running_loop(),
        policy,
        turns,
        cut=lambda _: None,
        failed=failures.append,
    )


async def test_what_is_applied_during_a_sync_becomes_durable_without_further_writes() -> None:
    data, failures = Data(), list[Exception]()
    keeper = new_keeper(data, failures)
    data.applied = 16
    keeper.applied(16, 0)
    assert keeper.flushing is not None
    data.applied = 20
    keeper.applied(4, 0)
    data.may_sync.set()
    async with asyncio.timeout(5):
        while data.durable_index < 20:
            await asyncio.sleep(0.001)
    keeper.stop()

    assert not failures


def three_due(
    failures: list[Exception], policy: LogPolicy = POLICY
) -> tuple[list[Data], list[LogKeeper]]:
    """Return the data and the keepers of three shards that are due at the same time."""
    turns = SyncTurns(asyncio.get_running_loop())
    every = [Data() for _ in range(3)]
    keepers = [new_keeper(data, failures, turns, policy) for data in every]
    for data, keeper in zip(every, keepers, strict=True):
        data.applied = 1
        keeper.applied(1, 0)
    return every, keepers


async def synced_in_turn(
    every: list[Data], keepers: list[LogKeeper], meanwhile: Callable[[int], bool] = lambda _: True
) -> None:
    """Wait until all are durable, of which one syncs at a time, in their order.

    While one does, `meanwhile` comes true for its number.
    """
    async with asyncio.timeout(20):
        for number, data in enumerate(every):
            while keepers[number].flushing is None or not meanwhile(number):
                await asyncio.sleep(0.001)
            assert [each for each in keepers if each.flushing] == [keepers[number]]
            data.may_sync.set()
            while data.durable_index < 1:
                await asyncio.sleep(0.001)


async def test_what_is_due_at_the_same_time_is_synced_one_after_the_other() -> None:
    failures: list[Exception] = []
    every, keepers = three_due(failures)
    await synced_in_turn(
        every, keepers, lambda number: all(keeper._waits for keeper in keepers[number + 1 :])
    )

    assert not failures


async def test_what_is_asked_for_waits_for_its_turn_alone() -> None:
    failures: list[Exception] = []
    every, keepers = three_due(failures, LogPolicy(tail_entries=32, flush_s=600.0))
    for keeper in keepers * 2:
        keeper.flush_in_turn()
    await synced_in_turn(every, keepers)

    assert not failures


async def test_a_long_log_does_not_wait_for_its_turn() -> None:
    turns, failures = SyncTurns(asyncio.get_running_loop()), list[Exception]()
    slow, urgent = Data(), Data()
    first, second = (new_keeper(data, failures, turns) for data in (slow, urgent))
    urgent.may_sync.set()
    slow.applied, urgent.applied = 1, 16
    first.applied(1, 0)
    async with asyncio.timeout(20):
        while first.flushing is None:
            await asyncio.sleep(0.001)
        second.applied(16, 0)
        while urgent.durable_index < 16:
            await asyncio.sleep(0.001)

    assert slow.durable_index == 0
    slow.may_sync.set()
    assert first.flushing is not None
    await first.flushing
    assert not failures


async def test_one_that_ended_keeps_nobody_waiting() -> None:
    failures: list[Exception] = []
    every, keepers = three_due(failures)
    async with asyncio.timeout(20):
        while keepers[0].flushing is None:
            await asyncio.sleep(0.001)
        while not (keepers[1]._waits and keepers[2]._waits):
            await asyncio.sleep(0.001)
        keepers[1].stop()
        for data in every:
            data.may_sync.set()
        while every[2].durable_index < 1:
            await asyncio.sleep(0.001)

    assert every[1].durable_index == 0


@pytest.mark.parametrize("error", [FullError("no space"), StalledError("not flushed yet")])
async def test_a_disk_that_takes_no_files_for_now_is_tried_again(error: Exception) -> None:
    data, failures = Data(), list[Exception]()
    keeper = new_keeper(data, failures, policy=replace(POLICY, retry_s=0.01))
    data.errors = [error, error]
    data.may_sync.set()
    data.applied = 1
    keeper.applied(1, 0)
    async with asyncio.timeout(10):
        while data.durable_index < 1:
            await asyncio.sleep(0.001)
    keeper.stop()

    assert not data.errors
    assert not failures
