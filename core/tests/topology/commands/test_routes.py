from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from google.protobuf.message import Message
from quorate import apply
from quorate.apply.outcomes import Outcome
from quorate.apply.program import Program
from quorate.topology.commands.routes import ROUTES
from quorate.v1 import control_pb2
from quorate.v1.control_pb2 import (
    AdoptMirror,
    AdoptSlots,
    BeginMemberChange,
    CreateShards,
    FinishMemberChange,
    OpenSession,
    PlaceLeader,
    RaiseGeneration,
    RecoverShard,
    ReportDeclaration,
)

if TYPE_CHECKING:
    from core.tests.apply.conftest import Machine


def refused(outcome: Outcome) -> str:
    assert outcome.refusal is not None
    return outcome.refusal.code


def test_every_command_of_the_file_has_its_route() -> None:
    messages = {each.full_name for each in control_pb2.DESCRIPTOR.message_types_by_name.values()}
    parts = {"OpenSessionReply", "MirroredRow", "NodeDeclaration", "DeclaredGroup", "ShardRow"}
    parts |= {
        "ReplicaMove",
        "ShardOrigin",
        "ShardMember",
        "MemberRow",
        "BeginMemberChangeReply",
        "SealSessionReply",
        "PurgePluginReply",
        "ForgetFencesReply",
        "ShardPart",
        "ShardSplit",
        "ShardParent",
        "BeginSplitReply",
        "ForgetSlotsReply",
        "BeginMergeReply",
        "FreezeShardReply",
        "FrozenShard",
        "UnitedRow",
        "ShardMerge",
        "ShardUnion",
        "PutCanaryReply",
        "RaiseLevelsReply",
    }

    of_files = {f"quorate.v1.{each}FileSet" for each in ("Open", "Ingest", "Drop", "Close")}
    of_files |= {f"quorate.v1.{each}Publication" for each in ("Begin", "Report", "End")}
    of_files |= {"quorate.v1.OpenPublished"}
    assert set(ROUTES) == of_files | messages - {f"quorate.v1.{part}" for part in parts}


@pytest.mark.parametrize(
    "message",
    [
        AdoptSlots(version=1, slots=b"short"),
        OpenSession(ttl_ms=0),
        PlaceLeader(),
        AdoptMirror(family="tested.rows", revision=1, reset=True),
        AdoptMirror(family="tested.facts", revision=1),
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused(machine: Machine, message: Message) -> None:
    assert refused(machine.control(message)) == "INVALID_ARGUMENT"
    assert not machine.rows("core.sessions")


@pytest.mark.parametrize(
    "message",
    [
        CreateShards(),
        RecoverShard(),
        ReportDeclaration(),
        BeginMemberChange(),
        FinishMemberChange(),
    ],
    ids=["shards", "recovery", "node", "begin", "finish"],
)
def test_the_first_shard_alone_knows_the_others(machine: Machine, message: Message) -> None:
    assert refused(machine.control(message)) == "WRONG_SHARD"


def test_a_program_without_them_knows_no_command_of_cores_own(machine: Machine) -> None:
    machine.evaluate_with(Program.of(machine.catalog, machine.shard.group))
    assert refused(machine.control(RaiseGeneration(generation=2))) == "UNKNOWN_COMMAND"


def test_the_floor_below_names_no_command_that_is_not_a_row_as_well() -> None:
    own = {route.message.DESCRIPTOR.name for route in ROUTES.values()}
    sources = Path(apply.__file__).parent.glob("*.py")
    named = {word for each in sources for word in re.findall(r"\w+", each.read_text())}
    assert named & own == {"CheckRows", "CutShard", "PutCanary", "ReportRows"}
