"""What metadata/0 keeps of nodes that are added and removed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from quorate.apply.control import METADATA
from quorate.apply.members import replicas_of
from quorate.apply.outcomes import Outcome
from quorate.v1.control_pb2 import (
    MEMBER_CHANGE_ADD,
    MEMBER_CHANGE_REMOVE,
    BeginMemberChange,
    BeginMemberChangeReply,
    CreateShards,
    FinishMemberChange,
    MemberRow,
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
