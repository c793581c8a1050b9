import pytest
from quorate.consensus.messages import Peer

from tests.support.sim.facts import Elected
from tests.support.sim.history import Violation
from tests.support.sim.invariants.election_safety import ElectionSafety


def _elected(node: str, term: int) -> Elected:
    return Elected("s0", Peer(node, 1), term, lambda index: None)


def test_one_leader_may_lead_in_every_term() -> None:
    judge = ElectionSafety()
    for fact in (_elected("a", 1), _elected("b", 2), _elected("b", 2)):
        judge.see(fact)


def test_two_leaders_of_one_term_are_a_violation() -> None:
    judge = ElectionSafety()
    judge.see(_elected("a", 1))
    with pytest.raises(Violation, match="both lead s0 in term 1"):
        judge.see(_elected("b", 1))
