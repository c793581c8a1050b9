import pytest
from quorate.consensus.journal import Position
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Entry, EntryKind, Peer

from tests.support.sim.facts import Appended, Committed
from tests.support.sim.history import Violation
from tests.support.sim.invariants.one_change_at_a_time import OneChangeAtATime

A = Peer("a", 1)


def _configured(*nodes: str) -> Configuration:
    return Configuration.of(Member(Peer(node, 1)) for node in nodes)


def _appended(index: int, configuration: Configuration) -> Appended:
    entry = Entry(index, 1, EntryKind.CONFIG, configuration.encode())
    return Appended("s0", A, Position(index - 1, 1), (entry,))


def _judge() -> OneChangeAtATime:
    """Return a judge that saw a, b and c committed at index 1."""
    judge = OneChangeAtATime()
    first = _configured("a", "b", "c")
    entries = _appended(1, first).entries
    judge.see(Committed("s0", A, True, 1, first, entries))
    return judge


def test_one_voter_may_come() -> None:
    _judge().see(_appended(2, _configured("a", "b", "c", "d")))


def test_a_second_change_before_the_first_is_committed_is_a_violation() -> None:
    judge = _judge()
    judge.see(_appended(2, _configured("a", "b", "c", "d")))
    with pytest.raises(Violation, match="one change at a time"):
        judge.see(_appended(3, _configured("a", "b", "c", "d", "e")))
