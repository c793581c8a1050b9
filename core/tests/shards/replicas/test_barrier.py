"""Linearizable reads are never stale, on the leader and on followers, whatever the network does."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import pytest
from quorate.apply.entries import index_of
from quorate.consensus.messages import Message, ReadRequest
from quorate.shards.refusals import LeaderlessError, NotProposedError, ReadTimeoutError

if TYPE_CHECKING:
    from quorate.apply.entries import LoggedCommand

    from core.tests.steered import Cluster, Node

NewRow = Callable[[str, str], "LoggedCommand"]
NewCluster = Callable[..., "Cluster"]


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(seed, marks=pytest.mark.ci) for seed in range(4, 12))]
)
def test_a_read_sees_every_write_that_was_answered_before_it(
    new_cluster: NewCluster, new_row: NewRow, seed: int
) -> None:
    cluster = new_cluster(seed=seed)
    rng = cluster.world.rng("schedule")
    nodes = list(cluster.nodes.values())
    answered = 0
    served = 0
    stale: list[str] = []

    def write(node: Node) -> None:
        try:
            future = node.metadata.propose([new_row("k", "v")], timeout_s=2.0)
        except NotProposedError:
            return

        def done(_: object) -> None:
            nonlocal answered
            if not future.cancelled() and future.exception() is None:
                answered = max(answered, index_of(future.result()[0].revision))

        future.add_done_callback(done)

    def read(node: Node) -> None:
        floor = answered
        future = node.metadata.read_barrier(timeout_s=1.0)

        def done(_: object) -> None:
            nonlocal served
            if future.exception() is None:
                served += 1
                applied = node.metadata.applied
                if not floor <= future.result() <= applied:
                    stale.append(f"{node.name} read {future.result()} of {floor}")

        future.add_done_callback(done)

    for _ in range(400):
        node = rng.choice(nodes)
        node.run(lambda chosen=node: rng.choice((write, read))(chosen))  # type: ignore[misc]
        if rng.random() < 0.02:
            cluster.isolate(rng.choice(nodes))
        elif rng.random() < 0.05:
            cluster.heal()
        cluster.pass_time(rng.choice((0.0, 0.002, 0.02, 0.1)))
    cluster.heal()
    cluster.pass_time(3.0)

    assert stale == []
    assert answered > 20
    assert served > 40


def test_reads_of_one_turn_share_one_question(cluster: Cluster) -> None:
    follower = cluster.followers[0]
    questions: list[Message] = []

    def passes(message: Message) -> bool:
        if isinstance(message.body, ReadRequest):
            questions.append(message)
        return True

    cluster.passes = passes
    reads = follower.run(lambda: [follower.metadata.read_barrier() for _ in range(100)])
    indexes = {cluster.result(read) for read in reads}

    assert len(questions) == 1
    assert len(indexes) == 1


def test_a_read_that_came_later_asks_again(cluster: Cluster, new_row: NewRow) -> None:
    follower = cluster.followers[0]
    first = follower.run(follower.metadata.read_barrier)
    [outcome] = cluster.propose(new_row("a", "1"))
    second = follower.run(follower.metadata.read_barrier)

    assert cluster.result(second) >= index_of(outcome.revision)
    assert cluster.result(first) <= cluster.result(second)


def test_a_read_without_a_leader_waits_for_one(cluster: Cluster, new_row: NewRow) -> None:
    [outcome] = cluster.propose(new_row("a", "1"))
    follower = cluster.followers[0]
    cluster.isolate(follower)
    cluster.pass_time(2.0)
    read = follower.run(follower.metadata.read_barrier)
    cluster.pass_time(2.0)
    assert not read.done()
    cluster.heal()

    assert cluster.result(read) >= index_of(outcome.revision)


def test_a_read_is_answered_at_once_when_its_leader_is_heard_again(cluster: Cluster) -> None:
    follower = cluster.followers[0]
    term = follower.metadata.term
    for passed in (1.0, 1.1, 1.2, 1.3):
        cluster.isolate(follower)
        read = follower.run(lambda: follower.metadata.read_barrier(10.0))
        cluster.pass_time(passed)
        cluster.heal()
        healed_at = cluster.world.now
        cluster.result(read)
        assert cluster.world.now - healed_at < 0.2
    assert follower.metadata.term == term


@pytest.mark.parametrize("left", ["leader", "follower"])
def test_an_impatient_read_ends_once_nobody_need_wait_for_a_leader(
    cluster: Cluster, left: str
) -> None:
    node = cluster.leader if left == "leader" else cluster.followers[0]
    began = cluster.world.now
    for other in cluster.nodes.values():
        if other is not node:
            cluster.isolate(other)
    patient, impatient, later = (
        node.run(partial(node.metadata.read_barrier, 10.0, patient=patient))
        for patient in (True, False, False)
    )
    assert isinstance(cluster.failure(impatient), LeaderlessError)
    # Of what was heard just before.
    assert 0.9 < cluster.world.now - began < 1.2
    assert isinstance(cluster.failure(later), LeaderlessError)
    at_once = node.run(partial(node.metadata.read_barrier, 10.0, patient=False))
    assert isinstance(cluster.failure(at_once), LeaderlessError)
    assert cluster.world.now - began < 1.3
    cluster.heal()
    assert cluster.result(patient)
    assert node.metadata.leaderless_from == float("inf")


def test_a_replica_that_starts_alone_gives_others_the_time_of_an_election(
    cluster: Cluster,
) -> None:
    for node in cluster.nodes.values():
        node.kill()
    node = cluster.nodes["a"]
    node.start()
    began = cluster.world.now
    assert began < node.metadata.leaderless_from <= began + 1.0
    read = node.run(partial(node.metadata.read_barrier, 10.0, patient=False))
    assert isinstance(cluster.failure(read), LeaderlessError)
    assert 0.99 < cluster.world.now - began < 1.2


def test_a_read_ends_at_its_deadline(cluster: Cluster) -> None:
    follower = cluster.followers[0]
    cluster.isolate(follower)
    began = cluster.world.now
    barrier = follower.run(lambda: follower.metadata.read_barrier(timeout_s=0.3))
    behind = follower.run(lambda: follower.metadata.wait_for(1 << 60, timeout_s=0.5))
    assert isinstance(cluster.failure(barrier), ReadTimeoutError)
    assert 0.29 < cluster.world.now - began < 0.33
    assert isinstance(cluster.failure(behind), ReadTimeoutError)
    assert 0.49 < cluster.world.now - began < 0.53


def test_a_follower_waits_for_a_revision(cluster: Cluster, new_row: NewRow) -> None:
    follower = cluster.followers[0]
    cluster.isolate(follower)
    [outcome] = cluster.propose(new_row("a", "1"))
    waiting = follower.run(lambda: follower.metadata.wait_for(outcome.revision))
    cluster.pass_time(0.1)
    assert not waiting.done()
    cluster.heal()

    assert cluster.result(waiting) >= index_of(outcome.revision)
    assert follower.rows() == {"a": "1"}


def test_a_caller_that_went_away_does_no_harm(cluster: Cluster) -> None:
    leader = cluster.leader
    reads = leader.run(lambda: [leader.metadata.read_barrier() for _ in range(2)])
    reads[0].cancel()

    assert cluster.result(reads[1]) == leader.metadata.applied


def test_reads_that_timed_out_leave_nothing_behind(cluster: Cluster) -> None:
    follower = cluster.followers[0]
    shard = follower.metadata
    waiting = [
        follower.run(lambda: shard.wait_for(1 << 60, timeout_s=0.2)),
        follower.run(lambda: shard.wait_for(1 << 61, timeout_s=0.2)),
    ]
    kept = follower.run(lambda: shard.wait_for(1 << 60, timeout_s=0.5))
    for future in waiting:
        assert isinstance(cluster.failure(future), ReadTimeoutError)
    cluster.pass_time(0.1)

    assert len(shard._reads.barrier) == 1
    assert isinstance(cluster.failure(kept), ReadTimeoutError)
    assert len(shard._reads.barrier) == 0


def test_reads_without_a_leader_leave_nothing_behind(cluster: Cluster) -> None:
    follower = cluster.followers[0]
    cluster.isolate(follower)
    cluster.pass_time(1.0)
    reads = [follower.run(lambda: follower.metadata.read_barrier(timeout_s=0.2)) for _ in range(5)]
    for read in reads:
        assert isinstance(cluster.failure(read), ReadTimeoutError)
    cluster.pass_time(0.5)

    assert len(follower.metadata._reads.barrier) == 0
