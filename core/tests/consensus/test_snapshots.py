"""Gaps 6, 10, 15: followers that need what was cut, and what a snapshot does to a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from quorate.consensus.inherited import CANDIDATE, FOLLOWER
from quorate.consensus.journal import Position
from quorate.consensus.messages import Append, AppendReply, Heartbeat, HeartbeatReply, VoteReply

if TYPE_CHECKING:
    from collections.abc import Callable

    from quorate.consensus.messages import Entry
    from quorate.consensus.status import FollowerStatus

    from core.tests.consensus.conftest import Group

    Commands = Callable[..., tuple[Entry, ...]]


@pytest.fixture
def cut(group: Group) -> Group:
    """a leads, c lacks entries that a has cut: c needs a snapshot at 7."""
    leader = group.elect("a")
    group.isolate("c")
    for number in range(5):
        leader.propose(b"%d" % number)
    group.settle()
    leader.compact_to(7)
    group.cut.clear()
    leader.bulk_remade("c")
    group.settle()
    return group


def follower(group: Group, node: str = "c") -> FollowerStatus:
    [found] = [f for f in group.leader.status().followers if f.peer.node == node]
    return found


def install(group: Group, node: str, position: Position) -> bool:
    """Do what a store does: it stands at the position, durably, and the replica is told."""
    store = group.stores[node]
    installed = group.replicas[node].snapshot_installed(position, group.first)
    if installed:
        store.applied = position.index
        store.stored = group.stores["a"].stored
        store.payloads = group.stores["a"].payloads
    return installed


def test_a_follower_that_lacks_what_was_cut_needs_a_snapshot_once(cut: Group) -> None:
    cut.advance(5)

    assert cut.snapshots_needed == [("a", "c")]
    assert follower(cut).mode == "snapshot"
    assert cut.leader.term == 1


def test_after_the_snapshot_entries_follow(cut: Group) -> None:
    assert install(cut, "c", Position(7, 1))
    cut.leader.propose(b"next")
    cut.settle()

    assert follower(cut).mode == "replicate"
    assert cut.stores["c"].payloads == (b"0", b"1", b"2", b"3", b"4", b"next")
    assert cut.replicas["c"].status().first == 8


def test_the_acknowledgement_of_a_snapshot_leaves_when_the_log_is_durable(cut: Group) -> None:
    cut.slow.add("c")
    install(cut, "c", Position(7, 1))
    assert cut.turn("c") == []
    [reply] = cut.say("a", "c", Heartbeat(2, 0), term=1)
    assert reply.body == HeartbeatReply(0, 0)

    cut.sync("c")
    assert [m.body for m in cut.turn("c")] == [AppendReply(True, 7, 7)]
    assert cut.journals["c"].sentinel == Position(7, 1)


def test_a_lost_acknowledgement_of_a_snapshot_is_repeated_by_heartbeats(cut: Group) -> None:
    install(cut, "c", Position(7, 1))
    cut.turn("c")
    cut.wire.clear()
    cut.advance(2 * cut.timing.heartbeat_s)

    assert follower(cut).mode == "replicate"


def test_a_follower_that_crashed_behind_its_snapshot_is_not_forgotten(cut: Group) -> None:
    install(cut, "c", Position(7, 1))
    cut.sync("c")
    cut.restart("c")
    cut.wire.clear()
    cut.advance(2 * cut.timing.heartbeat_s)

    assert follower(cut).mode == "replicate"


def test_a_snapshot_that_came_while_no_leader_was_known_counts(cut: Group) -> None:
    cut.isolate("c")
    cut.advance(1)
    assert cut.replicas["c"].leader is None
    install(cut, "c", Position(7, 1))
    cut.turn("c")
    cut.cut.clear()
    cut.advance(2 * cut.timing.heartbeat_s)

    assert follower(cut).mode == "replicate"


def test_a_snapshot_that_the_log_overtook_is_followed_by_another(cut: Group) -> None:
    cut.leader.propose(b"5")
    cut.settle()
    cut.leader.compact_to(8)
    install(cut, "c", Position(7, 1))
    cut.settle()
    assert cut.snapshots_needed == [("a", "c"), ("a", "c")]

    install(cut, "c", Position(8, 1))
    cut.settle()
    assert follower(cut).mode == "replicate"


def test_an_old_acknowledgement_does_not_ask_for_a_second_snapshot(cut: Group) -> None:
    cut.say("c", "a", AppendReply(True, 3, 4), term=1)

    assert cut.snapshots_needed == [("a", "c")]
    assert follower(cut).mode == "snapshot"


def test_a_snapshot_that_was_given_up_is_needed_again(cut: Group) -> None:
    cut.leader.snapshot_given_up("c")
    cut.settle()

    assert cut.snapshots_needed == [("a", "c"), ("a", "c")]


def test_new_bulk_streams_do_not_end_the_wait_for_a_snapshot(cut: Group) -> None:
    cut.leader.bulk_remade("c")
    cut.settle()

    assert cut.snapshots_needed == [("a", "c")]


def test_a_snapshot_that_is_not_ahead_is_refused(cut: Group) -> None:
    before = cut.journals["b"].written
    for index in (3, 7):
        assert not install(cut, "b", Position(index, 1))

    assert (cut.replicas["b"].commit, cut.journals["b"].written) == (7, before)


def test_a_suffix_that_agrees_with_the_snapshot_is_kept(group: Group, commands: Commands) -> None:
    group.say("a", "b", Append(1, 0, commands(2, 1, 1, 1, 1), 0), term=1)
    install(group, "b", Position(3, 1))

    assert group.journals["b"].sentinel == Position(3, 1)
    assert group.journals["b"].last == Position(5, 1)
    assert group.replicas["b"].commit == 3


def test_a_log_that_differs_from_the_snapshot_is_dropped(group: Group, commands: Commands) -> None:
    group.say("a", "b", Append(1, 0, commands(2, 1, 1, 1, 1), 0), term=1)
    install(group, "b", Position(3, 2))

    assert group.journals["b"].last == Position(3, 2)
    [reply] = group.say("c", "b", Append(2, 2, commands(3, 2, 2), 4), term=2)
    assert reply.body == AppendReply(True, 3, 4)


def test_a_snapshot_of_a_later_term_raises_the_term(group: Group, commands: Commands) -> None:
    group.say("a", "b", Append(1, 0, commands(2, 1), 0), term=1)
    install(group, "b", Position(3, 5))

    assert (group.replicas["b"].term, group.journals["b"].hard_state.term) == (5, 5)


def test_a_candidate_whose_log_is_dropped_takes_no_votes_for_it(
    group: Group, commands: Commands
) -> None:
    group.say("a", "b", Append(1, 0, commands(2, 1, 1, 1), 0), term=3)
    group.campaign("b")
    group.say("c", "b", VoteReply(True, True, 4), term=4)
    assert group.replicas["b"].role == CANDIDATE
    install(group, "b", Position(3, 2))

    group.say("c", "b", VoteReply(True, False, 4), term=4)
    assert group.replicas["b"].role == FOLLOWER


def test_appends_from_before_the_cut_are_taken_from_the_cut_on(
    group: Group, commands: Commands
) -> None:
    group.say("a", "b", Append(1, 0, commands(2, 1, 1, 1), 4), term=1)
    group.replicas["b"].compact_to(3)

    [reply] = group.say("a", "b", Append(1, 0, commands(2, 1), 4), term=1)
    assert reply.body == AppendReply(True, 3, 3)
    [reply] = group.say("a", "b", Append(1, 0, commands(2, 1, 1, 1, 1), 4), term=1)
    assert reply.body == AppendReply(True, 3, 5)
    assert group.journals["b"].last == Position(5, 1)


def test_only_what_is_applied_is_cut(group: Group) -> None:
    leader = group.elect("a")
    with pytest.raises(ValueError, match="index 3 is not applied yet, 2 is"):
        leader.compact_to(3)
    leader.compact_to(2)
    leader.compact_to(1)
    assert leader.status().first == 3


def test_a_learner_with_nothing_starts_from_a_snapshot(cut: Group) -> None:
    cut.add("d")
    cut.leader.change_membership(cut.configuration("abc", "d"))
    cut.settle()
    assert cut.snapshots_needed == [("a", "c"), ("a", "d")]

    install(cut, "d", Position(7, 1))
    cut.settle()
    assert follower(cut, "d").mode == "replicate"
    assert cut.replicas["d"].status().configuration == cut.configuration("abc", "d")
