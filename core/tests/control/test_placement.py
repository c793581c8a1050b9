"""What is moved when, and what operators are refused."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from google.protobuf.message import Message
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.control.placement import LOST_S, Placement
from quorate.plugin import Rejected
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.storage.families import MEMBERS
from quorate.storage.rows import stored
from quorate.topology.replicas.census import SILENT_S, Census
from quorate.v1 import control_pb2 as pb
from quorate.v1.node_pb2 import LedShard


def peer(node: str) -> Peer:
    return Peer(node, ord(node[0]))


def member(node: str) -> pb.ShardMember:
    return pb.ShardMember(node=node, replica=peer(node).replica)


@dataclass
class Metadata:
    """The replica of metadata/0, with rows of members."""

    rows: dict[str, pb.MemberRow] = field(default_factory=dict)
    nodes: list[str] = field(default_factory=list)
    leads: bool = False

    @property
    def configuration(self) -> Configuration:
        return Configuration.of([Member(peer(node)) for node in self.nodes])

    @property
    def data(self) -> Metadata:
        return self

    def iterate(self, family: str, _: bytes, __: None) -> Iterator[tuple[bytes, bytes]]:
        assert family == MEMBERS
        for node, row in self.rows.items():
            yield node.encode(), stored(1, row.SerializeToString())


class World:
    """Nodes and rows as a test says, and a clock that it moves."""

    def __init__(self, nodes: str, *shards: str, replicas: int = 3) -> None:
        self.now = 0.0
        self.metadata = Metadata(nodes=list(nodes))
        self.replicas = dict.fromkeys(nodes, replicas)
        self.table = [
            pb.ShardRow(group="toy", number=number, members=[member(node) for node in on])
            for number, on in enumerate(shards)
        ]
        self.me = peer(nodes[0])
        self.census = Census(lambda: self.now)
        self.hear(nodes)
        self.asked: list[Message] = []
        self.placement = Placement(cast(Any, self), self.census, self.submit)

    def hear(self, nodes: Iterable[str], led: Iterable[LedShard] = ()) -> None:
        for node in nodes:
            self.census.hear(peer(node), led)

    async def submit(self, shard: ShardId, message: Message) -> None:
        assert shard == METADATA
        self.asked.append(message)

    # What the placement sees of a node's shards.

    def get(self, shard: ShardId) -> Metadata:
        assert shard == METADATA
        return self.metadata

    def rows(self) -> dict[ShardId, pb.ShardRow]:
        return {ShardId(row.group, row.number): row for row in self.table}

    def declarations(self) -> Iterator[pb.NodeDeclaration]:
        for node, replicas in self.replicas.items():
            groups = [pb.DeclaredGroup(name="toy", shards=1, replicas=replicas)]
            yield pb.NodeDeclaration(node=node, replica=peer(node).replica, groups=groups)

    # What a test does.

    def run(self) -> list[str]:
        """Run the controller once; return what it moves, as `shard:from>to`."""
        self.asked.clear()
        asyncio.run(self.placement.controller.run_once(cast(Any, None), cast(Any, None)))
        moves = [each for each in self.asked if isinstance(each, pb.MoveReplica)]
        return [f"{each.number}:{getattr(each, 'from').node}>{each.to.node}" for each in moves]

    def begin(self, number: int, source: str, target: str) -> None:
        row = self.table[number]
        row.replicas.extend([*row.members, member(target)])
        row.move.to.CopyFrom(member(target))
        getattr(row.move, "from").CopyFrom(member(source))


def test_nothing_moves_where_all_is_well_or_nothing_is_placed() -> None:
    assert World("abc", "abc", "abc").run() == []
    assert World("abcd", "abc", "abc", replicas=0).run() == []


def test_a_node_that_comes_gets_its_share_a_few_at_a_time() -> None:
    world = World("abcd", *["abc"] * 12)
    # Each of the others gives one or two at once, and the new one takes no more than two.
    assert len(world.run()) == 2


def test_a_node_is_lost_when_it_has_not_answered_for_long() -> None:
    world = World("abcd", "abc")
    world.now = LOST_S - 1
    world.hear("abd")
    assert world.run() == []
    world.now = LOST_S + 1
    world.hear("abd")
    assert world.run() == ["0:c>d"]


def test_a_node_that_lost_its_directory_gets_nothing_and_is_lost_in_the_end() -> None:
    world = World("abcd", "abc", "abc", "abc")
    world.now = SILENT_S + 1
    world.hear("abc")
    world.census.hear(Peer("d", 7), [])
    assert world.run() == []
    world.now = LOST_S + SILENT_S + 2
    world.hear("abd")
    world.census.hear(Peer("c", 7), [])
    assert "0:c>d" in world.run()


def test_a_move_to_a_node_that_does_not_answer_is_taken_back() -> None:
    world = World("abcd", "abc")
    world.begin(0, "a", "d")
    world.now = 59.0
    world.hear("abc")
    assert world.run() == []
    world.now = 61.0
    world.hear("abc")
    assert world.run() == ["0:d>"]


def test_numbers_that_differ_move_nothing_and_are_said() -> None:
    world = World("abcd", "abc")
    world.replicas["a"] = 2
    assert world.run() == []
    [problem] = world.placement.problems
    assert problem.startswith("nodes declare different numbers of replicas of group toy")


def test_a_node_drains_where_others_take_its_replicas() -> None:
    world = World("abcd", "abc", "abd")
    assert world.placement.check_drain("a")[0] == 2
    world.metadata.rows["a"] = pb.MemberRow(node="a", drains=True)
    assert world.run() == ["0:a>d", "1:a>c"]
    assert world.placement.places().held("a") == [ShardId("toy", 0), ShardId("toy", 1)]


def test_a_drain_without_another_place_is_refused() -> None:
    with pytest.raises(Rejected, match="c cannot be drained: 1 shard of group toy cannot have 3"):
        World("abc", "abc").placement.check_drain("c")
    with pytest.raises(Rejected, match="x is no node"):
        World("abc", "abc").placement.check_drain("x")


def test_a_drain_of_a_shard_without_a_majority_is_refused() -> None:
    world = World("abcde", "abc")
    world.now = SILENT_S + 1
    world.hear("ade")
    with pytest.raises(Rejected, match="3 replicas, of which b, c do not answer") as refused:
        world.placement.check_drain("a")
    assert refused.value.code == "NO_MAJORITY"


@pytest.mark.parametrize(
    ("shard", "source", "target", "reason"),
    [
        ("toy/7", "a", "d", "does not exist"),
        ("toy/0", "d", "a", "d has no replica of shard toy/0, but a, b, c"),
        ("toy/0", "a", "b", "b has a replica of it already"),
        ("toy/0", "a", "a", "a has a replica of it already"),
        ("toy/0", "a", "x", "x is no node"),
    ],
)
def test_moves_that_are_refused(shard: str, source: str, target: str, reason: str) -> None:
    with pytest.raises(Rejected, match=reason):
        World("abcd", "abc").placement.move(ShardId.parse(shard), source, target)


def test_a_move_of_an_operator() -> None:
    command = World("abcd", "abc").placement.move(ShardId("toy", 0), "a", "d")
    assert (command.number, command.to, getattr(command, "from")) == (0, member("d"), member("a"))


def test_the_replicas_that_nobody_takes_are_given_up_when_their_node_goes() -> None:
    world = World("abc", "abc")
    places = world.placement.places()
    assert not list(world.placement.given_up("c", places))
    world.metadata.rows["c"] = pb.MemberRow(node="c", drains=True)
    [command] = world.placement.given_up("c", world.placement.places())
    assert getattr(command, "from") == member("c")
    assert not command.HasField("to")


def test_a_census_knows_leaders_of_the_latest_term_and_loads() -> None:
    now = 0.0
    census = Census(lambda: now)
    toy = ShardId("toy", 0)
    assert not census.answers(peer("a"))
    census.hear(
        peer("a"), [LedShard(shard="toy/0", term=3, done=100), LedShard(shard="odd", term=1)]
    )
    census.hear(peer("b"), [LedShard(shard="toy/0", term=2, done=100)])
    assert census.leader(toy) == (3, "a")
    now = 10.0
    census.hear(peer("a"), [LedShard(shard="toy/0", term=3, done=1_100)])
    assert census.load(toy) == pytest.approx(30.0)
    # It began anew.
    now = 20.0
    census.hear(peer("a"), [LedShard(shard="toy/0", term=4, done=0)])
    assert census.load(toy) == pytest.approx(21.0)
    assert census.answers(peer("a"))
    assert not census.answers(peer("b"))
    assert census.silent_s(peer("b")) == 20.0


def test_a_census_knows_whose_disks_are_full() -> None:
    census = Census(lambda: 0.0)
    for node, full in (("a", True), ("b", True), ("b", False)):
        census.hear(peer(node), [], full=full)
    assert census.full == {"a"}
