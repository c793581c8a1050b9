"""Replicas that move between nodes, while nodes crash."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from random import Random
from typing import TYPE_CHECKING

import pytest
from quorate.apply.entries import LoggedCommand
from quorate.consensus.messages import Peer
from quorate.observe.failpoints import arm
from quorate.plugin import Rejected
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.shards.refusals import NoLeaderError, NotProposedError, OutcomeUnknownError
from quorate.shards.steps import Step
from quorate.shards.topology_rows import MOVING, replicas_of
from quorate.topology.changes import move
from quorate.topology.changes.move import move_step
from quorate.v1 import control_pb2 as pb

if TYPE_CHECKING:
    from quorate.apply.outcomes import Outcome
    from quorate.consensus.membership import Configuration
    from quorate.consensus.status import ReplicaStatus
    from quorate.shards.shard.shard import Shard

    from core.tests.steered import Cluster, Node

NewRow = Callable[[str, str], LoggedCommand]

TOY = ShardId("toy", 0)


class CrashError(Exception):
    """What ends a process at a failpoint."""


class Moving:
    """Shard toy/0 on three of five nodes."""

    def __init__(self, cluster: Cluster, new_row: NewRow) -> None:
        self.cluster = cluster
        self.new_row = new_row
        #: What was answered.
        self.written: dict[str, str] = {}
        self.down: set[str] = set()

    @property
    def row(self) -> pb.ShardRow:
        return next(row for row in self.cluster.leader.shards.rows().values() if row.group == "toy")

    @property
    def assigned(self) -> list[str]:
        """The nodes that its row names."""
        return sorted(each.node for each in replicas_of(self.row))

    @property
    def held(self) -> list[str]:
        """The nodes that have a replica."""
        nodes = self.cluster.nodes.items()
        return sorted(
            name for name, node in nodes if TOY in {each.id for each in node.shards.all()}
        )

    @property
    def spare(self) -> list[str]:
        return sorted(set(self.cluster.nodes) - set(self.assigned))

    @property
    def moves(self) -> bool:
        return self.row.HasField("move")

    def begin(self, source: str | None, target: str | None) -> None:
        """Begin a move, and return once it is under way."""
        move = pb.MoveReplica(group="toy", number=0)
        if target is not None:
            move.to.CopyFrom(self.member(target))
        if source is not None:
            getattr(move, "from").CopyFrom(self.member(source))
        node = self.cluster.leader
        [outcome] = self.cluster.result(self.cluster.proposal(node, _control(move), shard=METADATA))
        if outcome.refusal is not None:
            raise Rejected(outcome.refusal.code, outcome.refusal.message)

    def member(self, node: str) -> pb.ShardMember:
        return pb.ShardMember(node=node, replica=self.cluster.nodes[node].peer.replica)

    def write(self, count: int = 1) -> None:
        """Write rows where the shard is led, and remember those that are answered."""
        for _ in range(count):
            key = f"key{len(self.written) % 20}"
            value = str(len(self.written))
            leader = self.cluster.leader_of(TOY)
            written = self.cluster.proposal(leader, self.new_row(key, value), shard=TOY)
            failed = self.cluster.failure(written)
            if not isinstance(failed, NotProposedError | OutcomeUnknownError):
                written.result()
                self.written[key] = value

    def crash(self, name: str, rng: Random, *, power: bool) -> None:
        node = self.cluster.nodes[name]
        self.down.add(name)
        self.cluster.isolated.add(name)
        if power:
            node.lose_power(rng)
        else:
            node.kill()

    def restart(self, name: str) -> None:
        self.down.discard(name)
        self.cluster.isolated.discard(name)
        self.cluster.nodes[name].start()
        for node in self.cluster.nodes.values():
            for other in self.cluster.nodes:
                node.run(partial(node.shards.remade, other))

    def check(self) -> None:
        """Every replica has every answered write, and no other node has anything."""
        cluster = self.cluster
        cluster.until(lambda: not self.moves and self.held == self.assigned)

        def voters() -> list[str]:
            configuration = cluster.leader_of(TOY)[TOY].configuration
            assert configuration is not None
            return [peer.node for peer in configuration.voters]

        cluster.until(lambda: voters() == self.assigned)
        self.write()
        cluster.until(lambda: len({cluster.nodes[name][TOY].applied for name in self.held}) == 1)
        for name in self.held:
            rows = cluster.nodes[name].rows(TOY)
            assert {key: rows.get(key) for key in self.written} == self.written
        for name in self.spare:
            home = cluster.nodes[name].homes.get(TOY)
            assert home is None or not home.folders()


def _control(message: pb.MoveReplica) -> LoggedCommand:
    name = message.DESCRIPTOR.full_name
    return LoggedCommand(name, message.SerializeToString(), (), slotless=True)


@pytest.fixture
def moving(
    new_cluster: Callable[..., Cluster], new_row: NewRow, request: pytest.FixtureRequest
) -> Moving:
    """Five nodes; toy/0 is on three of them, and has some rows."""
    seed = getattr(request, "param", 1)
    cluster = new_cluster("abcde", seed=seed, group="toy", shards={"toy": 1}, replicas={"toy": 3})
    made = Moving(cluster, new_row)
    made.write(5)
    return made


def test_a_shard_is_founded_on_as_many_nodes_as_it_has_replicas(
    new_cluster: Callable[..., Cluster],
) -> None:
    cluster = new_cluster("abcde", group="toy", shards={"toy": 5}, replicas={"toy": 3})
    held = {name: [each.id for each in node.shards.all()] for name, node in cluster.nodes.items()}
    for name, shards in held.items():
        assert METADATA in shards
        # 15 replicas on five nodes.
        assert len(shards) == 4, name
    for node in cluster.nodes.values():
        assert {len(node.shards.slot_map.members(ShardId("toy", each))) for each in range(5)} == {3}


def test_more_replicas_than_nodes_found_nothing_and_say_so(
    new_cluster: Callable[..., Cluster],
) -> None:
    cluster = new_cluster("abc", group="toy", shards={"toy": 1}, replicas={"toy": 4}, settled=False)
    cluster.until(lambda: cluster.leader.shards.difference is not None)
    assert cluster.leader.shards.difference == (
        "[groups.toy] replicas is 4, and the nodes run on 3 machines: add nodes on other machines,"
        " or lower the number on every node"
    )
    cluster.pass_time(1.0)
    assert not [row for row in cluster.leader.shards.rows().values() if row.group == "toy"]
    # The others are there.
    assert [row for row in cluster.leader.shards.rows().values() if row.group == "metadata"]


def test_a_replica_moves_under_writes_and_leaves_nothing_behind(moving: Moving) -> None:
    source, target = moving.cluster.leader_of(TOY).name, moving.spare[0]
    moving.begin(source, target)
    while moving.moves:
        moving.write()
    moving.check()
    assert target in moving.held
    assert source not in moving.held


def test_replicas_are_added_and_removed(moving: Moving) -> None:
    before, added = moving.assigned, moving.spare[0]
    moving.begin(None, added)
    moving.check()
    assert moving.held == sorted([*before, added])
    moving.begin(before[0], None)
    moving.check()
    assert moving.held == sorted([*before[1:], added])


def test_one_replica_of_a_shard_moves_at_a_time(moving: Moving) -> None:
    source, (target, other) = moving.assigned[0], moving.spare
    moving.begin(source, target)
    with pytest.raises(Rejected, match="one moves at a time") as refused:
        moving.begin(source, other)
    assert refused.value.code == MOVING
    moving.check()
    with pytest.raises(Rejected, match="has a replica of shard toy/0 already"):
        moving.begin(None, target)
    with pytest.raises(Rejected, match="no such replica"):
        moving.begin(source, other)


def test_a_move_is_taken_back_before_its_replica_votes(moving: Moving) -> None:
    before, target = moving.assigned, moving.spare[0]
    moving.crash(target, Random(1), power=False)
    moving.begin(before[0], target)
    moving.cluster.pass_time(2.0)
    assert moving.moves
    moving.begin(target, None)
    moving.cluster.until(lambda: not moving.moves)
    assert moving.assigned == before
    moving.restart(target)
    moving.check()


def test_founders_that_come_back_do_not_found_the_shard_again(moving: Moving) -> None:
    """One that did would vote as it must not: it has forgotten what it voted for, and its log."""
    cluster, founder, target = moving.cluster, moving.assigned[0], moving.spare[0]
    opened: list[Configuration | None] = []

    def note(shard: Shard) -> None:
        if shard.id == TOY:
            opened.append(shard.configuration)

    moving.begin(founder, target)
    moving.check()
    cluster.nodes[founder].run(lambda: cluster.nodes[founder].shards.on_open(note))
    moving.begin(target, founder)
    moving.check()
    assert founder in moving.held
    assert opened == [None]


@pytest.mark.parametrize("seed", range(8))
def test_a_replica_that_came_back_outlives_a_loss_of_power(
    moving: Moving, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its node reads rows of the time before it came back, and must not delete what votes now."""
    cluster, founder, target = moving.cluster, moving.assigned[0], moving.spare[0]
    for source, to in ((founder, target), (target, founder)):
        moving.begin(source, to)
        moving.check()
    home, destroyed = cluster.nodes[founder].homes[TOY], list[bool]()
    monkeypatch.setattr(home, "destroy", lambda: destroyed.append(True))
    moving.crash(founder, Random(seed), power=True)
    cluster.pass_time(0.5)
    moving.restart(founder)
    moving.write(3)
    moving.check()
    assert not destroyed


def test_every_caller_of_a_leader_that_moves_away_is_answered(moving: Moving) -> None:
    cluster = moving.cluster
    source, target = cluster.leader_of(TOY), moving.spare[0]
    answers: list[asyncio.Future[tuple[Outcome, ...]]] = []
    moving.begin(source.name, target)
    while moving.moves:
        replica = source.shards.get(TOY)
        if replica is not None and replica.leads:
            row = moving.new_row("key", str(len(answers)))
            answers.append(cluster.proposal(source, row, shard=TOY))
        cluster.pass_time(0.001)
    moving.check()
    cluster.until(lambda: all(answer.done() for answer in answers))
    failed = [answer.exception() for answer in answers if answer.exception() is not None]
    assert len(answers) - len(failed) > 20
    assert {type(each) for each in failed} <= {NoLeaderError, NotProposedError}


@pytest.mark.parametrize("power", [False, True])
@pytest.mark.parametrize(
    ("failpoint", "of_source"),
    [
        ("move.step", True),
        ("move.stepped", True),
        ("replica.assigned", False),
        ("data.created", False),
        ("replica.leaving", True),
        ("replica.destroyed", True),
    ],
)
def test_a_crash_at_every_step(
    moving: Moving, failpoint: str, of_source: bool, power: bool
) -> None:
    rng, cluster = Random(failpoint), moving.cluster
    source, target = cluster.leader_of(TOY).name, moving.spare[0]
    victim = source if of_source else target
    crashed: list[str] = []

    def crash() -> None:
        if not crashed and cluster.nodes[victim].loop is asyncio.get_running_loop():
            crashed.append(victim)
            moving.crash(victim, rng, power=power)
            raise CrashError(failpoint)

    with arm(failpoint, crash):
        moving.begin(source, target)
        cluster.until(lambda: bool(crashed))
        cluster.pass_time(1.0)
        moving.write()
        moving.restart(victim)
        moving.write(3)
        moving.check()
    assert target in moving.held


@pytest.mark.parametrize("moving", range(12), indirect=True)
def test_moves_come_to_their_end_whatever_crashes(
    moving: Moving, request: pytest.FixtureRequest
) -> None:
    rng = Random(request.node.name)
    cluster = moving.cluster
    for _ in range(4):
        moving.begin(rng.choice(moving.assigned), rng.choice(moving.spare))
        cluster.pass_time(rng.random() * 0.8)
        victim = rng.choice(sorted(cluster.nodes))
        moving.crash(victim, rng, power=rng.random() < 0.5)
        moving.write(2)
        cluster.pass_time(rng.random() * 2)
        moving.restart(victim)
        moving.write(2)
        moving.check()


def test_a_shard_that_removes_before_it_adds_is_found_out(
    moving: Moving, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The seeded bug: the old replica goes before the new one votes."""

    def removes_first(
        shard: ShardId, row: pb.ShardRow, status: ReplicaStatus, *, patience_s: float
    ) -> Step:
        leaving = pb.ShardRow(group="toy", number=0, move=row.move)
        leaving.move.ClearField("to")
        if row.HasField("move") and leaving_is_there(getattr(row.move, "from"), status):
            row = leaving
        return move_step(shard, row, status, patience_s=patience_s)

    def leaving_is_there(member: pb.ShardMember, status: ReplicaStatus) -> bool:
        peers = () if status.configuration is None else status.configuration.peers
        return Peer(member.node, member.replica) in peers

    fewest = []

    def watch(node: Node) -> None:
        configuration = node[TOY].configuration
        if configuration is not None:
            fewest.append(len(configuration.voters))

    def run(source: str, target: str) -> int:
        fewest.clear()
        moving.begin(source, target)
        while moving.moves:
            moving.cluster.pass_time(0.01)
            watch(moving.cluster.leader_of(TOY))
        moving.check()
        return min(fewest)

    assert run(moving.assigned[0], moving.spare[0]) == 3
    monkeypatch.setattr(move, "move_step", removes_first)
    assert run(moving.assigned[0], moving.spare[0]) == 2
