"""Small reads of one shard that are asked for at the same time are one query."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from quorate.builtin.kv.vocabulary import QUERIES
from quorate.plugin import Query, Rejected
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import even_cut
from quorate.shards.routing import joint_reads
from quorate.shards.routing.forwarding import AsOf
from quorate.shards.routing.joint_reads import JointReads
from quorate.shards.routing.queries import QueryPart, ReadOptions
from quorate.shards.routing.slot_map import SlotMap
from quorate.v1 import kv_pb2 as pb
from quorate.v1.control_pb2 import ShardRow
from quorate.v1.rows_pb2 import StoredRow

#: Keys of different shards, when there are two.
LEFT, RIGHT = b"apple", b"lime"


class Here:
    """Answers each key with itself; without a replica it has none."""

    def __init__(self, shards: int = 1) -> None:
        rows = [
            ShardRow(group="metadata", number=number, slots=slots, version=7)
            for number, slots in enumerate(even_cut(shards))
        ]
        self.read: list[tuple[QueryPart, float]] = []
        self.has_replica = True
        self.most = 1_000
        self.joint = JointReads(
            {each.message.DESCRIPTOR.full_name: each for each in QUERIES},
            lambda: SlotMap(1, rows),
            self._read_here,
            lambda: 30.0,
        )

        # Another read is under way.
        self.joint.alone = 1

    async def _read_here(
        self, query: Query[Any], part: QueryPart, row: str, options: ReadOptions, deadline: float
    ) -> tuple[AsOf, Sequence[Any]] | None:
        assert (query.message, row, options) == (pb.GetPairs, "", ReadOptions())
        self.read.append((part, deadline))
        if b"damaged" in part.message.keys:  # type: ignore[attr-defined]
            raise Rejected("DATA_LOSS", "damaged")
        if len(part.message.keys) > self.most:  # type: ignore[attr-defined]
            raise Rejected("OUT_OF_RANGE", "too large")
        answers = [key for key in part.message.keys if key != b"unanswered"]  # type: ignore[attr-defined]
        return (AsOf(1, 0), answers) if self.has_replica else None

    async def ask(self, *keys: bytes) -> list[bytes]:
        """Return the answers; none when each caller is to read alone."""
        joined = self.joint.join(pb.GetPairs(keys=keys), bytes)
        assert joined is not None
        found = await joined
        return [] if found is None else [*found.rows]


async def test_each_caller_gets_its_own_answers() -> None:
    here = Here()
    wanted = [[b"a"], [b"b", b"c"], [b"a"]]
    assert await asyncio.gather(*(here.ask(*keys) for keys in wanted)) == wanted
    [(part, deadline)] = here.read
    assert part.message == pb.GetPairs(keys=[b"a", b"b", b"c", b"a"])
    assert (part.shard, [*part.positions], part.version) == (
        ShardId("metadata", 0),
        [0, 1, 2, 3],
        7,
    )
    assert deadline == 30.0


async def test_a_failure_or_no_replica_sends_all_of_them_away_to_read_alone() -> None:
    here = Here()
    assert await asyncio.gather(*map(here.ask, (b"a", b"damaged"))) == [[], []]
    # Of a query that breaks its promise, no caller gets the answer of another one.
    assert await asyncio.gather(*map(here.ask, (b"unanswered", b"a"))) == [[], []]
    here.has_replica = False
    assert await here.ask(b"a") == []


async def test_fewer_go_together_while_their_answers_are_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(joint_reads, "_CALM", 9)
    here, keys = Here(), [b"%d" % number for number in range(128)]
    here.most = 20
    for queries in (1, 2, 4, 8, 8):
        here.read.clear()
        found = await asyncio.gather(*map(here.ask, keys))
        assert len(here.read) == queries
    assert found == [[key] for key in keys]
    here.most = 1_000
    here.read.clear()
    while here.read == [] or len(here.read[-1][0].positions) < 128:
        await asyncio.gather(*map(here.ask, keys))
    together = [len(part.positions) for part, _ in here.read]
    assert sorted(set(together)) == [32, 64, 128]
    assert together == sorted(together)


async def test_a_shard_that_waits_holds_up_no_other() -> None:
    here = Here(shards=2)
    await asyncio.gather(here.ask(LEFT), here.ask(RIGHT), here.ask(LEFT))
    assert sorted((part.shard.number, len(part.positions)) for part, _ in here.read) == [
        (0, 2),
        (1, 1),
    ]


@pytest.mark.parametrize(
    ("message", "row"),
    [
        (pb.GetPairs(), bytes),
        (pb.GetPairs(keys=[b"a"] * 9), bytes),
        # It reads its keys in another way, and this one's answers are parsed.
        (pb.GetPairs(keys=[b"a"], keys_only=True), bytes),
        (pb.GetPairs(keys=[b"a"]), pb.GetPairsResponse),
        (pb.GetPair(key=b"a"), bytes),
        (pb.ListPairs(), bytes),
        (StoredRow(), StoredRow),
    ],
)
def test_others_are_not_joined(message: Any, row: Any) -> None:
    assert Here().joint.join(message, row) is None


async def test_a_lone_read_waits_for_no_other() -> None:
    here = Here()
    here.joint.alone = 0
    assert here.joint.join(pb.GetPairs(keys=[b"a"]), bytes) is None
    here.joint.alone = 1
    first = here.joint.join(pb.GetPairs(keys=[b"a"]), bytes)
    here.joint.alone = 0
    second = here.joint.join(pb.GetPairs(keys=[b"b"]), bytes)
    assert first is not None
    assert second is not None
    await first
    await second
    assert len(here.read) == 1


def test_items_of_several_shards_are_not_joined() -> None:
    assert Here(shards=2).joint.join(pb.GetPairs(keys=[LEFT, RIGHT]), bytes) is None
