from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from quorate.consensus.journal import HardState, Position
from quorate.consensus.messages import Peer

from tests.support.sim.facts import Installed, Opened
from tests.support.sim.history import Violation
from tests.support.sim.invariants.applied_once import AppliedOnce

if TYPE_CHECKING:
    from tests.support.tests.sim.conftest import Log

A, SHARD = Peer("a", 1), "sim/0"


@pytest.fixture
def judge(log: Log) -> AppliedOnce:
    judge = AppliedOnce(log.replays)
    judge.see(log.take(log.write(1)))
    judge.see(log.take(log.write(2)))
    return judge


def test_a_restart_may_fall_back(log: Log, judge: AppliedOnce) -> None:
    judge.see(Opened(SHARD, A, Position(0, 0), (1, 1), (), HardState(1, None), 1, None))
    judge.see(log.applied(log.write(2), index=2))
    judge.see(Installed(SHARD, A, Position(9, 1)))
    judge.see(log.applied(log.write(3), index=10))


@pytest.mark.parametrize("index", [1, 2, 4])
def test_a_repetition_or_a_gap_is_a_violation(log: Log, judge: AppliedOnce, index: int) -> None:
    with pytest.raises(Violation, match=f"applies entry {index} after 2"):
        judge.see(log.applied(log.write(3), index=index))


def test_an_older_snapshot_is_a_violation(judge: AppliedOnce) -> None:
    with pytest.raises(Violation, match="back to a snapshot at 2"):
        judge.see(Installed(SHARD, A, Position(2, 1)))


def test_a_command_at_two_indexes_is_a_violation(log: Log, judge: AppliedOnce) -> None:
    with pytest.raises(Violation, match="at index 1 and at 3"):
        judge.see(log.take(log.write(1)))
