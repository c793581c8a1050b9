"""Gap 17: which index a linearizable read must have applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quorate.consensus.inherited import LEADER
from quorate.consensus.messages import (
    AppendReply,
    Heartbeat,
    HeartbeatReply,
    ReadReply,
    ReadRequest,
    RequestVote,
    VoteReply,
)
from quorate.consensus.reads import ReadOutcome

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.tests.consensus.conftest import Group


def test_a_read_at_the_leader_is_answered_after_a_round(group: Group) -> None:
    leader = group.elect("a")
    leader.read_index(7)
    group.turn("a")
    assert group.reads["a"] == []

    group.settle()
    assert group.reads["a"] == [ReadOutcome(7, 2)]


def test_a_follower_asks_its_leader(group: Group) -> None:
    group.elect("a").propose(b"one")
    group.settle()
    group.replicas["b"].read_index(7)
    group.settle()

    assert group.reads["b"] == [ReadOutcome(7, 3)]


def test_a_leader_of_one_answers_at_once(new_group: Callable[..., Group]) -> None:
    group = new_group("a")
    group.elect("a").read_index(7)
    group.turn("a")

    assert group.reads["a"] == [ReadOutcome(7, 2)]


def test_no_read_before_an_entry_of_the_own_term_is_committed(group: Group) -> None:
    group.campaign("a")
    for pre in (True, False):
        group.say("b", "a", VoteReply(True, pre, 1), term=1)
    leader = group.leader
    leader.read_index(7)
    group.turn("a")
    assert leader.commit == 0
    for node in "bc":
        group.say(node, "a", HeartbeatReply(0, 0), term=1)
        group.say(node, "a", HeartbeatReply(1, 0), term=1)
    assert group.reads["a"] == []

    group.settle()
    assert group.reads["a"] == [ReadOutcome(7, 2)]


def test_an_answer_to_an_earlier_round_confirms_nothing(group: Group) -> None:
    leader = group.elect("a")
    leader.read_index(1)
    group.settle()
    leader.read_index(2)
    group.turn("a")
    group.say("b", "a", HeartbeatReply(1, 2), term=1)
    assert group.reads["a"] == [ReadOutcome(1, 2)]

    group.say("b", "a", HeartbeatReply(2, 2), term=1)
    assert group.reads["a"] == [ReadOutcome(1, 2), ReadOutcome(2, 2)]


def test_a_read_during_a_round_waits_for_the_next(group: Group) -> None:
    leader = group.elect("a")
    leader.read_index(1)
    leader.read_index(2)
    group.turn("a")
    group.say("b", "a", HeartbeatReply(1, 2), term=1)
    assert group.reads["a"] == [ReadOutcome(1, 2)]

    group.say("b", "a", HeartbeatReply(2, 2), term=1)
    assert group.reads["a"] == [ReadOutcome(1, 2), ReadOutcome(2, 2)]


def rounds(group: Group, number: int) -> list[str]:
    """Whom the leader asked to confirm a round."""
    return [
        message.target.node
        for message in group.sent
        if isinstance(message.body, Heartbeat) and message.body.round == number
    ]


def test_a_round_asks_as_few_as_make_a_majority(new_group: Callable[..., Group]) -> None:
    group = new_group("abcde", "f")
    group.elect("a").read_index(1)
    group.settle()

    assert group.reads["a"] == [ReadOutcome(1, 2)]
    assert len(set(rounds(group, 1))) == len(rounds(group, 1)) == 2


def test_a_round_asks_those_that_were_heard_last(group: Group) -> None:
    leader = group.elect("a")
    group.now += group.timing.heartbeat_s / 2
    group.say("c", "a", HeartbeatReply(0, 2), term=1)
    leader.read_index(1)
    group.settle()

    assert rounds(group, 1) == ["c"]


def test_all_are_asked_when_those_that_were_asked_are_late(group: Group) -> None:
    leader = group.elect("a")
    before = group.now
    leader.read_index(1)
    group.turn("a")
    [asked] = rounds(group, 1)
    group.wire.clear()
    group.isolate(asked)
    group.advance(group.timing.heartbeat_s / 4)

    assert group.reads["a"] == [ReadOutcome(1, 2)]
    assert group.now - before < group.timing.heartbeat_s


def test_who_is_not_asked_is_still_told_that_the_leader_lives(group: Group) -> None:
    leader = group.elect("a")
    for number in range(1, 20):
        leader.read_index(number)
        group.advance(group.timing.heartbeat_s / 10)
    told = {each: [m for m in group.sent if m.target.node == each] for each in "bc"}

    assert len(group.reads["a"]) == 19
    assert min(len(found) for found in told.values()) >= 2
    assert {replica.term for replica in group.replicas.values()} == {1}


def test_a_round_is_asked_for_again_with_the_next_heartbeat(group: Group) -> None:
    leader = group.elect("a")
    leader.read_index(1)
    group.turn("a")
    group.wire.clear()

    group.advance(group.timing.heartbeat_s)
    assert group.reads["a"] == [ReadOutcome(1, 2)]


def test_learners_confirm_no_round(new_group: Callable[..., Group]) -> None:
    group = new_group("abc", "d")
    leader = group.elect("a")
    group.isolate("b")
    group.isolate("c")
    leader.read_index(1)
    group.settle()

    assert group.reads["a"] == []


def test_an_answer_to_a_leader_of_an_older_term_confirms_no_round_of_a_newer(
    group: Group,
) -> None:
    """b answers a's old heartbeat, round 9, in the term that a comes to lead."""
    leader = group.elect("a")
    group.now += 1
    group.say("a", "b", RequestVote(2, 1, False), term=2)
    [answer] = group.say("a", "b", Heartbeat(2, 9), term=1)
    assert answer.term == 2
    leader.tick()
    assert leader.role != LEADER
    group.campaign("a")
    for pre in (True, False):
        group.say("c", "a", VoteReply(True, pre, 2), term=2)
    group.say("c", "a", AppendReply(True, 2, 3), term=2)
    assert (leader.role, leader.commit) == (LEADER, 3)

    leader.read_index(1)
    leader.receive(answer)
    group.turn("a")
    assert group.reads["a"] == []


def test_a_deposed_leader_answers_no_read(group: Group) -> None:
    old = group.elect("a")
    group.isolate("a")
    old.read_index(1)
    group.settle()
    group.elect("b").propose(b"one")
    group.settle()
    group.cut.clear()
    group.advance(1)

    assert group.reads["a"] == [ReadOutcome(1, None)]


def test_a_leader_that_steps_down_tells_followers_that_asked(group: Group) -> None:
    group.elect("a")
    group.cut |= {("b", "a"), ("c", "a")}
    request = ReadRequest(5)
    group.say("b", "a", request, term=1)
    group.sent.clear()
    group.advance(group.timing.quorum_window_s + group.timing.heartbeat_s)

    assert ReadReply(5, 0) in group.bodies("a", ReadReply)


def test_without_a_leader_ask_again(group: Group) -> None:
    group.replicas["b"].read_index(7)
    group.turn("b")
    assert group.reads["b"] == [ReadOutcome(7, None)]

    assert group.say("c", "b", ReadRequest(3), term=0)[0].body == ReadReply(3, 0)


def test_a_forwarded_read_is_answered_even_when_the_leader_says_nothing(group: Group) -> None:
    group.elect("a")
    group.cut.add(("b", "a"))
    group.replicas["b"].read_index(7)
    group.advance(group.timing.election_max_s)

    assert group.reads["b"] == [ReadOutcome(7, None)]


def test_a_forwarded_read_is_given_up_by_a_replica_that_comes_to_lead(group: Group) -> None:
    group.elect("a")
    group.isolate("a")
    group.replicas["b"].read_index(7)
    group.settle()
    group.now += 0.6
    group.replicas["b"].election_deadline = group.now
    group.replicas["b"].tick()
    group.settle()

    assert group.leader.me.node == "b"
    assert group.reads["b"] == [ReadOutcome(7, None)]


def test_an_answer_to_an_earlier_life_of_the_replica_answers_nothing(group: Group) -> None:
    """The same token is asked for before and after a restart; the first answer is late."""
    leader = group.elect("a")
    group.replicas["b"].read_index(1)
    asked = [m for m in group.turn("b") if isinstance(m.body, ReadRequest)]
    group.wire.clear()
    leader.receive(asked[0])
    group.settle()
    [late] = [m for m in group.sent if isinstance(m.body, ReadReply)]
    group.restart("b")
    leader.propose(b"one")
    group.settle()
    group.replicas["b"].read_index(1)
    group.replicas["b"].receive(late)
    group.turn("b")

    assert group.reads["b"] == []


def test_a_read_that_waits_for_a_removed_member_is_answered(
    new_group: Callable[..., Group],
) -> None:
    group = new_group("ab")
    leader = group.elect("a")
    group.isolate("b")
    leader.read_index(1)
    group.turn("a")
    assert group.reads["a"] == []

    leader.change_membership(group.configuration("a"))
    group.turn("a")
    assert group.reads["a"] == [ReadOutcome(1, 2)]
