from __future__ import annotations

import pytest
from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.capacity import LoopBudget

ONE, OTHER = ShardId("toy", 0), ShardId("toy", 1)


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_shard_that_works_alone_never_rests() -> None:
    rests = LoopBudget(Clock())
    assert [rests.after(ONE, 0.02) for _ in range(3)] == [0.0] * 3


@pytest.mark.parametrize(("took_s", "rest_s"), [(0.002, 0.0), (0.02, 0.02), (3.0, 0.05)])
def test_beside_others_it_rests_as_long_as_its_turn_took(took_s: float, rest_s: float) -> None:
    rests = LoopBudget(Clock())
    rests.after(OTHER, 0.0)
    assert rests.after(ONE, took_s) == rest_s


def test_others_count_as_at_work_for_a_while() -> None:
    clock = Clock()
    rests = LoopBudget(clock)
    rests.after(OTHER, 0.0)
    clock.now += 0.24
    assert rests.after(ONE, 0.02) == 0.02
    clock.now += 0.02
    assert rests.after(ONE, 0.02) == 0.0
