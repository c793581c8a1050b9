import pytest
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Entry, EntryKind, Peer

from tests.support.sim.facts import Committed, Elected
from tests.support.sim.history import Violation
from tests.support.sim.invariants.leader_completeness import LeaderCompleteness

PEER = Peer("a", 1)


def _judge() -> LeaderCompleteness:
    """Return a judge that saw entry 1 of term 1 committed in term 2."""
    judge = LeaderCompleteness()
    entries = (Entry(1, 1, EntryKind.COMMAND, b"x"),)
    judge.see(Committed("s0", PEER, True, 2, Configuration((Member(PEER),)), entries))
    return judge


def _elected(term: int, log: dict[int, int]) -> Elected:
    return Elected("s0", PEER, term, log.get)


def test_a_leader_that_holds_what_was_committed_is_complete() -> None:
    _judge().see(_elected(3, {1: 1}))


def test_a_leader_of_an_earlier_term_need_not_hold_it() -> None:
    _judge().see(_elected(2, {}))


@pytest.mark.parametrize("log", [{}, {1: 2}])
def test_a_leader_that_lacks_it_is_a_violation(log: dict[int, int]) -> None:
    with pytest.raises(Violation, match="leader completeness"):
        _judge().see(_elected(3, log))
