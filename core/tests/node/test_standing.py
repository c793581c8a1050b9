"""A node that lost its majorities, or the room on its disk, does not call itself ready."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, cast

import pytest
from quorate.consensus.timing import Timing
from quorate.node import standing
from quorate.node.standing import Standing
from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.settings import ShardSettings


class Shard:
    """Hears of a majority as a test says."""

    def __init__(self, number: int) -> None:
        self.id = ShardId("kv", number)
        self.settings = ShardSettings(timing=Timing())
        self.stopped: Exception | None = None
        self.silent_s = 0.0

    @property
    def majority_at(self) -> float:
        return asyncio.get_running_loop().time() - self.silent_s


class Node:
    """What is looked at, and what is reported."""

    def __init__(self, shards: int) -> None:
        self.shards = [Shard(number) for number in range(shards)]
        self.shortage: str | None = None
        self.reported: list[bool] = []
        self.standing = Standing(
            asyncio.get_running_loop(), cast(Any, self), lambda: self.shortage, self._report
        )

    def all(self) -> list[Shard]:
        return self.shards

    async def _report(self, well: bool) -> None:
        self.reported.append(well)


async def test_a_lost_majority_is_told_and_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "quorate")
    node = Node(2)
    await node.standing.look()
    # An election takes a while.
    node.shards[1].silent_s = standing._PATIENCE_S / 2
    await node.standing.look()
    assert (node.standing.lacking(), node.reported) == ([], [])

    node.shards[1].silent_s = 60.0
    for _ in range(3):
        await node.standing.look()
    assert node.standing.lacking() == ["shard kv/1 has no majority: too few of its nodes answer"]
    assert node.reported == [False]

    node.shards[1].silent_s = 0.0
    await node.standing.look()
    assert (node.standing.lacking(), node.reported) == ([], [False, True])
    assert [each.getMessage() for each in caplog.records] == [
        "no majority of their nodes is heard of in shards kv/1",
        "a majority of their nodes is there again in shards kv/1",
    ]


async def test_a_replica_that_has_stopped_lacks_no_majority() -> None:
    node = Node(1)
    node.shards[0].silent_s, node.shards[0].stopped = 60.0, OSError("gone")
    await node.standing.look()
    assert node.standing.lacking() == []


async def test_slow_elections_are_waited_for() -> None:
    node = Node(1)
    node.shards[0].settings = ShardSettings(timing=Timing(election_max_s=10.0))
    node.shards[0].silent_s = 40.0
    await node.standing.look()
    assert node.standing.lacking() == []


async def test_many_shards_are_counted_and_not_named() -> None:
    node = Node(1_000)
    for shard in node.shards:
        shard.silent_s = 60.0
    await node.standing.look()
    *named, rest = node.standing.lacking()
    assert (len(named), rest) == (10, "nor have 990 more shards")


async def test_a_full_disk_is_told() -> None:
    node = Node(1)
    node.shortage = "0 bytes are free"
    await node.standing.look()
    assert (node.standing.lacking(), node.reported) == (["0 bytes are free"], [False])
    node.shortage = None
    await node.standing.look()
    assert node.reported == [False, True]
