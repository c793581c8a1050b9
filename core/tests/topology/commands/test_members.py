"""What metadata/0 keeps of nodes that are added and removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from quorate.apply.outcomes import Outcome
from quorate.plugin.shard_id import METADATA
from quorate.shards.topology_rows import replicas_of
from quorate.v1.control_pb2 import (
    MEMBER_CHANGE_ADD,
    MEMBER_CHANGE_REMOVE,
    BeginMemberChange,
    BeginMemberChangeReply,
    CreateShards,
    DeclaredGroup,
    DrainNode,
    FinishMemberChange,
    FinishMove,
    MemberRow,
    MoveReplica,
    NodeDeclaration,
    ReportDeclaration,
    ShardMember,
    ShardRow,
)

if TYPE_CHECKING:
    from core.tests.apply.conftest import Machine


@pytest.fixture
def first(new_machine: Callable[..., Machine]) -> Machine:
    machine = new_machine(shard=METADATA)
    machine.control(CreateShards(shards=[shard(0), shard(1)]))
    machine.control(ReportDeclaration(declaration=NodeDeclaration(node="b", replica=2)))
    return machine


def shard(number: int) -> ShardRow:
    members = [ShardMember(node=node, replica=replica) for node, replica in (("a", 1), ("b", 2))]
    return ShardRow(group="tested", number=number, slots=bytes(128), members=members)


def adds(node: str = "c", replica: int = 3, address: str = "c:1") -> BeginMemberChange:
    return BeginMemberChange(node=node, change=MEMBER_CHANGE_ADD, address=address, replica=replica)


def removes(node: str) -> BeginMemberChange:
    return BeginMemberChange(node=node, change=MEMBER_CHANGE_REMOVE)


def number_of(outcome: Outcome) -> int:
    assert outcome.refusal is None
    return BeginMemberChangeReply.FromString(outcome.reply).number


def refused(outcome: Outcome) -> str:
    assert outcome.refusal is not None
    return f"{outcome.refusal.code}: {outcome.refusal.message}"


def replicas(machine: Machine) -> list[str]:
    rows = [ShardRow.FromString(row[8:]) for row in machine.rows("core.shards").values()]
    return [" ".join(f"{each.node}{each.replica}" for each in replicas_of(row)) for row in rows]


def row(machine: Machine, node: str) -> MemberRow | None:
    found = machine.rows("core.members").get(node.encode())
    return None if found is None else MemberRow.FromString(found[8:])


def test_a_node_that_is_added_is_named_by_every_shard(first: Machine) -> None:
    number = number_of(first.control(adds()))
    assert replicas(first) == ["a1 b2 c3", "a1 b2 c3"]
    # Who founds it stays, for a replica that was not opened yet.
    rows = [ShardRow.FromString(each[8:]) for each in first.rows("core.shards").values()]
    assert [[each.node for each in found.members] for found in rows] == [["a", "b"], ["a", "b"]]
    first.control(CreateShards(shards=[shard(2)]))
    assert replicas(first)[2] == "a1 b2 c3"

    assert number_of(first.control(adds(address="c:2"))) == number
    assert first.control(FinishMemberChange(node="c", number=number)).refusal is None
    found = row(first, "c")
    assert found is not None
    assert (found.address, found.replica, found.change) == ("c:2", 3, 0)
    first.control(CreateShards(shards=[shard(3)]))
    assert replicas(first)[3] == "a1 b2"


def test_a_node_that_was_removed_is_forgotten(first: Machine) -> None:
    number = number_of(first.control(removes("b")))
    assert replicas(first) == ["a1 b2", "a1 b2"]
    assert first.rows("core.nodes")

    assert first.control(FinishMemberChange(node="b", number=number)).refusal is None
    assert replicas(first) == ["a1", "a1"]
    assert not first.rows("core.nodes")
    assert row(first, "b") is None
    again = adds("b", 9)
    assert number_of(first.control(again)) > number
    assert replicas(first) == ["a1 b9", "a1 b9"]


def test_only_a_removal_of_the_same_node_takes_the_place_of_a_change(first: Machine) -> None:
    number = number_of(first.control(adds()))
    for other in (adds("d", 4), removes("b")):
        said = refused(first.control(other))
        assert said.startswith("CHANGE_UNDER_WAY: c is being added")
        assert "`quorate member add c c:1`" in said
        assert "`quorate member remove c`" in said
    later = number_of(first.control(removes("c")))
    assert later > number
    assert refused(first.control(FinishMemberChange(node="c", number=number))).startswith(
        "CHANGE_OVER"
    )
    for other in (adds(), adds("d", 4), removes("b")):
        assert refused(first.control(other)).startswith("CHANGE_UNDER_WAY: c is being removed")
    assert number_of(first.control(removes("c"))) == later
    first.control(FinishMemberChange(node="c", number=later))
    assert replicas(first) == ["a1 b2", "a1 b2"]
    assert refused(first.control(FinishMemberChange(node="c", number=later))).startswith(
        "CHANGE_OVER"
    )


@pytest.mark.parametrize(
    "wrong",
    [adds("b", 7), adds("c", 4), adds(address=""), adds("c", 0), removes(""), BeginMemberChange()],
    ids=["another disk", "another disk meanwhile", "no address", "no replica", "no node", "empty"],
)
def test_what_cannot_be_begun_changes_nothing(first: Machine, wrong: BeginMemberChange) -> None:
    number = number_of(first.control(adds()))
    first.control(FinishMemberChange(node="c", number=number))
    before = replicas(first), first.rows("core.members")
    said = refused(first.control(wrong))

    assert said.startswith("OTHER_REPLICA" if wrong.address and wrong.replica else "INVALID")
    assert (replicas(first), first.rows("core.members")) == before


def declares(node: str, replicas: int) -> ReportDeclaration:
    groups = [DeclaredGroup(name="tested", shards=2, replicas=replicas)]
    return ReportDeclaration(declaration=NodeDeclaration(node=node, groups=groups))


def only(machine: Machine) -> ShardRow:
    return next(ShardRow.FromString(row[8:]) for row in machine.rows("core.shards").values())


def moves(
    to: ShardMember | None = None, source: ShardMember | None = None, number: int = 0
) -> MoveReplica:
    command = MoveReplica(group="tested", number=number, to=to)
    if source is not None:
        getattr(command, "from").CopyFrom(source)
    return command


A, B, C = (ShardMember(node=node, replica=each) for each, node in enumerate("abc", start=1))


def test_a_replica_moves_and_nobody_founds_the_shard_any_more(first: Machine) -> None:
    assert first.control(moves(C, A)).refusal is None
    assert replicas(first) == ["a1 b2 c3", "a1 b2"]
    found = only(first)
    assert [each.node for each in found.members] == ["a", "b"]
    number = found.move.number
    for other in (moves(C, A), moves(None, B)):
        refused = first.control(other).refusal
        assert refused is not None
        assert refused.code == "MOVE_UNDER_WAY"
    over = first.control(FinishMove(group="tested", number=0, move=number + 1)).refusal
    assert over is not None
    assert over.code == "CHANGE_OVER"

    assert first.control(FinishMove(group="tested", number=0, move=number)).refusal is None
    assert replicas(first) == ["b2 c3", "a1 b2"]
    found = only(first)
    assert not found.members
    assert not found.HasField("move")


def test_a_move_is_taken_back(first: Machine) -> None:
    first.control(moves(C, A))
    assert first.control(moves(None, C)).refusal is None
    found = only(first)
    assert (
        first.control(FinishMove(group="tested", number=0, move=found.move.number)).refusal is None
    )
    assert replicas(first)[0] == "a1 b2"


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (moves(B, A), "ALREADY_EXISTS"),
        (moves(None, C), "NOT_FOUND"),
        (moves(C, ShardMember(node="a", replica=9)), "NOT_FOUND"),
        (moves(), "INVALID_ARGUMENT"),
        (moves(C, number=7), "NOT_FOUND"),
        (MoveReplica(group="metadata", number=0, to=C), "NOT_FOUND"),
    ],
)
def test_what_cannot_move(first: Machine, command: MoveReplica, code: str) -> None:
    refusal = first.control(command).refusal
    assert refusal is not None
    assert refusal.code == code


def test_a_node_that_is_added_is_named_by_no_shard_with_a_number_of_replicas(
    first: Machine,
) -> None:
    first.control(declares("a", 2))
    first.control(declares("b", 2))
    number_of(first.control(adds()))
    assert replicas(first) == ["a1 b2", "a1 b2"]
    first.control(CreateShards(shards=[shard(2)]))
    assert replicas(first)[2] == "a1 b2"


def test_numbers_that_differ_count_for_nothing(first: Machine) -> None:
    first.control(declares("a", 2))
    first.control(declares("b", 3))
    number_of(first.control(adds()))
    assert replicas(first) == ["a1 b2 c3", "a1 b2 c3"]


def test_a_node_drains_until_it_is_told_otherwise(first: Machine) -> None:
    first.control(declares("a", 2))
    unknown = first.control(DrainNode(node="x", drains=True)).refusal
    assert unknown is not None
    assert unknown.code == "NOT_FOUND"
    assert first.control(DrainNode(node="a", drains=True)).refusal is None
    found = row(first, "a")
    assert found is not None
    assert found.drains
    assert first.control(DrainNode(node="a", drains=False)).refusal is None
    assert row(first, "a") is None
