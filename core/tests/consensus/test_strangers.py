"""Gaps 5, 12: who may say what to a replica."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from quorate.consensus.inherited import CANDIDATE, LEADER
from quorate.consensus.journal import HardState
from quorate.consensus.messages import (
    Append,
    AppendReply,
    Body,
    Entry,
    EntryKind,
    Heartbeat,
    HeartbeatReply,
    Message,
    Peer,
    ReadReply,
    ReadRequest,
    RequestVote,
    TimeoutNow,
    VoteReply,
)
from quorate.consensus.refusals import ReplicaStoppedError

if TYPE_CHECKING:
    from core.tests.consensus.conftest import Group

ANYTHING: list[Body] = [
    RequestVote(99, 99, True),
    RequestVote(99, 99, False),
    RequestVote(99, 99, False, transfer=True),
    VoteReply(True, True, 1),
    Append(1, 0, (), 1),
    AppendReply(True, 1, 1),
    Heartbeat(1, 1),
    HeartbeatReply(1, 1),
    TimeoutNow(),
    ReadRequest(1),
    ReadReply(1, 1),
]


@pytest.mark.parametrize("body", ANYTHING, ids=lambda body: type(body).__name__)
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (Peer("z", 1), "its sender is no member"),
        (Peer("a", 77), "its sender is no member"),
        (Peer("b", ord("b")), "it claims to come from this replica itself"),
    ],
    ids=["another node", "an emptied disk", "itself"],
)
def test_strangers_are_refused_and_counted(
    group: Group, body: Body, source: Peer, reason: str
) -> None:
    replica = group.replicas["b"]
    before = replica.status()
    replica.receive(Message(source, replica.me, 50, 1, body))

    assert replica.refused == {(source, reason): 1}
    assert replica.status() == before
    assert group.turn("b") == []


@pytest.mark.parametrize("body", ANYTHING, ids=lambda body: type(body).__name__)
def test_what_is_for_an_earlier_replica_of_the_node_is_refused(group: Group, body: Body) -> None:
    replica = group.replicas["b"]
    replica.receive(Message(group.peer("a"), Peer("b", 77), 50, 1, body))

    assert replica.refused == {(group.peer("a"), "it is addressed to another replica"): 1}
    assert (replica.term, group.turn("b")) == (0, [])


def test_a_vote_of_an_emptied_disk_does_not_count(group: Group) -> None:
    group.campaign("a")
    replica = group.replicas["a"]
    for pre in (True, False):
        replica.receive(Message(Peer("b", 77), replica.me, 1, 1, VoteReply(True, pre, 1)))

    assert (replica.role, replica.term) == (CANDIDATE, 0)


def test_votes_of_believed_strangers_do_not_count(group: Group) -> None:
    group.campaign("a")
    group.say("d", "a", VoteReply(True, True, 1), term=1, config_index=9)

    assert group.replicas["a"].term == 0


def test_an_empty_replica_votes_for_nobody_and_does_not_campaign(group: Group) -> None:
    replica = group.add("b")
    for pre in (True, False):
        assert group.say("a", "b", RequestVote(9, 9, pre), term=1) == []
    group.campaign("b")

    assert group.turn("b") == []
    assert replica.refused[group.peer("a"), "this replica has no configuration yet"] == 2
    assert group.journals["b"].hard_state.term == 0


def test_an_empty_founder_votes_and_does_not_campaign(group: Group) -> None:
    group.add("b").founds = True
    ask = RequestVote(9, 9, False)
    assert group.say("a", "b", ask, term=1)[0].body == VoteReply(True, False, 1)
    assert group.say("c", "b", ask, term=1)[0].body == VoteReply(False, False, 1)
    group.campaign("b")

    assert group.turn("b") == []
    assert group.journals["b"].hard_state == HardState(1, group.peer("a"))


def test_an_empty_replica_follows_a_leader(group: Group) -> None:
    group.add("d")
    [reply] = group.say("a", "d", Heartbeat(0, 0), term=1)
    assert reply.body == HeartbeatReply(0, 0)

    [reply] = group.say("a", "d", Append(5, 1, (), 5), term=1)
    assert reply.body == AppendReply(False, 5, 0, 1, 0)


def test_a_formed_shard_is_not_formed_again(group: Group) -> None:
    with pytest.raises(ReplicaStoppedError, match="formed already"):
        group.replicas["a"].bootstrap(group.first)


def test_a_stranger_with_an_older_configuration_cannot_depose_a_leader(group: Group) -> None:
    leader = group.elect("a")
    leader.change_membership(group.configuration("ab"))
    group.settle()
    for body in ANYTHING:
        group.say("c", "a", body, term=9, config_index=1)

    assert (leader.role, leader.term) == (LEADER, 1)


def test_entries_that_hold_no_configuration_reach_no_disk(group: Group) -> None:
    broken = Entry(2, 1, EntryKind.CONFIG, b"\xff\xff")
    group.turn("b")
    with pytest.raises(ValueError, match="not a configuration"):
        group.say("a", "b", Append(1, 0, (broken,), 0), term=1)
    assert group.journals["b"].last.index == 1
