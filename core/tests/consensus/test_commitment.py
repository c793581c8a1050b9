"""Gaps 1, 6, 9: what counts as committed, and what may be applied."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from quorate.consensus.messages import Append, AppendReply, Heartbeat, HeartbeatReply, VoteReply
from quorate.consensus.refusals import MemoryLostError, ReplicaStoppedError
from quorate.consensus.timing import Timing

if TYPE_CHECKING:
    from collections.abc import Callable

    from quorate.consensus.messages import Body, Entry

    from core.tests.consensus.conftest import Group

    Commands = Callable[..., tuple[Entry, ...]]


def test_a_follower_commits_no_further_than_what_the_message_verified(
    group: Group, commands: Commands
) -> None:
    group.say("a", "b", Append(1, 0, commands(2, 1, 1, 1), 0), term=1)

    group.say("c", "b", Append(2, 1, (), 4), term=2)
    assert group.replicas["b"].commit == 2


def test_a_rejected_append_commits_nothing(group: Group) -> None:
    group.say("a", "b", Append(5, 3, (), 9), term=3)
    group.say("a", "b", Append(1, 3, (), 9), term=3)

    assert group.replicas["b"].commit == 0


def test_commit_never_goes_back(group: Group, commands: Commands) -> None:
    group.say("a", "b", Append(1, 0, commands(2, 1, 1), 3), term=1)
    group.say("a", "b", Append(1, 0, commands(2, 1), 2), term=1)
    group.say("a", "b", Heartbeat(1, 0), term=1)

    assert group.replicas["b"].commit == 3


def test_a_replica_that_is_told_to_commit_more_than_it_has_has_lost_its_memory(
    group: Group, commands: Commands
) -> None:
    group.say("a", "b", Append(1, 0, commands(2, 1), 0), term=1)

    group.say("a", "b", Heartbeat(2, 0), term=1)
    assert group.replicas["b"].commit == 2
    with pytest.raises(MemoryLostError, match="acknowledged entry 3, and its log ends at 2"):
        group.say("a", "b", Heartbeat(3, 0), term=1)
    assert group.replicas["b"].commit == 2


def put_back(group: Group, node: str, to: int) -> None:
    """Start a replica again with an older copy of its log, whatever it has acknowledged."""
    journal = group.journals[node]
    older = next(n for n in range(journal.written + 1) if journal.as_of(n).last.index == to)
    group.wire = [message for message in group.wire if message.target.node != node]
    group.stores[node].applied = min(group.stores[node].applied, to)
    group.add(node, journal.as_of(older))


def test_an_older_copy_of_a_log_is_found_by_the_next_heartbeat(group: Group) -> None:
    leader = group.elect("a")
    for payload in (b"one", b"two", b"three"):
        leader.propose(payload)
        group.settle()
    group.advance(group.timing.heartbeat_s)

    group.idle.add("b")
    put_back(group, "b", to=3)
    leader.bulk_remade("b")
    with pytest.raises(MemoryLostError, match="acknowledged entry 5, and its log ends at 3"):
        group.advance(group.timing.heartbeat_s)


def test_a_replica_that_starts_again_with_all_that_it_acknowledged_goes_on(group: Group) -> None:
    leader = group.elect("a")
    group.slow.add("b")
    leader.propose(b"one")
    group.settle()
    # The last entry was not synced, and nobody was told of it.
    group.restart("b")
    group.slow.clear()
    leader.bulk_remade("b")
    group.advance(3 * group.timing.heartbeat_s)
    assert group.replicas["b"].commit == leader.commit == 3


def test_what_a_replica_acknowledged_does_not_count_once_it_refuses_what_follows(
    new_group: Callable[..., Group],
) -> None:
    group = new_group("abcde")
    leader = group.elect("a")
    for other in "cde":
        group.isolate(other)
    leader.propose(b"one")
    group.settle()
    assert leader.commit == 2
    # It holds entry 3 as the leader knows, and then it does not.
    group.say("b", "a", AppendReply(False, 3, 0, 2, 1), term=1)
    group.say("c", "a", AppendReply(True, 2, 3), term=1)
    assert leader.commit == 2
    group.say("b", "a", AppendReply(True, 3, 3), term=1)
    assert leader.commit == 3


def test_a_leader_tells_no_follower_of_a_commit_beyond_its_match(group: Group) -> None:
    leader = group.elect("a")
    group.cut.add(("a", "c"))
    leader.propose(b"one")
    group.settle()
    group.sent.clear()
    group.advance(group.timing.heartbeat_s)

    assert leader.commit == 3
    told = {m.body for m in group.sent if m.target.node == "c" and isinstance(m.body, Heartbeat)}
    assert told == {Heartbeat(2, 0, 3)}


def test_a_leader_counts_itself_only_as_far_as_its_log_is_durable(group: Group) -> None:
    leader = group.elect("a")
    group.isolate("c")
    group.slow.add("a")
    leader.propose(b"one")
    group.settle()
    assert leader.commit == 2

    group.sync("a")
    assert leader.commit == 3


def test_news_of_a_commit_wait_for_entries_that_carry_them(
    new_group: Callable[..., Group],
) -> None:
    group = new_group("abc", timing=Timing(news_s=0.003))
    leader = group.elect("a")
    group.advance(group.timing.heartbeat_s)
    heard = len(group.bodies("a", Heartbeat))
    leader.propose(b"one")
    group.settle()
    assert [replica.commit for replica in group.replicas.values()] == [3, 2, 2]
    leader.propose(b"two")
    group.settle()

    assert [replica.commit for replica in group.replicas.values()] == [4, 3, 3]
    assert len(group.bodies("a", Heartbeat)) == heard


def test_news_of_a_commit_wait_no_longer_than_they_may(new_group: Callable[..., Group]) -> None:
    group = new_group("abc", timing=Timing(news_s=0.003))
    leader = group.elect("a")
    group.advance(group.timing.heartbeat_s)
    leader.propose(b"one")
    group.settle()
    assert [replica.commit for replica in group.replicas.values()] == [3, 2, 2]
    group.advance(0.003)

    assert [replica.commit for replica in group.replicas.values()] == [3, 3, 3]


def test_news_wait_for_the_next_entry_where_entries_flow(new_group: Callable[..., Group]) -> None:
    group = new_group("abc", timing=Timing(news_s=0.003, flow_s=0.005))
    leader = group.elect("a")
    group.advance(group.timing.heartbeat_s)
    heard = len(group.bodies("a", Heartbeat))
    for payload in (b"one", b"two", b"three"):
        leader.propose(payload)
        group.advance(0.004)
    # The first came alone; those that followed it 4 ms later were waited for.
    assert len(group.bodies("a", Heartbeat)) == heard + 2
    assert [replica.commit for replica in group.replicas.values()] == [5, 4, 4]
    group.advance(0.003)

    assert [replica.commit for replica in group.replicas.values()] == [5, 5, 5]
    leader.propose(b"late")
    group.advance(0.003)
    assert [replica.commit for replica in group.replicas.values()] == [6, 6, 6]


def test_a_told_commit_is_not_answered_where_an_answer_came_a_moment_ago(
    new_group: Callable[..., Group],
) -> None:
    group = new_group("abc", timing=Timing(heartbeat_s=0.1))
    leader = group.elect("a")
    group.advance(group.timing.heartbeat_s)
    told, answered = (len(group.bodies("a", Heartbeat)), len(group.bodies("b", HeartbeatReply)))
    for payload in (b"one", b"two", b"three"):
        leader.propose(payload)
        group.advance(0.01)
        assert {replica.commit for replica in group.replicas.values()} == {leader.commit}
    # Three commit indexes are told to each of two, and none is answered.
    assert len(group.bodies("a", Heartbeat)) == told + 6
    assert len(group.bodies("b", HeartbeatReply)) == answered


def test_what_a_heartbeat_asks_is_answered_also_when_it_tells_a_commit(
    new_group: Callable[..., Group], commands: Commands
) -> None:
    group = new_group("abc", timing=Timing(heartbeat_s=0.1))

    def answers(commit: int, number: int, term: int = 1) -> list[Body]:
        said = group.say("a", "b", Heartbeat(commit, number), term=term)
        return [each.body for each in said]

    group.say("a", "b", Append(1, 0, commands(2, *[1] * 9), 1), term=1)
    assert answers(2, 5) == [HeartbeatReply(5, 10)]
    assert answers(3, 5) == []
    # It tells nothing, so it asks whether this replica lives.
    assert answers(3, 5) == [HeartbeatReply(5, 10)]
    # A new read round, the same of another leader, and one after a while.
    assert answers(4, 6) == [HeartbeatReply(6, 10)]
    assert answers(5, 6, term=2) == [HeartbeatReply(6, 5)]
    assert answers(6, 6, term=2) == []
    group.now += 0.06
    assert answers(7, 6, term=2) == [HeartbeatReply(6, 7)]


def test_followers_may_commit_before_the_leader_is_durable_but_it_applies_later(
    group: Group,
) -> None:
    leader = group.elect("a")
    group.slow.add("a")
    leader.propose(b"one")
    group.settle()
    assert leader.commit == 3
    assert [len(store.payloads) for store in group.stores.values()] == [0, 1, 1]

    group.sync("a")
    group.settle()
    assert [len(store.payloads) for store in group.stores.values()] == [1, 1, 1]


def test_an_entry_of_an_older_term_is_not_committed_by_counting(
    new_group: Callable[..., Group], commands: Commands
) -> None:
    group = new_group("abcde")
    for node in "abc":
        group.say("e", node, Append(1, 0, commands(2, 1), 0), term=1)
    group.cut |= {(one, other) for one in "bcde" for other in "a"}
    leader = group.replicas["a"]
    group.campaign("a")
    for pre in (True, False):
        for node in "bc":
            group.say(node, "a", VoteReply(True, pre, 2), term=2)
    group.turn("a")
    assert leader.status().role == "leader"

    for node in "bc":
        group.say(node, "a", AppendReply(True, 2, 2), term=2)
    assert leader.commit == 0
    for node in "bc":
        group.say(node, "a", AppendReply(True, 2, 3), term=2)
    assert leader.commit == 3


def test_a_learners_acknowledgement_does_not_count(new_group: Callable[..., Group]) -> None:
    group = new_group("abc", "d")
    leader = group.elect("a")
    group.isolate("b")
    group.isolate("c")
    leader.propose(b"one")
    group.settle()

    assert follower_match(group, "d") == 3
    assert leader.commit == 2


def follower_match(group: Group, node: str) -> int:
    [found] = [f.match for f in group.leader.status().followers if f.peer.node == node]
    return found


def test_acknowledgements_of_another_term_do_not_count(group: Group) -> None:
    group.elect("a")
    leader = group.elect("b")
    group.isolate("b")
    leader.propose(b"one")
    last = leader.log.last.index

    group.say("a", "b", AppendReply(True, 2, last), term=1)
    assert leader.commit == last - 1


def test_a_restart_begins_at_the_index_that_the_store_applied(group: Group) -> None:
    leader = group.elect("a")
    for number in range(5):
        leader.propose(b"%d" % number)
    group.settle()
    group.idle.add("b")
    leader.propose(b"5")
    group.settle()

    replica = group.restart("b")
    assert (replica.applied, replica.commit) == (7, 7)
    group.idle.clear()
    leader.bulk_remade("b")
    group.settle()
    assert group.stores["b"].payloads == (b"0", b"1", b"2", b"3", b"4", b"5")


@pytest.mark.parametrize("applied", [4, 99])
def test_a_store_ahead_of_its_log_is_refused_with_what_to_do(group: Group, applied: int) -> None:
    group.elect("a")
    group.stores["b"].applied = applied

    with pytest.raises(ReplicaStoppedError, match=f"index {applied}.* 0 to 2.*member replace"):
        group.restart("b")


def test_a_store_behind_the_cut_of_its_log_is_refused(group: Group) -> None:
    group.elect("a")
    group.replicas["b"].compact_to(2)
    group.sync("b")
    group.stores["b"].applied = 1

    with pytest.raises(ReplicaStoppedError, match=r"index 1.* 2 to 2"):
        group.restart("b")
