"""Gaps 1, 4, 5: who is elected, by whose votes, and when a leader gives up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from quorate.consensus.inherited import CANDIDATE, FOLLOWER, LEADER
from quorate.consensus.journal import HardState
from quorate.consensus.messages import (
    Append,
    AppendReply,
    Heartbeat,
    HeartbeatReply,
    Message,
    RequestVote,
    VoteReply,
)
from quorate.consensus.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Callable

    from quorate.consensus.messages import Entry

    from core.tests.consensus.conftest import Group, MemoryJournal


def test_a_group_elects_one_leader_that_commits_an_entry_of_its_term(group: Group) -> None:
    leader = group.elect("a")

    assert leader.status().role == "leader"
    assert [replica.leader for replica in group.replicas.values()] == [leader.me] * 3
    assert [replica.commit for replica in group.replicas.values()] == [2, 2, 2]


def test_a_group_of_one_elects_itself_once_its_vote_is_durable(
    new_group: Callable[..., Group],
) -> None:
    group = new_group("a")
    group.slow.add("a")

    group.campaign("a")
    group.settle()
    assert group.replicas["a"].role == CANDIDATE
    group.sync("a")
    assert group.replicas["a"].role == LEADER


def test_a_request_for_votes_leaves_when_term_and_own_vote_are_durable(group: Group) -> None:
    group.slow.add("a")
    group.campaign("a")
    group.settle()

    assert RequestVote(1, 0, False) not in group.bodies("a", RequestVote)
    group.sync("a")
    group.turn("a")
    assert group.bodies("a", RequestVote).count(RequestVote(1, 0, False)) == 2
    assert group.journals["a"].hard_state == HardState(1, group.peer("a"))


def test_a_vote_leaves_when_it_is_durable(group: Group) -> None:
    group.slow.add("b")
    assert group.say("a", "b", RequestVote(1, 0, False), term=1) == []

    group.sync("b")
    [reply] = group.turn("b")
    assert reply.body == VoteReply(True, False, 1)
    assert group.journals["b"].hard_state == HardState(1, group.peer("a"))


def test_one_vote_a_term_and_a_repeated_request_is_answered_again(group: Group) -> None:
    ask = RequestVote(1, 0, False)
    assert group.say("a", "b", ask, term=1)[0].body == VoteReply(True, False, 1)
    assert group.say("c", "b", ask, term=1)[0].body == VoteReply(False, False, 1)
    assert group.say("a", "b", ask, term=1)[0].body == VoteReply(True, False, 1)


def test_a_vote_is_remembered_through_a_crash(group: Group) -> None:
    group.say("a", "b", RequestVote(1, 0, False), term=1)
    group.restart("b")

    assert group.say("c", "b", RequestVote(1, 0, False), term=1)[0].body == VoteReply(
        False, False, 1
    )


def test_a_vote_of_an_older_term_does_not_bind_a_term_that_the_log_reached(
    new_journal: Callable[[tuple[Entry, ...]], MemoryJournal],
    commands: Callable[..., tuple[Entry, ...]],
    group: Group,
) -> None:
    journal = new_journal((group.journals["b"].now.entries[0], *commands(2, 4)))
    journal.save_hard_state(HardState(3, group.peer("c")))
    replica = group.add("b", journal)

    assert (replica.term, replica.voted_for) == (4, None)
    # What it sends in that term waits until the term is durable by itself.
    assert journal.hard_state == HardState(4, None)
    assert replica.log.state_sequence == journal.written > 0


def test_votes_go_to_logs_that_are_at_least_as_new(
    group: Group, commands: Callable[..., tuple[Entry, ...]]
) -> None:
    group.say("a", "b", Append(1, 0, commands(2, 1, 2), 0), term=2)
    group.now += 1

    for last_index, last_term in ((9, 1), (2, 2)):
        [reply] = group.say("c", "b", RequestVote(last_index, last_term, False), term=3)
        assert reply.body == VoteReply(False, False, 3)
    [reply] = group.say("c", "b", RequestVote(3, 2, False), term=3)
    assert reply.body == VoteReply(True, False, 3)


def test_each_voter_counts_once(new_group: Callable[..., Group]) -> None:
    group = new_group("abcde")
    group.campaign("a")
    group.turn("a")
    for _ in range(3):
        group.say("b", "a", VoteReply(True, True, 1), term=1)
    assert group.replicas["a"].term == 0
    group.say("c", "a", VoteReply(True, True, 1), term=1)
    assert group.replicas["a"].term == 1

    for _ in range(3):
        group.say("b", "a", VoteReply(True, False, 1), term=1)
    assert group.replicas["a"].role == CANDIDATE
    group.say("c", "a", VoteReply(True, False, 1), term=1)
    assert group.replicas["a"].role == LEADER


def test_a_learners_vote_does_not_count(new_group: Callable[..., Group]) -> None:
    group = new_group("abc", "d")
    group.campaign("a")
    group.say("d", "a", VoteReply(True, True, 1), term=1)

    assert group.replicas["a"].term == 0


def test_votes_of_other_ballots_do_not_count(group: Group) -> None:
    group.campaign("a")
    group.say("b", "a", VoteReply(True, True, 1), term=1)
    assert group.replicas["a"].term == 1

    group.say("b", "a", VoteReply(True, True, 1), term=1)
    group.say("b", "a", VoteReply(True, False, 0), term=1)
    assert group.replicas["a"].role == CANDIDATE


def test_a_pre_vote_changes_no_term(group: Group) -> None:
    group.isolate("a")
    for _ in range(5):
        group.campaign("a")
        group.settle()

    assert group.replicas["a"].term == 0
    assert group.journals["a"].hard_state == HardState(0, None)
    [reply] = group.say("a", "b", RequestVote(1, 0, True), term=1)
    assert reply.term == 1
    assert reply.body == VoteReply(True, True, 1)
    assert group.replicas["b"].term == 0


@pytest.mark.parametrize("pre", [True, False])
def test_who_hears_a_leader_votes_for_no_other(group: Group, pre: bool) -> None:
    group.elect("a")

    [reply] = group.say("c", "b", RequestVote(9, 9, pre), term=7)
    assert isinstance(reply.body, VoteReply)
    assert not reply.body.granted
    assert group.replicas["b"].term == 1
    group.say("c", "a", RequestVote(9, 9, pre), term=7)
    assert group.replicas["a"].role == LEADER


def test_an_old_leader_is_told_of_the_newer_term_and_steps_down(group: Group) -> None:
    old = group.elect("a")
    group.isolate("a")
    group.elect("b")
    group.cut.clear()
    old.propose(b"lost")
    group.wire.clear()

    for body in (Append(2, 1, (), 2), Heartbeat(2, 0)):
        [reply] = group.say("a", "c", body, term=1)
        assert reply.term == 2
    old.receive(reply)
    assert (old.role, old.term) == (FOLLOWER, 2)


def test_an_old_candidate_is_told_of_the_newer_term(group: Group) -> None:
    group.elect("a")
    group.elect("b")

    [reply] = group.say("c", "b", RequestVote(9, 9, False), term=1)
    assert (reply.term, reply.body) == (2, VoteReply(False, False, 1))


def test_a_leader_that_hears_no_majority_steps_down_within_an_election_timeout(
    group: Group,
) -> None:
    leader = group.elect("a")
    group.isolate("a")

    group.advance(group.timing.quorum_window_s + group.timing.heartbeat_s)
    assert leader.role != LEADER


def test_a_leader_goes_on_while_a_majority_answers(group: Group) -> None:
    leader = group.elect("a")
    group.isolate("c")

    group.advance(10)
    assert (leader.role, leader.term) == (LEADER, 1)


def test_asking_for_votes_does_not_keep_a_leader_that_is_not_heard(
    new_group: Callable[..., Group],
) -> None:
    """a reaches c alone, c's answers are lost, b's questions arrive: b and c must be free."""
    group = new_group(timing=Timing(heartbeat_s=0.25, election_min_s=0.3, election_max_s=0.4))
    leader = group.elect("a")
    group.cut |= {("a", "b"), ("c", "a")}

    group.advance(5)
    assert leader.role != LEADER or leader.term > 1
    assert group.leader.commit >= 3


def test_every_step_down_draws_a_new_election_deadline(group: Group) -> None:
    leader = group.elect("a")
    assert leader.election_deadline <= group.now + 1
    group.now += 50

    group.say("b", "a", HeartbeatReply(0, 0), term=9)
    assert leader.role == FOLLOWER
    assert leader.election_deadline >= group.now + group.timing.election_min_s


def test_a_leader_that_dies_is_replaced(group: Group) -> None:
    group.elect("a")
    del group.replicas["a"]

    group.advance(3)
    assert group.leader.me.node in "bc"
    assert group.leader.commit == 3


def test_a_candidate_follows_the_leader_of_its_term(group: Group) -> None:
    group.campaign("a")
    group.say("b", "a", VoteReply(True, True, 1), term=1)
    group.say("c", "a", Heartbeat(0, 0), term=1)

    assert (group.replicas["a"].role, group.replicas["a"].leader) == (FOLLOWER, group.peer("c"))


def test_two_leaders_of_one_term_stop_the_replica(group: Group) -> None:
    leader = group.elect("a")

    with pytest.raises(Exception, match="two leaders in term 1"):
        leader.receive(Message(group.peer("b"), leader.me, 1, 1, Append(2, 1, (), 2)))


def test_the_answer_to_an_old_leader_is_no_acknowledgement(group: Group) -> None:
    [reply] = group.say("a", "b", Append(1, 0, (), 0), term=0)
    assert isinstance(reply.body, AppendReply)
    group.elect("b")

    [reply] = group.say("a", "c", Heartbeat(1, 9), term=0)
    assert reply.body == HeartbeatReply(0, 0)
