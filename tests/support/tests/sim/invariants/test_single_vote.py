import pytest
from quorate.consensus.messages import Body, Message, Peer, RequestVote, VoteReply

from tests.support.sim.facts import Sent
from tests.support.sim.history import Violation
from tests.support.sim.invariants.single_vote import SingleVote


def _sent(target: str, term: int, body: Body) -> Sent:
    me = Peer("a", 1)
    return Sent("s0", me, Message(me, Peer(target, 1), term, 1, body))


def _vote(target: str, term: int, *, pre: bool = False) -> Sent:
    return _sent(target, term, VoteReply(True, pre, term))


def test_a_vote_may_be_repeated_and_a_pre_vote_is_none() -> None:
    judge = SingleVote()
    for fact in (_vote("b", 1), _vote("b", 1), _vote("c", 2), _vote("d", 2, pre=True)):
        judge.see(fact)


def test_votes_for_two_candidates_are_a_violation() -> None:
    judge = SingleVote()
    judge.see(_vote("b", 1))
    with pytest.raises(Violation, match="in term 1"):
        judge.see(_vote("c", 1))


def test_a_candidate_votes_for_itself() -> None:
    judge = SingleVote()
    judge.see(_sent("b", 1, RequestVote(0, 0, pre=False)))
    with pytest.raises(Violation, match="in term 1"):
        judge.see(_vote("c", 1))
