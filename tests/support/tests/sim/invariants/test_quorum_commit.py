import pytest
from quorate.consensus.journal import HardState, Position
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Entry, EntryKind, Peer

from tests.support.sim.durable import DurableLogs
from tests.support.sim.facts import Committed, Opened
from tests.support.sim.history import Violation
from tests.support.sim.invariants.quorum_commit import QuorumCommit

A, B, C, D = (Peer(node, 1) for node in "abcd")
MEMBERS = Configuration((Member(A), Member(B), Member(C), Member(D, voter=False)))


def _judge(**terms: tuple[int, ...]) -> QuorumCommit:
    """Return a judge that knows durable logs: the terms of their entries, from index 1."""
    logs = DurableLogs()
    for node, held in terms.items():
        opened = Opened("s0", Peer(node, 1), Position(0, 0), held, (), HardState(2, None), 0, None)
        logs.see(opened)
    return QuorumCommit(logs)


def _committed(term: int, *, leads: bool = True) -> Committed:
    entry = Entry(2, term, EntryKind.COMMAND, b"")
    return Committed("s0", A, leads, 2, MEMBERS, (entry,))


def test_a_majority_of_voters_commits() -> None:
    _judge(a=(1, 2), b=(1, 2), c=(1,)).see(_committed(2))


def test_a_follower_is_told_and_does_not_count() -> None:
    _judge(a=(1, 2)).see(_committed(2, leads=False))


def test_learners_and_other_entries_do_not_count() -> None:
    with pytest.raises(Violation, match=r"durable on \['a'\] of 3"):
        _judge(a=(1, 2), b=(1, 1), d=(1, 2)).see(_committed(2))


def test_an_entry_of_an_older_term_is_not_committed_by_counting() -> None:
    with pytest.raises(Violation, match="which is of term 1"):
        _judge(a=(1, 1), b=(1, 1), c=(1, 1)).see(_committed(1))
