"""A shard's replicas: writes, leaders that come and go, and how every proposal ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.wrappers_pb2 import BytesValue, Int64Value, StringValue
from quorate.apply.evaluator import Evaluator
from quorate.apply.outcomes import INTERNAL, WRONG_SHARD, Outcome
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Message
from quorate.consensus.status import Proposed
from quorate.consensus.timing import Timing
from quorate.observe.histogram import Histogram
from quorate.plugin import Invalid
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import (
    ExhaustedError,
    FencedError,
    NoLeaderError,
    NotProposedError,
    NotProposedInTimeError,
    OutcomeUnknownError,
    UnansweredInTimeError,
    UnreadableError,
)
from quorate.shards.shard.capacity import MARGIN_BYTES, FreeSpace
from quorate.shards.shard.log_keeper import LogPolicy
from quorate.shards.shard.removal import Membership
from quorate.shards.shard.shard import RemovedError, Shard, ShardClosedError, ShardSettings
from quorate.storage.data.checkpoint import Incoming, Manifest
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import FullError
from quorate.v1.control_pb2 import RaiseGeneration

if TYPE_CHECKING:
    from quorate.apply.entries import LoggedCommand

    from core.tests.steered import Cluster, Node

NewRow = Callable[[str, str], "LoggedCommand"]
NewCommand = Callable[..., "LoggedCommand"]
NewCluster = Callable[..., "Cluster"]

METADATA = ShardId("metadata", 0)
TIMING = Timing(heartbeat_s=0.05, election_min_s=0.2, election_max_s=0.4)


def caught_up(cluster: Cluster) -> None:
    """Wait until all have applied what the leader has, and as much as each other."""
    index = cluster.leader.metadata.applied

    def even() -> bool:
        [first, *others] = {node.metadata.applied for node in cluster.nodes.values()}
        return first >= index and not others

    cluster.until(even)


def digests(cluster: Cluster) -> set[str]:
    found = set()
    for node in cluster.nodes.values():
        digest = node.metadata.data.digest()
        while not digest.step():
            pass
        found.add(digest.hexdigest())
    return found


# Replication.


def test_a_write_is_applied_by_every_replica(cluster: Cluster, new_row: NewRow) -> None:
    [outcome] = cluster.propose(new_row("a", "1"))
    caught_up(cluster)

    assert outcome.refusal is None
    assert [node.rows() for node in cluster.nodes.values()] == [{"a": "1"}] * 3
    assert len(digests(cluster)) == 1


def test_each_command_has_its_outcome_in_order(cluster: Cluster, new_command: NewCommand) -> None:
    add = [new_command(Int64Value(value=number)) for number in (1, 10, 100)]
    refused = new_command(StringValue(value="=no key"))
    leader = cluster.leader
    futures = leader.run(
        lambda: [
            leader.metadata.propose(commands)
            for commands in ([add[0]], [refused, add[1]], [add[2]])
        ]
    )
    [one], [no, ten], [hundred] = map(cluster.result, futures)

    sums = [Int64Value.FromString(each.reply).value for each in (one, ten, hundred)]
    assert sums == [1, 11, 111]
    assert no.refusal is not None
    assert no.refusal.code == "INVALID_ARGUMENT"
    # They shared one entry.
    assert [each.revision - one.revision for each in (no, ten, hundred)] == [1, 2, 3]


def test_a_poison_command_costs_nobody_else_anything(
    cluster: Cluster, new_command: NewCommand, new_row: NewRow
) -> None:
    cluster.propose(new_row("before", "1"))
    poison = new_command(BytesValue(value=b"boom"))
    garbage = new_row("x", "y")._replace(payload=b"\xff\xff\xff")
    outcomes = cluster.propose(poison, garbage, new_row("after", "1"))
    caught_up(cluster)

    codes = [each.refusal.code if each.refusal else None for each in outcomes]
    assert codes == [INTERNAL, INTERNAL, None]
    assert [node.rows() for node in cluster.nodes.values()] == [{"before": "1", "after": "1"}] * 3


def test_a_new_leader_has_every_write_and_takes_more(cluster: Cluster, new_row: NewRow) -> None:
    cluster.propose(new_row("a", "1"))
    old = cluster.leader
    old.kill()
    del cluster.nodes[old.name]
    cluster.propose(new_row("b", "2"))
    cluster.nodes[old.name] = old
    old.start()
    caught_up(cluster)

    assert cluster.leader is not old
    # The node that was killed began to count anew.
    found = {node.name: node.metadata.leaders for node in cluster.nodes.values()}
    assert found == {name: 1 if name == old.name else 2 for name in found}
    assert [node.rows() for node in cluster.nodes.values()] == [{"a": "1", "b": "2"}] * 3
    assert len(digests(cluster)) == 1


@pytest.mark.parametrize("seed", range(6))
def test_no_answered_write_is_lost_when_all_machines_lose_power(
    new_cluster: NewCluster, new_row: NewRow, seed: int
) -> None:
    cluster = new_cluster(seed=seed)
    for number in range(12):
        cluster.propose(new_row(str(number), "x"))
    leader = cluster.leader
    leader.run(lambda: leader.metadata.propose([new_row("late", "x")]))
    for node in cluster.nodes.values():
        node.lose_power(Random(seed))
    for node in cluster.nodes.values():
        node.start()
    cluster.propose(new_row("again", "x"))
    caught_up(cluster)

    expected = {*map(str, range(12)), "again"}
    for node in cluster.nodes.values():
        assert expected <= set(node.rows()) <= expected | {"late"}
    assert len(digests(cluster)) == 1


# What is refused at once.


def test_a_follower_names_the_leader(cluster: Cluster, new_row: NewRow) -> None:
    leader, follower = cluster.leader, cluster.followers[0]
    cluster.propose(new_row("a", "1"))
    caught_up(cluster)

    with pytest.raises(NoLeaderError) as refused:
        follower.metadata.propose([new_row("b", "2")])
    assert refused.value.leader == leader.peer


def test_a_fence_of_another_term_is_refused(cluster: Cluster, new_row: NewRow) -> None:
    leader = cluster.leader
    term = leader.metadata.term
    cluster.propose(new_row("a", "1"), term=term)

    with pytest.raises(FencedError):
        leader.metadata.propose([new_row("b", "2")], term=term - 1)
    assert leader.rows() == {"a": "1"}


def test_what_no_entry_can_hold_is_invalid(cluster: Cluster, new_row: NewRow) -> None:
    shard = cluster.leader.metadata
    with pytest.raises(Invalid, match="must not be empty"):
        shard.propose([])
    with pytest.raises(Invalid, match="allowed; send less"):
        shard.propose([new_row("a", "x" * (25 << 20))])


def test_a_queue_that_is_full_refuses_with_a_time_to_wait(
    new_cluster: NewCluster, new_row: NewRow
) -> None:
    settings = ShardSettings(queue_commands=2)
    cluster = new_cluster("a", settings=settings)
    leader = cluster.leader

    def fill() -> list[asyncio.Future[tuple[Outcome, ...]]]:
        taken = [leader.metadata.propose([new_row(key, "1")]) for key in "xy"]
        with pytest.raises(ExhaustedError) as refused:
            leader.metadata.propose([new_row("z", "1")])
        assert refused.value.retry_after_ms > 0
        return taken

    for future in leader.run(fill):
        cluster.result(future)
    cluster.propose(new_row("z", "1"))
    assert set(leader.rows()) == {"x", "y", "z"}
    assert leader.metadata.counters.refused == 1


def test_a_shard_that_is_flooded_leaves_another_its_room(
    new_cluster: NewCluster, new_command: NewCommand
) -> None:
    settings = ShardSettings(timing=TIMING, queue_commands=4)
    cluster = new_cluster("a", group="toy", shards={"toy": 2}, settings=settings)
    flooded, quiet = (cluster.nodes["a"][ShardId("toy", number)] for number in range(2))
    cluster.leader_of(flooded.id)
    cluster.leader_of(quiet.id)

    def flood() -> asyncio.Future[tuple[Outcome, ...]]:
        for _ in range(4):
            flooded.propose([new_command(StringValue(value="a=1"), slot=0)])
        with pytest.raises(ExhaustedError, match="the queue of shard toy/0 is full"):
            flooded.propose([new_command(StringValue(value="a=1"), slot=0)])
        return quiet.propose([new_command(StringValue(value="b=1"), slot=1_023)])

    [outcome] = cluster.result(cluster.nodes["a"].run(flood))
    assert outcome.refusal is None


def test_a_slot_of_another_shard_is_refused_in_apply(
    new_cluster: NewCluster, new_command: NewCommand
) -> None:
    cluster = new_cluster(group="toy", shards={"toy": 3})
    shard = ShardId("toy", 0)
    leader = cluster.leader_of(shard)
    cluster.until(lambda: leader[shard].applier.slots.version > 0)
    foreign = new_command(StringValue(value="a=1"), slot=1_023)
    own = new_command(StringValue(value="b=1"), slot=0)
    answers = cluster.result(cluster.proposal(leader, foreign, own, shard=shard))

    assert answers[0].refusal is not None
    assert answers[0].refusal.code == WRONG_SHARD
    assert leader.rows(shard) == {"b": "1"}


# How proposals end that are not answered.


def test_a_deadline_in_the_log_leaves_the_outcome_unknown(
    cluster: Cluster, new_row: NewRow
) -> None:
    leader = cluster.leader
    cluster.isolate(leader)
    future = cluster.proposal(leader, new_row("a", "1"), timeout_s=0.05)
    asked = cluster.world.now
    error = cluster.failure(future)

    assert isinstance(error, UnansweredInTimeError)
    assert "stage replicate" in str(error)
    assert 0.04 < cluster.world.now - asked < 0.08


def test_a_leader_that_lost_its_majority_keeps_nobody_waiting(
    cluster: Cluster, new_row: NewRow
) -> None:
    leader = cluster.leader
    cluster.isolate(leader)
    asked = cluster.world.now
    error = cluster.failure(cluster.proposal(leader, new_row("a", "1"), timeout_s=30.0))

    assert type(error) is OutcomeUnknownError
    assert "lost its majority" in str(error)
    # Until it sees that nobody answers, and for as long as another leader would take to tell.
    assert cluster.world.now - asked < TIMING.quorum_window_s + 3 * TIMING.heartbeat_s + 0.01


def test_a_deadline_in_the_queue_is_surely_not_proposed(
    new_cluster: NewCluster, new_row: NewRow
) -> None:
    cluster = new_cluster(settings=ShardSettings(window_entries=1))
    leader = cluster.leader
    cluster.isolate(leader)
    logged = cluster.proposal(leader, new_row("a", "1"), timeout_s=0.2)
    cluster.pass_time(0.01)
    queued = cluster.proposal(leader, new_row("b", "1"), timeout_s=0.1)
    error = cluster.failure(queued)
    last = leader.metadata.replica.log.last.index
    assert isinstance(cluster.failure(logged), UnansweredInTimeError)

    assert isinstance(error, NotProposedInTimeError)
    assert last == leader.metadata.replica.log.last.index
    assert leader.metadata.status().queued == 0


def test_who_waits_in_the_queue_of_a_lost_leader_may_try_again(
    new_cluster: NewCluster, new_row: NewRow
) -> None:
    cluster = new_cluster(settings=ShardSettings(window_entries=1))
    leader = cluster.leader
    cluster.isolate(leader)
    logged = cluster.proposal(leader, new_row("a", "1"))
    cluster.pass_time(0.01)
    queued = cluster.proposal(leader, new_row("b", "1"))
    assert isinstance(cluster.failure(queued), NoLeaderError)
    assert not logged.done()
    assert not leader.metadata.leads


def test_an_entry_that_another_one_replaced_may_be_tried_again(
    new_cluster: NewCluster, new_row: NewRow
) -> None:
    # With this seed the others elect before the entry is doubted.
    cluster = new_cluster(seed=3)
    old = cluster.leader
    cluster.isolate(old)
    lost = cluster.proposal(old, new_row("a", "1"))
    cluster.until(lambda: not old.metadata.leads)
    cluster.propose(new_row("b", "1"))
    cluster.heal()
    error = cluster.failure(lost)

    assert isinstance(error, NotProposedError)
    assert cluster.leader.rows() == {"b": "1"}


def test_what_waits_goes_on_when_entries_of_an_earlier_term_are_given_up(
    new_cluster: NewCluster, new_row: NewRow
) -> None:
    """The window was full of entries that another leader has cut off."""
    cluster = new_cluster(settings=ShardSettings(timing=TIMING, window_entries=1))
    node = cluster.followers[0]
    proposer = node.metadata._proposer

    def lead_again() -> None:
        proposer.flights.begin(Proposed(1 << 40, node.metadata.term), [], [], 1)

    node.run(lead_again)
    cluster.leader.run(partial(cluster.leader.metadata.transfer, node.name))
    cluster.until(lambda: node.metadata.leads)
    written = node.metadata.propose([new_row("a", "1")], timeout_s=2.0)

    assert cluster.result(written)[0].refusal is None


def test_stopping_ends_everything(new_cluster: NewCluster, new_row: NewRow) -> None:
    cluster = new_cluster(settings=ShardSettings(window_entries=1))
    leader = cluster.leader
    shard = leader.metadata
    cluster.isolate(leader)
    logged = cluster.proposal(leader, new_row("a", "1"))
    cluster.pass_time(0.01)
    ended: list[str] = []
    shard.on_replace(lambda: ended.append("readers"))
    queued, read, behind = leader.run(
        lambda: (shard.propose([new_row("b", "1")]), shard.read_barrier(), shard.wait_for(1 << 60))
    )
    leader.run(shard.stop)

    assert type(cluster.failure(logged)) is OutcomeUnknownError
    assert type(cluster.failure(queued)) is NotProposedError
    assert isinstance(cluster.failure(read), ShardClosedError)
    assert isinstance(cluster.failure(behind), UnreadableError)
    assert isinstance(cluster.failure(leader.run(shard.read_barrier)), ShardClosedError)
    assert ended == ["readers"]
    with pytest.raises(NoLeaderError):
        shard.propose([new_row("c", "1")])


def test_a_failed_log_stops_the_replica_and_leaves_the_outcome_unknown(
    cluster: Cluster, new_row: NewRow
) -> None:
    leader = cluster.leader
    shard = leader.metadata
    leader.log_disk.failure = FullError("no space left")
    error = cluster.failure(cluster.proposal(leader, new_row("a", "1")))

    assert isinstance(error, OutcomeUnknownError)
    assert isinstance(shard.stopped, FullError)
    assert leader.shards.get(METADATA) is None


def carried(source: Node, target: Node) -> tuple[Manifest, Incoming]:
    """Carry a snapshot over, at once."""
    checkpoint = source.metadata.data.checkpoint()
    manifest = checkpoint.manifest()
    incoming = target.metadata.data.incoming(manifest)
    for file in manifest.files:
        incoming.write(file.name, 0, checkpoint.read(file.name, 0, file.size))
    incoming.finish()
    return manifest, incoming


def install(source: Node, target: Node) -> bool:
    manifest, incoming = carried(source, target)
    position = manifest.record.position
    configuration = Configuration.decode(manifest.record.configuration)

    def swap(into: ShardData) -> None:
        into.install(incoming)

    return target.run(lambda: target.metadata.replace_data(swap, position, configuration))


def test_what_a_snapshot_overtakes_is_unknown_and_reads_go_on_behind_it(
    cluster: Cluster, new_row: NewRow, new_command: NewCommand
) -> None:
    old = cluster.leader
    cluster.isolate(old)
    lost = cluster.proposal(old, new_row("a", "1"))
    cluster.until(lambda: not old.metadata.leads)
    for number in range(5):
        cluster.propose(new_row(str(number), "x"))
    cluster.propose(new_command(RaiseGeneration(generation=5), slotless=True))
    new = cluster.leader
    ended: list[int] = []
    told: list[int] = []
    old.metadata.on_replace(lambda: ended.append(old.metadata.applied))
    old.metadata.subscribe(told.append)
    behind = old.run(lambda: old.metadata.wait_for(new.metadata.revision))
    before = old.metadata.applied

    assert install(new, old)
    assert type(cluster.failure(lost)) is OutcomeUnknownError
    assert cluster.result(behind) == new.metadata.applied
    assert old.rows() == new.rows()
    assert (ended, told) == ([before], [new.metadata.applied])
    assert old.metadata.applier.generation == 5
    # The same one is not ahead any more.
    assert not install(new, old)
    cluster.heal()
    cluster.propose(new_row("more", "x"))
    caught_up(cluster)
    assert len(digests(cluster)) == 1
    old.kill()
    old.start()
    cluster.propose(new_row("again", "x"))
    caught_up(cluster)
    assert old.rows()["again"] == "x"


def test_a_crash_between_the_swap_and_the_log_is_made_good_at_the_start(
    cluster: Cluster, new_row: NewRow
) -> None:
    behind = cluster.followers[0]
    cluster.isolate(behind)
    for number in range(5):
        cluster.propose(new_row(str(number), "x"))
    _, incoming = carried(cluster.leader, behind)
    behind.metadata.data.install(incoming)
    behind.kill()
    behind.start()
    cluster.heal()
    cluster.propose(new_row("again", "x"))
    caught_up(cluster)

    assert behind.metadata.stopped is None
    assert len(digests(cluster)) == 1


# Data that cannot be written for a while.


@pytest.mark.parametrize("kind", ["stalled", "full"])
def test_entries_wait_while_the_data_takes_no_writes(
    new_cluster: NewCluster, new_row: NewRow, kind: str
) -> None:
    cluster = new_cluster("a")
    leader = cluster.leader
    shard = leader.metadata
    cluster.propose(new_row("a", "1"))
    [disk] = leader.homes[METADATA].disks.values()
    if kind == "stalled":
        disk.stalled = True
    else:
        disk.failure = FullError("no space left")
    tries = 0
    apply = shard.applier.apply

    def counted(*arguments: object) -> object:
        nonlocal tries
        tries += 1
        return apply(*arguments)  # type: ignore[arg-type]

    shard.applier.apply = counted  # type: ignore[method-assign, assignment]
    future = cluster.proposal(leader, new_row("b", "1"))
    cluster.pass_time(3.0)

    assert not future.done()
    assert shard.stopped is None
    assert leader.rows() == {"a": "1"}
    assert 3 <= tries <= 65
    with pytest.raises(ExhaustedError) as refused:
        shard.propose([new_row("c", "1")])
    assert 0 < refused.value.retry_after_ms <= 1_001
    disk.stalled, disk.failure = False, None
    [outcome] = cluster.result(future)
    assert outcome.refusal is None
    cluster.propose(new_row("c", "1"))
    assert set(leader.rows()) == {"a", "b", "c"}


def test_a_disk_that_is_nearly_full_takes_no_proposals_and_recovers(
    new_cluster: NewCluster, new_row: NewRow
) -> None:
    cluster = new_cluster("a")
    leader = cluster.leader
    cluster.propose(new_row("a", "1"))
    leader.free_bytes = 1_000
    cluster.pass_time(1.0)
    with pytest.raises(ExhaustedError, match="1000 bytes are free"):
        leader.metadata.propose([new_row("b", "1")])
    assert leader.rows() == {"a": "1"}
    leader.free_bytes = 1 << 40
    cluster.pass_time(1.1)
    cluster.propose(new_row("b", "1"))

    assert set(leader.rows()) == {"a", "b"}


def test_a_disk_at_its_margin_takes_no_proposals_until_a_quarter_more_is_free() -> None:
    free, now = [MARGIN_BYTES], [0.0]
    space = FreeSpace(lambda: free[-1], lambda: now[-1])
    found = []
    for each in (MARGIN_BYTES, MARGIN_BYTES - 1, MARGIN_BYTES, MARGIN_BYTES * 5 // 4, MARGIN_BYTES):
        free.append(each)
        now.append(now[-1] + 1.0)
        found.append(space.short)

    assert found == [False, True, True, False, False]


def test_what_waits_when_the_disk_becomes_nearly_full_is_not_proposed(
    new_cluster: NewCluster, new_row: NewRow
) -> None:
    cluster = new_cluster(settings=ShardSettings(behind_s=0.1))
    leader = cluster.leader
    cluster.propose(new_row("a", "1"))
    cluster.passes = lambda _: False
    leader.metadata.propose([new_row("b", "1")])
    cluster.pass_time(0.02)
    last = leader.metadata.replica.log.last
    waiting = leader.metadata.propose([new_row("c", "1")])
    leader.free_bytes = 1_000
    cluster.pass_time(0.15)

    with pytest.raises(ExhaustedError, match="1000 bytes are free"):
        waiting.result()
    assert leader.metadata.replica.log.last == last
    assert leader.metadata.status().queued == 0


def test_a_follower_whose_disk_is_nearly_full_takes_no_entries_and_catches_up(
    cluster: Cluster, new_row: NewRow
) -> None:
    cluster.propose(new_row("a", "1"))
    caught_up(cluster)
    follower = cluster.followers[0]
    follower.free_bytes = 1_000
    cluster.pass_time(1.0)
    leader = cluster.leader
    cluster.propose(new_row("b", "1"))
    cluster.pass_time(1.0)
    held = follower.rows()
    follower.free_bytes = 1 << 40
    caught_up(cluster)

    assert held == {"a": "1"}
    assert cluster.leader is leader
    assert follower.rows() == {"a": "1", "b": "1"}


def test_a_read_that_waits_for_entries_which_a_full_disk_has_no_room_for_ends(
    cluster: Cluster, new_row: NewRow
) -> None:
    follower = cluster.followers[0]
    follower.free_bytes = 1_000
    cluster.pass_time(1.0)
    cluster.propose(new_row("a", "1"))
    began = cluster.world.now
    behind = follower.run(follower.metadata.read_barrier)
    cluster.propose(new_row("b", "1"))
    failure = cluster.failure(behind)

    assert isinstance(failure, UnreadableError)
    assert "behind here: 1000 bytes are free" in str(failure)
    assert cluster.world.now - began < follower.metadata.settings.read_timeout_s / 4


@pytest.mark.parametrize("seed", range(5))
def test_a_node_whose_disk_is_nearly_full_is_elected_only_if_nobody_else_is(
    new_cluster: NewCluster, seed: int
) -> None:
    cluster = new_cluster(seed=seed)
    first = cluster.leader
    full, other = cluster.followers
    full.free_bytes = 1_000
    cluster.isolate(first)
    cluster.until(lambda: other.metadata.leads)
    assert not full.metadata.leads
    other.free_bytes = 1_000
    first.free_bytes = 1_000
    cluster.heal()
    cluster.isolate(other)
    cluster.until(lambda: first.metadata.leads or full.metadata.leads)


def test_a_full_node_lets_a_new_leader_answer_reads(cluster: Cluster, new_row: NewRow) -> None:
    cluster.propose(new_row("a", "1"))
    caught_up(cluster)
    first = cluster.leader
    full, other = cluster.followers
    full.free_bytes = 1_000
    cluster.isolate(first)
    cluster.until(lambda: other.metadata.leads)
    for node in (full, other):
        assert cluster.result(node.run(node.metadata.read_barrier))


# What is counted.


def test_writes_are_counted_with_their_entries_on_the_leader_and_applied_on_all(
    cluster: Cluster, new_row: NewRow
) -> None:
    caught_up(cluster)
    leader = cluster.leader
    counters = leader.metadata.counters

    def counted() -> list[float]:
        return [
            leader.metadata.applier.counters.entries,
            _count(counters.entry_commands),
            counters.entry_commands.total,
            _count(counters.durations),
            *(_count(node.metadata.counters.durations) for node in cluster.followers),
            *(node.metadata.applier.counters.commands for node in cluster.nodes.values()),
        ]

    before, spent_s, logged = counted(), counters.durations.total, counters.entry_bytes.total
    futures = leader.run(
        lambda: [
            leader.metadata.propose([new_row(key, "1") for key in keys]) for keys in ("ab", "c")
        ]
    )
    status = leader.metadata.status()
    for future in futures:
        cluster.result(future)
    caught_up(cluster)

    # Both writes went into one entry.
    grown = [now - then for now, then in zip(counted(), before, strict=True)]
    assert grown == [1, 1, 3, 2, 0, 0, 3, 3, 3]
    assert counters.entry_bytes.total - logged > 0
    assert status.admitted_bytes > 0
    assert counters.durations.total > spent_s
    after = leader.metadata.status()
    assert (status.admitted, after.admitted, after.admitted_bytes) == (3, 0, 0)


def _count(histogram: Histogram) -> int:
    return list(histogram.buckets())[-1][1]


# Slow writes.


def test_a_slow_write_is_warned_about_once_with_its_stage(
    new_cluster: NewCluster,
    new_row: NewRow,
    caplog: pytest.LogCaptureFixture,
    drop_appends: Callable[[Message], bool],
) -> None:
    cluster = new_cluster()
    cluster.propose(new_row("a", "1"))
    caught_up(cluster)
    leader = cluster.leader
    cluster.passes = drop_appends
    with caplog.at_level(logging.WARNING, "quorate.shards"):
        futures = leader.run(
            lambda: [leader.metadata.propose([new_row(key, "1")]) for key in ("b", "c")]
        )
        cluster.pass_time(0.95)
        assert not caplog.records
        cluster.pass_time(2.0)
        cluster.passes = lambda _: True
        for future in futures:
            cluster.result(future)

    [warning] = caplog.records
    assert warning.__dict__["shard"] == "metadata/0"
    assert warning.__dict__["command"] == "google.protobuf.StringValue"
    assert warning.__dict__["stage"] == "replicate"
    assert warning.__dict__["others"] == 1
    assert 1_000 <= warning.__dict__["ms"] < 1_100


# Members.


def test_a_replica_that_was_removed_finds_out_and_says_so(
    cluster: Cluster, caplog: pytest.LogCaptureFixture
) -> None:
    leader, removed = cluster.leader, cluster.followers[0]
    shard = removed.metadata
    members = [Member(n.peer) for n in cluster.nodes.values() if n is not removed]
    changed = leader.run(lambda: leader.metadata.change_membership(Configuration.of(members)))
    index = cluster.result(changed)
    cluster.until(lambda: shard.stopped is not None)

    assert isinstance(shard.stopped, RemovedError)
    assert f"since index {index}" in str(shard.stopped)
    assert leader.metadata.membership is not None
    assert leader.metadata.membership.index == index
    # Whoever ends for it says so; that a replica leaves is no error by itself.
    assert [each for each in caplog.records if each.levelno >= logging.WARNING] == []


def test_a_change_of_members_ends_with_its_deadline(cluster: Cluster) -> None:
    leader, cut_off = cluster.leader, cluster.followers[0]
    cluster.isolate(leader)
    members = [Member(n.peer) for n in cluster.nodes.values() if n is not cut_off]
    changed = leader.run(lambda: leader.metadata.change_membership(Configuration.of(members), 0.2))
    error = cluster.failure(changed)

    assert isinstance(error, UnansweredInTimeError)
    assert "the members of shard metadata/0 were about to change" in str(error)
    cluster.heal()
    caught_up(cluster)
    assert cluster.leader.metadata.membership is not None


def test_a_replica_that_only_hears_nobody_goes_on(cluster: Cluster, new_row: NewRow) -> None:
    follower = cluster.followers[0]
    cluster.isolate(follower)
    cluster.pass_time(20.0)
    assert follower.metadata.stopped is None
    cluster.heal()
    cluster.propose(new_row("a", "1"))
    caught_up(cluster)

    assert follower.rows() == {"a": "1"}


def test_what_others_knew_before_settles_nothing(cluster: Cluster, new_row: NewRow) -> None:
    follower, leader = cluster.followers[0], cluster.leader
    asked: list[str] = []

    def ask(_: ShardId, node: str) -> asyncio.Future[Membership | None]:
        asked.append(node)
        answer: asyncio.Future[Membership | None] = follower.loop.create_future()
        answer.set_result(Membership(0, Configuration.of([Member(leader.peer)])))
        return answer

    follower.ask = ask  # type: ignore[method-assign, assignment]
    cluster.isolate(follower)
    cluster.until(lambda: len(asked) > 2)

    assert follower.metadata.stopped is None


# The log.


def test_the_log_is_cut_only_behind_what_the_data_has_made_durable(
    new_cluster: NewCluster, new_row: NewRow
) -> None:
    policy = LogPolicy(tail_entries=2, flush_s=0.5)
    cluster = new_cluster("a", settings=ShardSettings(log=policy, batch_bytes=1))
    node = cluster.leader
    shard = node.metadata
    for _ in range(30):
        node.run(lambda: [shard.propose([new_row(str(key), "x")]) for key in range(5)])
        assert shard.status().replica.first - 1 <= shard.data.durable_index
    cluster.pass_time(1.0)
    first = shard.status().replica.first
    node.lose_power(Random(3))
    node.start()

    assert first > 100
    assert cluster.leader.metadata.stopped is None


def test_the_log_stays_within_its_bound_and_is_never_cut_ahead_of_the_data(
    new_cluster: NewCluster, new_row: NewRow
) -> None:
    policy = LogPolicy(tail_entries=40, flush_s=0.5)
    cluster = new_cluster(settings=ShardSettings(log=policy))
    longest = 0
    for number in range(200):
        cluster.propose(new_row(str(number % 7), "x"))
        for node in cluster.nodes.values():
            status = node.metadata.status().replica
            longest = max(longest, status.last - status.first + 1)
            assert status.first - 1 <= node.metadata.data.durable_index
    assert 30 <= longest <= 60
    for node in cluster.nodes.values():
        node.lose_power(Random(1))
    for node in cluster.nodes.values():
        node.start()
    cluster.propose(new_row("end", "x"))


def test_a_hold_keeps_the_log_until_it_is_released_or_too_long(
    new_cluster: NewCluster, new_row: NewRow
) -> None:
    policy = LogPolicy(tail_entries=8, flush_s=0.5, held_s=30.0, held_bytes=20_000)
    cluster = new_cluster("a", settings=ShardSettings(log=policy))
    node = cluster.leader
    hold = node.metadata.hold_log(node.metadata.applied)

    def write(count: int) -> int:
        for _ in range(count):
            cluster.propose(new_row("k", "x" * 100))
        cluster.pass_time(1.0)
        return node.metadata.status().replica.first

    assert write(30) == hold.index + 1
    assert not hold.broken
    hold.release()
    hold.release()
    assert write(5) > hold.index + 20
    second = node.metadata.hold_log(node.metadata.applied)
    write(150)
    assert second.broken
    third = node.metadata.hold_log(node.metadata.applied)
    cluster.pass_time(31.0)
    write(5)
    assert third.broken


def test_what_is_applied_becomes_durable_without_further_writes(
    new_cluster: NewCluster, new_row: NewRow
) -> None:
    cluster = new_cluster("a")
    node = cluster.leader
    cluster.propose(new_row("a", "1"))
    cluster.pass_time(601.0)

    assert node.metadata.data.durable_index == node.metadata.applied


def test_what_a_killed_node_had_applied_it_applies_again_without_a_leader(
    new_cluster: NewCluster, new_row: NewRow
) -> None:
    cluster = new_cluster()
    for key in "abc":
        cluster.propose(new_row(key, "x"))
    cluster.pass_time(0.5)
    node = cluster.nodes["b"]
    rows, applied = node.rows(), node.metadata.applied
    assert set(rows) == set("abc")
    for each in cluster.nodes.values():
        each.kill()
    node.start()
    cluster.pass_time(0.5)

    assert (node.rows(), node.metadata.applied) == (rows, applied)
    assert node.metadata.data.durable_index < applied


def test_log_durable_tells_when_the_log_is(cluster: Cluster, new_row: NewRow) -> None:
    leader = cluster.leader
    shard = leader.metadata
    assert leader.run(shard.log_durable).done()
    durable_when_told: list[int] = []
    asked: list[tuple[int, asyncio.Future[None]]] = []

    def ask() -> None:
        log = shard.replica.log
        assert log.synced_index < log.last.index
        told = shard.log_durable()
        told.add_done_callback(lambda _: durable_when_told.append(log.synced_index))
        asked.append((log.last.index, told))

    def write() -> None:
        shard.propose([new_row("a", "1")])
        leader.loop.call_soon(ask)

    leader.run(write)
    [(last, told)] = asked
    cluster.result(told)
    cluster.pass_time(0.01)

    assert durable_when_told[0] >= last


def test_subscribers_are_told_once_for_what_is_applied(cluster: Cluster, new_row: NewRow) -> None:
    follower = cluster.followers[0]
    told: list[int] = []
    cancel = follower.metadata.subscribe(told.append)
    cluster.propose(new_row("a", "1"), new_row("b", "1"))
    caught_up(cluster)
    cluster.pass_time(0.1)
    assert told[-1] == follower.metadata.applied
    count = len(told)
    cancel()
    cluster.propose(new_row("c", "1"))
    caught_up(cluster)
    cluster.pass_time(0.1)

    assert len(told) == count


def test_a_stale_read_knows_its_age(cluster: Cluster, new_row: NewRow) -> None:
    cluster.propose(new_row("a", "1"))
    caught_up(cluster)
    follower = cluster.followers[0]
    cluster.pass_time(1.0)
    assert 0 <= cluster.leader.metadata.staleness().age_ms <= 60
    assert 0 <= follower.metadata.staleness().age_ms <= 60
    cluster.isolate(follower)
    cluster.pass_time(10.0)
    staleness = follower.metadata.staleness()

    assert 9_900 <= staleness.age_ms <= 10_100
    assert staleness.revision == follower.metadata.revision


def test_a_follower_that_gets_no_entries_claims_no_freshness(
    cluster: Cluster, new_row: NewRow, drop_appends: Callable[[Message], bool]
) -> None:
    """It hears its leader all the time, and has long not had what that has committed."""
    cluster.propose(new_row("a", "1"))
    caught_up(cluster)
    lagging, other = cluster.followers
    cluster.passes = lambda message: message.target != lagging.peer or drop_appends(message)
    cluster.propose(new_row("b", "1"))
    cluster.pass_time(10.0)

    assert lagging.rows() == {"a": "1"}
    assert 9_800 <= lagging.metadata.staleness().age_ms <= 10_200
    assert 0 <= other.metadata.staleness().age_ms <= 60
    cluster.passes = lambda _: True
    caught_up(cluster)
    cluster.pass_time(0.5)
    assert 0 <= lagging.metadata.staleness().age_ms <= 60


def test_a_leader_is_as_fresh_as_its_last_turn_before_it_applies(
    cluster: Cluster, new_row: NewRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has asked for long, and what was just committed is not applied yet."""
    shard = cluster.leader.metadata
    cluster.propose(new_row("a", "1"))
    assert shard.staleness().age_ms >= 0
    cluster.pass_time(10.0)
    told: list[int] = []
    receive = shard.receive

    def received(message: Message, *, alone: bool) -> None:
        receive(message)
        if shard.replica.commit > shard.applied:
            told.append(shard.staleness().age_ms)

    monkeypatch.setattr(shard, "receive", received)
    cluster.propose(new_row("b", "1"))

    assert told
    assert 0 <= told[0] <= 60


def test_a_leader_that_is_cut_off_claims_no_freshness(cluster: Cluster, new_row: NewRow) -> None:
    cluster.propose(new_row("a", "1"))
    leader = cluster.leader
    cluster.pass_time(1.0)
    assert 0 <= leader.metadata.staleness().age_ms <= 60
    cluster.isolate(leader)
    cluster.pass_time(0.15)

    assert leader.metadata.leads
    assert 140 <= leader.metadata.staleness().age_ms <= 210
    cluster.pass_time(5.0)
    cluster.until(lambda: not leader.metadata.leads)
    assert 5_140 <= leader.metadata.staleness().age_ms <= 5_210


def test_a_replica_that_stopped_ends_whoever_comes_to_read_it(cluster: Cluster) -> None:
    shard = cluster.followers[0].metadata
    ended: list[str] = []
    cluster.followers[0].run(shard.stop)
    shard.on_replace(lambda: ended.append("readers"))
    cluster.until(lambda: ended == ["readers"], within_s=1.0)


def test_a_subscriber_that_fails_costs_the_others_nothing(
    cluster: Cluster, new_row: NewRow, caplog: pytest.LogCaptureFixture
) -> None:
    shard = cluster.leader.metadata
    told: list[int] = []

    def fail(_: int) -> None:
        raise ZeroDivisionError("a subscriber's bug")

    shard.subscribe(fail)
    shard.subscribe(told.append)
    [outcome] = cluster.propose(new_row("a", "1"))
    cluster.pass_time(0.1)

    assert told[-1] == shard.applied
    assert "a subscriber's bug" in caplog.text
    assert outcome.refusal is None


def test_a_replica_that_differs_stops_at_the_next_entries(
    cluster: Cluster, new_row: NewRow
) -> None:
    cluster.propose(new_row("a", "1"))
    caught_up(cluster)
    odd = cluster.followers[0]
    shard: Shard = odd.metadata
    shard.applier._checksums[shard.applied] ^= 1
    for _ in range(3):
        cluster.propose(new_row("b", "1"))
    cluster.until(lambda: shard.stopped is not None)

    assert "checksum" in str(shard.stopped)
    assert odd.shards.get(METADATA) is None
    cluster.propose(new_row("c", "1"))


def test_handlers_run_on_the_leader_alone(
    cluster: Cluster, new_row: NewRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[str] = []
    evaluate = Evaluator.evaluate

    def noting(self: Evaluator, *given: Any, **named: Any) -> Any:
        ran.append(str(id(self)))
        return evaluate(self, *given, **named)

    monkeypatch.setattr(Evaluator, "evaluate", noting)
    cluster.propose(new_row("a", "1"))
    caught_up(cluster)

    assert ran == [str(id(cluster.leader.metadata.evaluator))]
    assert all(node.rows() == {"a": "1"} for node in cluster.nodes.values())


def test_a_shard_that_rests_applies_nothing_and_then_goes_on(
    new_cluster: NewCluster, new_row: NewRow
) -> None:
    class Long:
        """Every turn is held to be a long one, beside others."""

        def after(self, shard: ShardId, took_s: float) -> float:
            assert shard == METADATA
            assert took_s > 0
            return 0.5

    cluster = new_cluster("a")
    leader = cluster.leader
    shard = leader.metadata
    applying = shard._applying
    context = replace(applying._context, loop_budget=Long())  # type: ignore[arg-type]
    applying._context = context
    cluster.propose(new_row("a", "1"))
    future = cluster.proposal(leader, new_row("b", "1"))
    cluster.pass_time(0.4)

    assert leader.rows() == {"a": "1"}
    cluster.result(future)
    assert leader.rows() == {"a": "1", "b": "1"}
