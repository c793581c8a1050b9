import pytest
from quorate.consensus.messages import Peer
from quorate.testing.sim.facts import Fenced
from quorate.testing.sim.history import Violation
from quorate.testing.sim.invariants.fenced_proposals import FencedProposals


def test_a_proposal_taken_in_its_term_is_fine() -> None:
    FencedProposals().see(Fenced("s0", Peer("a", 1), 4, 4))


def test_a_proposal_taken_in_another_term_is_a_violation() -> None:
    with pytest.raises(Violation, match="term 4 in term 6"):
        FencedProposals().see(Fenced("s0", Peer("a", 1), 4, 6))
