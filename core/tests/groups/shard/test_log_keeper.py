"""When applied entries are made durable in the data."""

from __future__ import annotations

import asyncio
from threading import Event
from typing import Any, cast

from quorate.consensus.journal import Position
from quorate.groups.shard.log_keeper import LogKeeper, LogPolicy

POLICY = LogPolicy(tail_entries=8, flush_s=0.01)


class Data:
    """Applies nothing and syncs when it is let."""

    def __init__(self) -> None:
        self.applied = 0
        self.durable_index = 0
        self.may_sync = Event()

    def begin_sync(self) -> int:
        return self.applied

    def sync(self) -> None:
        assert self.may_sync.wait(10)

    def synced(self, index: int) -> None:
        self.durable_index = max(self.durable_index, index)


class Journal:
    """Has nothing to cut."""

    weight = 0

    sentinel = Position(0, 0)

    def tail_from(self, max_entries: int, max_bytes: int) -> int:
        return 0


async def test_what_is_applied_during_a_sync_becomes_durable_without_further_writes() -> None:
    loop = asyncio.get_running_loop()
    data, failures = Data(), list[Exception]()
    keeper = LogKeeper(
        cast("Any", data),
        cast("Any", Journal()),
        loop,
        POLICY,
        cut=lambda _: None,
        failed=failures.append,
    )
    data.applied = 5
    keeper.applied(5, 0)
    assert keeper.flushing is not None
    data.applied = 9
    keeper.applied(4, 0)
    data.may_sync.set()
    async with asyncio.timeout(5):
        while data.durable_index < 9:
            await asyncio.sleep(0.001)
    keeper.stop()

    assert not failures
