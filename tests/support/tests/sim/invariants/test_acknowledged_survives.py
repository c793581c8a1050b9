from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from quorate.apply.outcomes import Outcome, Refusal
from quorate.consensus.messages import Peer

from tests.support.sim.facts import Acknowledged, Ended, Refused
from tests.support.sim.history import Violation
from tests.support.sim.invariants.acknowledged_survives import AcknowledgedSurvives

if TYPE_CHECKING:
    from tests.support.tests.sim.conftest import Log

A, SHARD = Peer("a", 1), "sim/0"
DONE = Outcome(1 << 20)


def test_what_was_told_and_stays_is_fine(log: Log) -> None:
    judge = AcknowledgedSurvives(log.replays)
    judge.see(log.take(log.write(1)))
    judge.see(Acknowledged(SHARD, A, log.write(1), DONE))
    judge.see(Refused(SHARD, A, log.write(2)))
    judge.see(log.take(log.write(3)))
    judge.see(Ended(SHARD, A, 1, 0, {}))


def test_a_refusal_by_core_is_known_by_its_code(log: Log) -> None:
    judge = AcknowledgedSurvives(log.replays)
    command = log.write(1)._replace(slotless=False, slots=(5,))
    judge.see(log.take(command))
    outcome = DONE._replace(refusal=Refusal("WRONG_SHARD", "whatever it says"))
    judge.see(Acknowledged(SHARD, A, command, outcome))


@pytest.mark.parametrize("outcome", [DONE._replace(reply=b"?"), Outcome(2 << 20), Outcome(7)])
def test_another_result_than_the_logs_is_a_violation(log: Log, outcome: Outcome) -> None:
    judge = AcknowledgedSurvives(log.replays)
    judge.see(log.take(log.write(1)))
    with pytest.raises(Violation, match="acknowledged commands survive"):
        judge.see(Acknowledged(SHARD, A, log.write(1), outcome))


def test_what_is_nowhere_applied_must_not_be_acknowledged(log: Log) -> None:
    with pytest.raises(Violation, match="the log comes to"):
        AcknowledgedSurvives(log.replays).see(Acknowledged(SHARD, A, log.write(1), DONE))


def test_an_end_behind_an_acknowledgement_is_a_violation(log: Log) -> None:
    judge = AcknowledgedSurvives(log.replays)
    judge.see(log.take(log.write(1)))
    judge.see(Acknowledged(SHARD, A, log.write(1), DONE))
    with pytest.raises(Violation, match="ends at index 0"):
        judge.see(Ended(SHARD, A, 0, 0, {}))


def test_what_was_refused_is_applied_neither_before_nor_after(log: Log) -> None:
    judge = AcknowledgedSurvives(log.replays)
    judge.see(log.take(log.write(1)))
    with pytest.raises(Violation, match="was applied and is refused"):
        judge.see(Refused(SHARD, A, log.write(1)))
    judge.see(Refused(SHARD, A, log.write(2)))
    with pytest.raises(Violation, match="was refused and is applied"):
        judge.see(log.take(log.write(2)))
