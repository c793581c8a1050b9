"""Gap 17: leadership is handed over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from quorate.consensus.inherited import CANDIDATE, FOLLOWER, LEADER
from quorate.consensus.messages import RequestVote, TimeoutNow
from quorate.consensus.refusals import NotLeaderError, TransferRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from core.tests.consensus.conftest import Group


def test_a_transfer_takes_no_time(group: Group) -> None:
    old = group.elect("a")
    before = group.now
    old.transfer("b")
    group.settle()

    assert group.leader.me.node == "b"
    assert (old.role, old.term, group.now) == (FOLLOWER, 2, before)
    assert RequestVote(2, 1, False, transfer=True) in group.bodies("b", RequestVote)


def test_a_transfer_waits_until_the_target_holds_everything(group: Group) -> None:
    old = group.elect("a")
    group.cut.add(("b", "a"))
    old.propose(b"one")
    old.transfer("b")
    group.settle()
    assert group.bodies("a", TimeoutNow) == []

    group.cut.clear()
    group.advance(group.timing.heartbeat_s)
    assert group.leader.me.node == "b"
    assert group.stores["b"].payloads == (b"one",)


def test_nothing_is_proposed_during_a_transfer(group: Group) -> None:
    old = group.elect("a")
    group.isolate("b")
    old.transfer("b")

    with pytest.raises(NotLeaderError, match=r"lead; no leader is known: try again "):
        old.propose(b"one")
    with pytest.raises(NotLeaderError):
        old.change_membership(group.configuration("ab"))
    with pytest.raises(TransferRefusedError, match="to b is in progress"):
        old.transfer("c")


def test_a_transfer_that_fails_ends_after_an_election_timeout(group: Group) -> None:
    old = group.elect("a")
    group.isolate("b")
    old.transfer("b")
    group.advance(group.timing.election_max_s)

    assert old.role == LEADER
    old.propose(b"one")
    group.settle()
    assert group.stores["c"].payloads == (b"one",)


@pytest.mark.parametrize("node", ["a", "d", "z"])
def test_only_another_voter_takes_over(new_group: Callable[..., Group], node: str) -> None:
    leader = new_group("abc", "d").elect("a")

    with pytest.raises(TransferRefusedError, match=f"{node} is not another voter"):
        leader.transfer(node)


def test_only_a_leader_hands_over(group: Group) -> None:
    group.elect("a")
    with pytest.raises(NotLeaderError, match="a does"):
        group.replicas["b"].transfer("c")


def test_only_the_leader_of_the_term_makes_a_follower_campaign(group: Group) -> None:
    group.elect("a")
    for source, term in (("c", 1), ("a", 0), ("c", 2)):
        group.say(source, "b", TimeoutNow(), term=term)
        assert group.replicas["b"].role == FOLLOWER
    group.say("c", "b", TimeoutNow(), term=2)
    assert group.replicas["b"].role == FOLLOWER


def test_a_repeated_request_to_campaign_changes_nothing(group: Group) -> None:
    group.elect("a")
    group.isolate("b")
    group.say("a", "b", TimeoutNow(), term=1)
    group.say("a", "b", TimeoutNow(), term=1)

    assert (group.replicas["b"].role, group.replicas["b"].term) == (CANDIDATE, 2)
