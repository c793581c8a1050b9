"""What the leader of a shard does next for its split."""

from __future__ import annotations

import pytest
from quorate.shards.steps import OVER, Flush, Order, Propose, Step
from quorate.topology.changes.split import split_step
from quorate.v1.control_pb2 import CutShard, FinishSplit, ShardPart, ShardRow, ShardSplit

SPLIT = 7
PART = ShardPart(number=3, slots=b"\x01")
ROW = ShardRow(group="toy", number=1, version=4, split=ShardSplit(number=SPLIT, parts=[PART]))
CUT = Step(
    (
        Flush(),
        "split.cutting",
        Propose(CutShard(split=SPLIT, version=5, parts=[PART])),
        "split.cut",
    )
)


def finish(index: int = 0) -> FinishSplit:
    return FinishSplit(group="toy", number=1, split=SPLIT, index=index)


@pytest.mark.parametrize(
    ("row", "cut", "abandoned", "step"),
    [
        (ShardRow(), None, 0, OVER),
        (ShardRow(group="toy", number=1), CutShard(split=SPLIT, index=9), 0, OVER),
        (ROW, None, 0, CUT),
        # That was another split.
        (ROW, CutShard(split=SPLIT - 1, index=9), SPLIT - 2, CUT),
        (
            ROW,
            CutShard(split=SPLIT, index=9),
            0,
            Step(("split.finishing", Order(finish(9)), "split.finished"), over=True),
        ),
        (ROW, None, SPLIT, Step((Order(finish()),), over=True)),
        (ROW, None, SPLIT + 1, Step((Order(finish()),), over=True)),
    ],
    ids=["no row", "ended", "cut it", "cut before", "was cut", "taken back", "a later one"],
)
def test_a_shard_is_cut_before_its_slots_are_given_away(
    row: ShardRow, cut: CutShard | None, abandoned: int, step: Step
) -> None:
    assert split_step(row, cut, abandoned) == step
