"""What the leader of a shard does next for a merge into it."""

from __future__ import annotations

import pytest
from quorate.plugin.shard_id import ShardId
from quorate.shards.steps import CatchUp, Flush, Log, Order, Propose, Step
from quorate.topology.changes.merge import merge_step
from quorate.v1.control_pb2 import FinishMerge, FreezeShard, FrozenShard, ShardMerge, ShardRow

MERGE = ShardMerge(number=9, base=1, other=2, into=3, common=5)
BASE = ShardRow(group="toy", number=1, version=4, merge=MERGE)
OTHER = ShardRow(group="toy", number=2, version=6, merge=MERGE)
THERE = ShardId("toy", 2)

FREEZE_OTHER = (
    Flush(),
    "merge.freezing",
    Order(FreezeShard(merge=9, version=7), THERE),
    "merge.half_frozen",
    Log("shard toy/2 is frozen, to be merged with toy/1"),
    CatchUp(THERE),
)
FREEZE_BASE = (
    Propose(FreezeShard(merge=9, version=5, other=2, common=5)),
    "merge.frozen",
    Log("shard toy/1 is frozen, to be merged with toy/2"),
)
FINISH = (
    "merge.finishing",
    Order(FinishMerge(group="toy", base=1, merge=9, base_index=30, other_index=20, term=8)),
    "merge.finished",
    Log("shards toy/1 and toy/2 have given their slots away"),
)


@pytest.mark.parametrize(
    ("frozen", "theirs", "step"),
    [
        (None, None, Step((*FREEZE_OTHER, *FREEZE_BASE))),
        (None, FrozenShard(merge=9, index=20), Step(FREEZE_BASE)),
        # An earlier leader of the base froze it when the other one was.
        (FrozenShard(merge=9, index=30), None, Step(FREEZE_OTHER)),
        (
            FrozenShard(merge=9, index=30),
            FrozenShard(merge=9, index=20),
            Step(FINISH, over=True),
        ),
    ],
    ids=["none is frozen", "the other is", "the base is", "both are"],
)
def test_the_other_shard_is_frozen_before_the_base_and_each_with_its_next_version(
    frozen: FrozenShard | None, theirs: FrozenShard | None, step: Step
) -> None:
    """One that goes on once the merge is taken back has the version after that."""
    assert merge_step(BASE, OTHER, frozen, theirs, 8) == step
