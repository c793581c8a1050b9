"""Gaps 11, 17: who is a member, from the moment that the log says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from quorate.consensus.inherited import FOLLOWER, LEADER
from quorate.consensus.messages import Append, Entry, EntryKind, HeartbeatReply, VoteReply
from quorate.consensus.refusals import ChangeRefusedError, NotLeaderError
from quorate.consensus.timing import Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from quorate.consensus.membership import Configuration

    from core.tests.consensus.conftest import Group


def nodes(configuration: Configuration | None) -> str:
    assert configuration is not None
    return "".join(member.peer.node for member in configuration.members if member.voter)


def test_a_learner_catches_up_and_becomes_a_voter(group: Group) -> None:
    leader = group.elect("a")
    for number in range(10):
        leader.propose(b"%d" % number)
    group.add("d")
    leader.change_membership(group.configuration("abc", "d"))
    group.settle()
    assert len(group.stores["d"].payloads) == 10
    assert leader.status().configuration == group.configuration("abc", "d")

    leader.change_membership(group.configuration("abcd"))
    group.settle()
    assert {nodes(replica.log.configuration) for replica in group.replicas.values()} == {"abcd"}
    group.isolate("b")
    leader.propose(b"three of four")
    group.settle()
    assert group.stores["d"].payloads[-1] == b"three of four"


def test_a_learner_that_lags_is_not_made_a_voter(new_group: Callable[..., Group]) -> None:
    group = new_group("abc", "d", limits=Limits(promotion_lag_entries=5))
    leader = group.elect("a")
    group.isolate("d")
    for number in range(6):
        leader.propose(b"%d" % number)
    group.settle()

    with pytest.raises(ChangeRefusedError, match="d has not caught up"):
        leader.change_membership(group.configuration("abcd"))
    group.cut.clear()
    leader.bulk_remade("d")
    group.settle()
    leader.change_membership(group.configuration("abcd"))


def test_a_stranger_is_no_voter_at_once(group: Group) -> None:
    with pytest.raises(ChangeRefusedError, match="d has not caught up; add it as a learner"):
        group.elect("a").change_membership(group.configuration("abcd"))


def test_one_change_at_a_time(group: Group) -> None:
    leader = group.elect("a")
    leader.change_membership(group.configuration("abc", "d"))

    with pytest.raises(ChangeRefusedError, match="the previous change is not committed"):
        leader.change_membership(group.configuration("ab", "d"))
    group.settle()
    leader.change_membership(group.configuration("ab", "d"))


def test_no_change_before_an_entry_of_the_own_term_is_committed(group: Group) -> None:
    group.campaign("a")
    for pre in (True, False):
        group.say("b", "a", VoteReply(True, pre, 1), term=1)

    with pytest.raises(ChangeRefusedError, match="no entry of this term is committed"):
        group.leader.change_membership(group.configuration("ab"))


def test_voters_change_one_by_one(new_group: Callable[..., Group]) -> None:
    leader = new_group("abcde").elect("a")

    with pytest.raises(ChangeRefusedError, match="more than one voter"):
        leader.change_membership(new_group().configuration("abc"))


def test_a_leader_does_not_remove_itself(group: Group) -> None:
    leader = group.elect("a")
    for without in (group.configuration("bc"), group.configuration("bc", "a")):
        with pytest.raises(ChangeRefusedError, match="transfer leadership first"):
            leader.change_membership(without)
    with pytest.raises(NotLeaderError):
        group.replicas["b"].change_membership(group.configuration("bc"))


def test_a_configuration_holds_as_soon_as_it_is_appended(group: Group) -> None:
    leader = group.elect("a")
    group.isolate("c")
    leader.change_membership(group.configuration("ab"))
    group.cut.add(("a", "b"))
    group.turn("a")

    assert [follower.peer.node for follower in leader.status().followers] == ["b"]
    assert leader.commit == 2
    group.cut.remove(("a", "b"))
    group.advance(group.timing.heartbeat_s * 2)
    leader.bulk_remade("b")
    group.settle()
    assert leader.commit == 3


def test_a_truncated_configuration_gives_way_to_the_one_before(group: Group) -> None:
    old = group.elect("a")
    group.isolate("a")
    old.change_membership(group.configuration("abc", "d"))
    group.turn("a")
    assert old.status().configuration_index == 3
    group.elect("b").propose(b"one")
    group.settle()
    group.cut.clear()
    group.advance(2)

    assert old.status().configuration == group.configuration("abc")
    assert old.status().configuration_index == 1


def test_a_configuration_survives_a_restart_committed_or_not(group: Group) -> None:
    leader = group.elect("a")
    leader.change_membership(group.configuration("abc", "d"))
    group.settle()
    group.isolate("a")
    leader.change_membership(group.configuration("ab", "d"))
    group.turn("a")
    assert leader.commit == 3

    again = group.restart("a")
    assert again.status().configuration == group.configuration("ab", "d")
    assert again.status().configuration_index == 4
    assert group.restart("b").status().configuration == group.configuration("abc", "d")


def test_a_configuration_below_the_cut_is_the_stored_one(group: Group) -> None:
    leader = group.elect("a")
    leader.change_membership(group.configuration("abc", "d"))
    leader.propose(b"one")
    group.settle()
    group.replicas["b"].compact_to(4)
    group.sync("b")

    again = group.restart("b")
    assert again.status().configuration == group.configuration("abc", "d")
    assert again.status().configuration_index == 3


def test_a_removed_member_is_not_counted_and_disturbs_nobody(group: Group) -> None:
    leader = group.elect("a")
    leader.change_membership(group.configuration("ab"))
    group.settle()
    group.advance(10)

    assert (leader.role, leader.term) == (LEADER, 1)
    group.isolate("b")
    leader.propose(b"one")
    group.settle()
    assert leader.commit == 3


def test_a_leader_that_hands_over_can_be_removed(group: Group) -> None:
    old = group.elect("a")
    old.transfer("b")
    group.settle()
    group.leader.change_membership(group.configuration("bc"))
    group.settle()
    group.advance(5)

    assert (group.leader.me.node, group.leader.term) == ("b", 2)
    assert old.role != LEADER
    assert nodes(group.replicas["c"].log.configuration) == "bc"


def test_a_member_outside_its_configuration_does_not_campaign(
    group: Group, configured: Callable[..., Configuration]
) -> None:
    without = Entry(2, 1, EntryKind.CONFIG, configured("ac").encode())
    group.say("a", "b", Append(1, 0, (without,), 0), term=1)
    group.campaign("b")

    assert group.replicas["b"].role == FOLLOWER
    assert group.turn("b") == []


def test_a_voter_that_is_unknown_to_an_old_configuration_is_believed(group: Group) -> None:
    """d was promoted while c slept: c must follow it, and vote for it."""
    leader = group.elect("a")
    group.isolate("c")
    group.add("d")
    leader.change_membership(group.configuration("abc", "d"))
    group.settle()
    leader.change_membership(group.configuration("abcd"))
    group.settle()
    group.cut.clear()
    for other in "abc":
        group.cut |= {("a", other), (other, "a")}
    group.now += 2

    group.elect("d")
    assert group.replicas["c"].leader == group.peer("d")
    assert nodes(group.replicas["c"].log.configuration) == "abcd"


def test_a_member_whose_removal_is_not_committed_still_votes_and_is_heard(group: Group) -> None:
    leader = group.elect("a")
    group.cut |= {("a", "c"), ("b", "a")}
    leader.change_membership(group.configuration("ab"))
    group.settle()
    assert group.replicas["b"].status().configuration_index == 3
    assert leader.commit == 2

    group.now += 1
    reply = group.say("c", "b", HeartbeatReply(0, 0), term=5, config_index=1)
    assert reply == []
    assert group.replicas["b"].term == 5
