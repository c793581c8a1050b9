from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from quorate.consensus.messages import Peer

from tests.support.sim.facts import Fenced
from tests.support.sim.history import Violation
from tests.support.sim.invariants.fenced_proposals import FencedProposals

if TYPE_CHECKING:
    from tests.support.tests.sim.conftest import Log

A, SHARD = Peer("a", 1), "sim/0"


def test_a_proposal_taken_in_its_term_is_fine(log: Log) -> None:
    judge = FencedProposals(log.replays)
    judge.see(Fenced(SHARD, A, log.write(1), 1))
    judge.see(log.take(log.write(1), log.write(2)))


def test_a_proposal_taken_in_another_term_is_a_violation(log: Log) -> None:
    judge = FencedProposals(log.replays)
    judge.see(Fenced(SHARD, A, log.write(1), 4))
    with pytest.raises(Violation, match="of term 1, what was meant for term 4"):
        judge.see(log.take(log.write(1)))
