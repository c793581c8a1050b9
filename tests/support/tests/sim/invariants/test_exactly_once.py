from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from quorate.apply.outcomes import Outcome
from quorate.consensus.messages import Peer
from quorate.plugin import Row

from tests.support.sim import domain
from tests.support.sim.facts import Acknowledged, Ended
from tests.support.sim.history import Violation
from tests.support.sim.invariants.exactly_once import ExactlyOnce

if TYPE_CHECKING:
    from tests.support.tests.sim.conftest import Log

A, SHARD = Peer("a", 1), "sim/0"


def _ended(**counts: int) -> Ended:
    marks = {}
    for operation, count in counts.items():
        key = domain.mark_key(int(operation.removeprefix("op")))
        marks[key] = Row(key, count.to_bytes(8, "big"), 0)
    return Ended(SHARD, A, 9, 0, {domain.MARKS: marks})


def test_one_mark_each_is_fine_also_of_what_nobody_heard_of(log: Log) -> None:
    judge = ExactlyOnce()
    judge.see(Acknowledged(SHARD, A, log.write(1), Outcome(1 << 20)))
    judge.see(_ended(op1=1, op2=1))


@pytest.mark.parametrize("ended", [_ended(op1=2), _ended(op1=1, op2=2), _ended(op2=1)])
def test_twice_or_never_is_a_violation(log: Log, ended: Ended) -> None:
    judge = ExactlyOnce()
    judge.see(Acknowledged(SHARD, A, log.write(1), Outcome(1 << 20)))
    with pytest.raises(Violation, match="exactly once"):
        judge.see(ended)
