"""Levels rise when all nodes can, never fall, and commands wait for theirs."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from google.protobuf.wrappers_pb2 import BytesValue
from quorate.apply.entries import LoggedCommand, Stamp
from quorate.apply.outcomes import Outcome
from quorate.v1.control_pb2 import (
    MEMBER_CHANGE_ADD,
    MEMBER_CHANGE_REMOVE,
    BeginMemberChange,
    CreateShards,
    FinishMemberChange,
    NodeDeclaration,
    OpenSession,
    OpenSessionReply,
    PutCanary,
    RaiseLevels,
    RaiseLevelsReply,
    ReportDeclaration,
    ShardMember,
    ShardRow,
)
from quorate.v1.levels_pb2 import FeatureLevel

if TYPE_CHECKING:
    from core.tests.apply.conftest import Machine


def declares(node: str, **levels: int) -> ReportDeclaration:
    can = [FeatureLevel(feature=name, level=level) for name, level in sorted(levels.items())]
    return ReportDeclaration(
        declaration=NodeDeclaration(node=node, replica=1, levels=can, version="0.1" if can else "")
    )


def founded() -> CreateShards:
    row = ShardRow(group="tested", slots=bytes(128), members=[ShardMember(node="a", replica=1)])
    return CreateShards(shards=[row])


def in_force(machine: Machine) -> dict[str, int]:
    rows = map(FeatureLevel.FromString, (row[8:] for row in machine.rows("core.levels").values()))
    return {row.feature: row.level for row in rows}


def raised(outcome: Outcome) -> dict[str, int]:
    assert outcome.refusal is None, outcome.refusal
    return {each.feature: each.level for each in RaiseLevelsReply.FromString(outcome.reply).levels}


def refused(outcome: Outcome) -> str:
    assert outcome.refusal is not None
    return f"{outcome.refusal.code}: {outcome.refusal.message}"


def test_a_cluster_is_founded_at_the_highest_level_that_all_can(first: Machine) -> None:
    first.control(declares("a", core=3, mqtt=2, kv=1))
    first.control(declares("b", core=2, mqtt=2, kv=1))
    first.control(founded())
    assert in_force(first) == {"core": 2, "mqtt": 2}
    first.control(declares("b", core=3, mqtt=2, kv=1))
    first.control(founded())
    assert in_force(first) == {"core": 2, "mqtt": 2}


def test_a_level_rises_once_all_can_and_an_operator_says_so(first: Machine) -> None:
    first.control(declares("a", core=1))
    first.control(declares("b", core=1))
    first.control(founded())
    first.control(declares("a", core=2, mqtt=3))
    assert in_force(first) == {}

    # All of it rises, or nothing.
    assert "UPGRADE_BLOCKED: level 2 of core is missing on b (0.1, level 1)" in refused(
        first.control(RaiseLevels())
    )
    assert in_force(first) == {}
    # Until then there is a way back.
    first.control(declares("a", core=1))
    assert raised(first.control(RaiseLevels())) == {}
    first.control(declares("a", core=2, mqtt=3))

    first.control(declares("b", core=2))
    assert in_force(first) == {}
    # A node without a plugin does not keep it down.
    assert raised(first.control(RaiseLevels())) == {"core": 2, "mqtt": 3}
    assert in_force(first) == {"core": 2, "mqtt": 3}
    assert raised(first.control(RaiseLevels())) == {}


def test_a_node_that_declares_no_levels_can_the_lowest_of_all(first: Machine) -> None:
    first.control(declares("a", core=2, mqtt=2))
    first.control(declares("b"))
    assert "b (an older release, level 1)" in refused(first.control(RaiseLevels()))


def test_a_node_that_is_being_added_is_waited_for(first: Machine) -> None:
    first.control(declares("a", core=2))
    adds = BeginMemberChange(node="c", change=MEMBER_CHANGE_ADD, address="c:1", replica=3)
    first.control(adds)
    assert "UPGRADE_BLOCKED: c is being added" in refused(first.control(RaiseLevels()))
    first.control(declares("c", core=2))
    assert raised(first.control(RaiseLevels())) == {"core": 2}


def test_an_older_release_is_refused_once_a_level_is_in_force(first: Machine) -> None:
    first.control(declares("a", core=2, mqtt=2))
    first.control(RaiseLevels())
    before = first.rows("core.nodes")
    for old in (declares("a", core=1, mqtt=2), declares("a", core=2, mqtt=1), declares("b")):
        assert refused(first.control(old)).startswith("RELEASE_TOO_OLD: ")
    assert first.rows("core.nodes") == before
    # What it does not serve it need not know.
    assert first.control(declares("a", core=2)).refusal is None


def test_levels_are_raised_in_metadata_alone(machine: Machine) -> None:
    assert refused(machine.control(RaiseLevels())).startswith("WRONG_SHARD")


def test_a_command_waits_for_its_level(new_machine: Callable[..., Machine]) -> None:
    now = {"core": 1, "tested": 1}
    machine = new_machine(in_force=now.__getitem__)
    session = OpenSessionReply.FromString(machine.control(OpenSession(ttl_ms=9_000)).reply).session
    plain = LoggedCommand(BytesValue.DESCRIPTOR.full_name, b"")
    stamped = plain._replace(stamp=Stamp(session, 1, 1))
    canary = PutCanary(node="a", number=7)

    rows = machine.rows("core.slots")
    assert [refused(each).split(" ")[0] for each in machine.apply(plain, stamped)] == [
        "LEVEL_NOT_IN_FORCE:"
    ] * 2
    assert "needs level 2 of core, and 1 is in force" in refused(machine.control(canary))
    assert machine.read(["carry out bytes"]) == ["LEVEL_NOT_IN_FORCE"]
    assert machine.rows("core.slots") == rows

    now.update(core=2, tested=2)
    # Its session does not remember the refusal.
    assert [each.refusal for each in machine.apply(plain, stamped)] == [None, None]
    assert machine.control(canary).refusal is None
    # The shard has no slots.
    assert machine.read(["carry out bytes"]) == ["None"]


def test_a_node_that_was_removed_keeps_nothing_down(first: Machine) -> None:
    first.control(declares("a", core=2))
    first.control(declares("b", core=1))
    begun = BeginMemberChange(node="b", change=MEMBER_CHANGE_REMOVE)
    first.control(begun)
    [row] = first.rows("core.members").values()
    number = int.from_bytes(row[:8], "big")
    assert first.control(FinishMemberChange(node="b", number=number)).refusal is None
    assert raised(first.control(RaiseLevels())) == {"core": 2}


def test_a_declaration_is_noted_when_it_is_another(first: Machine) -> None:
    for fingerprint in ("one", "one", "two"):
        declaration = NodeDeclaration(node="a", replica=1, fingerprint=fingerprint)
        first.control(ReportDeclaration(declaration=declaration))

    row = first.rows("core.nodes")[b"a"]
    assert NodeDeclaration.FromString(row[8:]).fingerprint == "two"
    assert len(first.rows("core.events")) == 2
