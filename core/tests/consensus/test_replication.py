"""Gaps 1, 2, 3, 7, 13, 14, 15: how entries reach followers, and what they acknowledge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from quorate.consensus.messages import (
    Append,
    AppendReply,
    Entry,
    EntryKind,
    Heartbeat,
    HeartbeatReply,
    Message,
    VoteReply,
    weight,
)
from quorate.consensus.refusals import EntryTooLargeError, NotLeaderError, ReplicaStoppedError
from quorate.consensus.timing import Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from quorate.consensus.status import FollowerStatus

    from core.tests.consensus.conftest import Group

    Commands = Callable[..., tuple[Entry, ...]]


def terms(group: Group, node: str) -> list[int]:
    return [entry.term for entry in group.journals[node].now.entries]


def follower(group: Group, node: str) -> FollowerStatus:
    [found] = [f for f in group.leader.status().followers if f.peer.node == node]
    return found


def appends(group: Group, target: str) -> list[Append]:
    return [
        message.body
        for message in group.sent
        if message.target.node == target and isinstance(message.body, Append)
    ]


def test_a_proposal_commits_everywhere_while_the_clock_stands_still(group: Group) -> None:
    leader = group.elect("a")
    before = group.now

    leader.propose(b"one")
    group.settle()

    assert [store.payloads for store in group.stores.values()] == [(b"one",)] * 3
    assert group.now == before


def test_entry_bytes_travel_once_to_each_follower(group: Group) -> None:
    leader = group.elect("a")
    sent = leader.entry_bytes_sent
    size = 0
    for number in range(50):
        size += weight(Entry(0, 0, EntryKind.COMMAND, b"%d" % number))
        leader.propose(b"%d" % number)
        if number % 3 == 0:
            group.turn("a")
        if number % 7 == 0:
            group.settle()
    group.settle()

    assert leader.entry_bytes_sent - sent == 2 * size
    assert len(group.stores["c"].payloads) == 50


def test_followers_at_the_same_place_are_sent_the_same_append(group: Group) -> None:
    leader = group.elect("a")
    leader.propose(b"one")
    group.settle()

    first, second = appends(group, "b")[-1], appends(group, "c")[-1]
    assert first.entries[-1].payload == b"one"
    assert first is second


def test_an_acknowledgement_of_the_past_moves_nothing_back(group: Group) -> None:
    leader = group.elect("a")
    for number in range(3):
        leader.propose(b"%d" % number)
        group.turn("a")
    group.say("b", "a", AppendReply(True, 2, 3), term=1)
    sent = leader.entry_bytes_sent

    group.say("b", "a", AppendReply(True, 2, 3), term=1)
    group.say("b", "a", AppendReply(True, 1, 2), term=1)
    assert leader.entry_bytes_sent == sent
    assert (follower(group, "b").match, follower(group, "b").next) == (3, 6)


def test_a_shorter_append_that_is_repeated_erases_nothing(group: Group, commands: Commands) -> None:
    group.say("a", "b", Append(1, 0, commands(2, 1, 1, 1), 0), term=1)
    for again in (Append(1, 0, commands(2, 1), 0), Append(2, 1, (), 0)):
        [reply] = group.say("a", "b", again, term=1)
        assert isinstance(reply.body, AppendReply)
        assert reply.body.success

    assert terms(group, "b") == [0, 1, 1, 1]


def test_a_conflict_truncates_from_where_it_is(group: Group, commands: Commands) -> None:
    group.say("a", "b", Append(1, 0, commands(2, 1, 1, 1), 0), term=1)
    group.say("c", "b", Append(1, 0, commands(2, 1, 2), 0), term=2)

    assert terms(group, "b") == [0, 1, 2]


@pytest.mark.parametrize("commit", [2, 3])
def test_a_conflict_with_what_is_committed_stops_the_replica(
    group: Group, commands: Commands, commit: int
) -> None:
    group.say("a", "b", Append(1, 0, commands(2, 1, 1), commit), term=1)
    conflict = Append(1, 0, commands(2, 2), 0)

    with pytest.raises(ReplicaStoppedError, match="must never happen"):
        group.say("c", "b", conflict, term=2)
    assert terms(group, "b") == [0, 1, 1]


def test_an_acknowledgement_leaves_when_its_entries_are_durable(
    group: Group, commands: Commands
) -> None:
    group.say("a", "b", Heartbeat(0, 0), term=1)
    group.slow.add("b")
    assert group.say("a", "b", Append(1, 0, commands(2, 1), 0), term=1) == []
    before_second = group.journals["b"].written
    assert group.say("a", "b", Append(2, 1, commands(3, 1), 0), term=1) == []

    group.replicas["b"].synced(before_second)
    assert [m.body for m in group.turn("b")] == [AppendReply(True, 1, 2)]
    group.sync("b")
    assert [m.body for m in group.turn("b")] == [AppendReply(True, 2, 3)]


def test_a_heartbeat_acknowledges_what_is_verified_and_durable(
    group: Group, commands: Commands
) -> None:
    group.say("a", "b", Heartbeat(0, 0), term=1)
    group.slow.add("b")
    group.say("a", "b", Append(1, 0, commands(2, 1, 1), 0), term=1)
    [reply] = group.say("a", "b", Heartbeat(0, 3), term=1)
    assert reply.body == HeartbeatReply(3, 1)

    group.sync("b")
    *_, reply = group.say("a", "b", Heartbeat(0, 3), term=1)
    assert reply.body == HeartbeatReply(3, 3)


def test_what_an_earlier_leader_left_is_not_acknowledged_by_heartbeats(
    group: Group, commands: Commands
) -> None:
    group.say("a", "b", Append(1, 0, commands(2, 1, 1), 2), term=1)
    group.turn("b")

    [reply] = group.say("c", "b", Heartbeat(0, 0), term=2)
    assert reply.body == HeartbeatReply(0, 2)


def test_a_crash_loses_only_what_was_not_acknowledged(group: Group) -> None:
    leader = group.elect("a")
    leader.propose(b"kept")
    group.settle()
    group.slow.add("b")
    leader.propose(b"late")
    group.settle()
    group.restart("b")

    assert group.journals["b"].last.index == 3
    group.slow.clear()
    leader.bulk_remade("b")
    group.settle()
    assert group.stores["b"].payloads == (b"kept", b"late")


def test_a_rejection_names_the_first_index_of_the_conflicting_term(
    group: Group, commands: Commands
) -> None:
    group.say("a", "b", Append(1, 0, commands(2, 1, 1, 3, 3, 3), 0), term=3)

    [reply] = group.say("c", "b", Append(6, 4, (), 0), term=4)
    assert reply.body == AppendReply(False, 6, 0, 4, 3)
    [reply] = group.say("c", "b", Append(9, 4, (), 0), term=4)
    assert reply.body == AppendReply(False, 9, 0, 7, 0)


def test_a_leader_steps_over_a_conflicting_term_at_once(group: Group, commands: Commands) -> None:
    group.say("a", "b", Append(1, 0, commands(2, *[1] * 40), 0), term=1)
    group.replicas["c"].receive(
        Message(group.peer("a"), group.peer("c"), 1, 1, Append(1, 0, commands(2, 1), 0))
    )
    group.say("b", "c", Append(2, 1, commands(3, *[2] * 50), 0), term=2)
    group.isolate("a")
    group.elect("c")

    assert terms(group, "b") == terms(group, "c")
    assert {append.prev_index for append in appends(group, "b")} == {52, 41, 1}


@pytest.mark.parametrize("hint", [0, 1, 10**9])
def test_where_to_go_back_to_is_clamped(group: Group, hint: int) -> None:
    leader = group.elect("a")
    leader.propose(b"one")
    group.turn("a")

    group.say("b", "a", AppendReply(False, 2, 0, hint, 0), term=1)
    assert (follower(group, "b").match, follower(group, "b").next) == (2, 3)


def test_an_old_rejection_is_not_believed(group: Group) -> None:
    leader = group.elect("a")
    leader.propose(b"one")
    group.settle()
    group.sent.clear()

    group.say("b", "a", AppendReply(False, 1, 0, 1, 0), term=1)
    assert follower(group, "b").mode == "replicate"
    assert appends(group, "b") == []


def test_a_follower_that_denies_what_it_acknowledged_is_asked_at_heartbeats_only(
    group: Group,
) -> None:
    group.elect("a")
    group.wire.clear()
    denial = AppendReply(False, 2, 0, 1, 0)
    group.say("b", "a", denial, term=1)
    group.sent.clear()

    for _ in range(5):
        group.say("b", "a", denial, term=1)
    assert appends(group, "b") == []


def test_a_lost_probe_is_repeated_at_the_next_heartbeat(group: Group) -> None:
    group.cut.add(("a", "b"))
    group.elect("a")
    group.cut.clear()

    group.advance(2 * group.timing.heartbeat_s)
    assert follower(group, "b").mode == "replicate"
    assert group.replicas["b"].commit == 2


def test_what_was_on_a_lost_bulk_stream_is_sent_again(group: Group) -> None:
    leader = group.elect("a")
    group.cut.add(("a", "b"))
    leader.propose(b"one")
    group.settle()
    group.cut.clear()

    leader.bulk_remade("b")
    group.settle()
    assert group.stores["b"].payloads == (b"one",)


def test_a_new_bulk_stream_does_not_make_a_new_leader_forget_where_it_asks(
    group: Group,
) -> None:
    leader = group.elect("a")
    for number in range(20):
        leader.propose(b"%d" % number)
    group.settle()
    group.cut |= {("b", "c"), ("b", "a")}
    group.now += 1
    new = group.replicas["b"]
    new.election_deadline = group.now
    new.tick()
    group.turn("b")
    for pre in (True, False):
        group.say("a", "b", VoteReply(True, pre, 2), term=2)
    group.sent.clear()

    new.bulk_remade("c")
    group.turn("b")
    assert [body.prev_index for body in appends(group, "c")] == [22]


def test_entries_that_were_lost_unnoticed_are_sent_again_in_time(group: Group) -> None:
    leader = group.elect("a")
    leader.propose(b"one")
    group.turn("a")
    group.wire = [
        message
        for message in group.wire
        if not (isinstance(message.body, Append) and message.target.node == "b")
    ]
    group.advance(4 * group.timing.election_max_s)

    assert group.stores["b"].payloads == (b"one",)
    assert leader.term == 1


def test_a_leader_that_was_cut_off_takes_over_what_was_committed_without_it(
    group: Group,
) -> None:
    old = group.elect("a")
    group.isolate("a")
    old.propose(b"lost")
    group.settle()
    group.elect("b").propose(b"won")
    group.settle()
    group.cut.clear()

    group.advance(2)
    assert [store.payloads for store in group.stores.values()] == [(b"won",)] * 3


def test_too_large_is_refused_where_it_is_proposed(new_group: Callable[..., Group]) -> None:
    group = new_group(limits=Limits(entry_bytes=100))
    leader = group.elect("a")

    with pytest.raises(EntryTooLargeError, match="101 bytes; at most 100 allowed"):
        leader.propose(b"x" * 101)
    leader.propose(b"x" * 100)
    group.settle()
    assert group.stores["b"].payloads == (b"x" * 100,)


@pytest.mark.parametrize("size", [1, 31, 32, 33, 63, 64, 65, 95, 96, 97, 500])
def test_entries_of_any_size_beside_the_limit_of_an_append_arrive(
    new_group: Callable[..., Group], size: int
) -> None:
    group = new_group(limits=Limits(append_bytes=64, inflight_bytes=128))
    leader = group.elect("a")
    for number in range(10):
        leader.propose(bytes([number]) * size)
    group.settle()

    assert [len(store.payloads) for store in group.stores.values()] == [10, 10, 10]
    for append in appends(group, "b"):
        assert len(append.entries) <= 1 or sum(map(weight, append.entries)) <= 64


def test_appends_under_way_are_bounded(new_group: Callable[..., Group]) -> None:
    group = new_group(limits=Limits(append_bytes=100, inflight_bytes=300))
    leader = group.elect("a")
    group.sent.clear()
    for _ in range(100):
        leader.propose(b"x" * 18)
    group.turn("a")

    sizes = [sum(map(weight, append.entries)) for append in appends(group, "b")]
    assert sizes == [100, 100, 100]
    group.settle()
    assert len(group.stores["b"].payloads) == 100


def test_entries_to_apply_come_in_bounded_portions(group: Group) -> None:
    leader = group.elect("a")
    group.idle.add("a")
    for _ in range(20):
        leader.propose(b"x" * 18)
    group.settle()

    assert [len(group.apply("a", 250)) for _ in range(5)] == [5, 5, 5, 5, 0]
    assert len(group.stores["a"].payloads) == 20


def test_proposals_go_to_leaders_alone_and_only_in_their_term(group: Group) -> None:
    leader = group.elect("a")

    with pytest.raises(NotLeaderError, match="a does: ask there") as refused:
        group.replicas["b"].propose(b"one")
    assert refused.value.leader == leader.me
    for term in (0, 2):
        with pytest.raises(NotLeaderError):
            leader.propose(b"one", term)
    assert group.journals["a"].last.index == group.journals["b"].last.index == 2
    assert leader.propose(b"one", 1).index == 3


def test_an_acknowledgement_of_entries_that_do_not_exist_is_refused(group: Group) -> None:
    leader = group.elect("a")

    group.say("b", "a", AppendReply(True, 2, 99), term=1)
    group.say("b", "a", HeartbeatReply(0, 99), term=1)
    assert (leader.commit, follower(group, "b").match) == (2, 2)
    assert leader.refused[group.peer("b"), "it acknowledges entries that do not exist"] == 1
