import pytest
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Append, AppendReply, Entry, EntryKind, Message, Peer

from tests.support.sim.facts import Answered, Seen, Sent
from tests.support.sim.history import Violation
from tests.support.sim.invariants.never_below_match import NeverBelowMatch

A, B = Peer("a", 1), Peer("b", 2)


def _answered(match: int, term: int = 3) -> Answered:
    return Answered("s0", A, Message(B, A, term, 1, AppendReply(True, match, match)))


def _sent(index: int, term: int = 3) -> Sent:
    entries = (Entry(index, term, EntryKind.COMMAND, b"x"),)
    return Sent("s0", A, Message(A, B, term, 1, Append(index - 1, term, entries, 0)))


def _seen(*members: Peer) -> Seen:
    return Seen("s0", A, True, 3, 0, 0, Configuration.of(Member(peer) for peer in members))


def test_what_follows_the_acknowledged_may_be_sent_again() -> None:
    judge = NeverBelowMatch()
    for fact in (_seen(A, B), _answered(5), _sent(6), _sent(6), _answered(4), _sent(6)):
        judge.see(fact)


def test_a_later_term_begins_anew() -> None:
    judge = NeverBelowMatch()
    for fact in (_seen(A, B), _answered(5), _sent(2, term=4)):
        judge.see(fact)


def test_who_left_and_came_again_is_another_follower() -> None:
    judge = NeverBelowMatch()
    for fact in (_seen(A, B), _answered(5), _seen(A), _seen(A, B), _sent(2)):
        judge.see(fact)


def test_what_is_acknowledged_by_no_member_counts_nothing() -> None:
    judge = NeverBelowMatch()
    for fact in (_seen(A), _answered(5), _seen(A, B), _sent(2)):
        judge.see(fact)


def test_an_acknowledged_entry_that_is_sent_again_is_a_violation() -> None:
    judge = NeverBelowMatch()
    judge.see(_seen(A, B))
    judge.see(_answered(5))
    with pytest.raises(Violation, match="sends entry 5"):
        judge.see(_sent(5))
