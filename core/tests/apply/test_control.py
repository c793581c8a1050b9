from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

import pytest
from google.protobuf.message import Message
from quorate.apply import control
from quorate.apply.mirrors import MirrorPosition
from quorate.apply.outcomes import Outcome
from quorate.apply.placement import KEY, Placement
from quorate.plugin import Row, keys
from quorate.plugin.catalog import Catalog, build
from quorate.plugin.shard_id import METADATA
from quorate.storage.engine.port import Batch
from quorate.storage.events import EventLog, RowChange, decode
from quorate.v1 import control_pb2
from quorate.v1.control_pb2 import (
    AdoptMirror,
    AdoptSlots,
    BeginMemberChange,
    CreateShards,
    FinishMemberChange,
    MirroredRow,
    NodeDeclaration,
    OpenSession,
    PlaceLeader,
    PurgePlugin,
    PurgePluginReply,
    RaiseGeneration,
    RecoverShard,
    ReportDeclaration,
    ShardMember,
    ShardOrigin,
    ShardRow,
)

if TYPE_CHECKING:
    from core.tests.apply.conftest import Machine

FACTS = frozenset({"tested.facts"})
NewMachine = Callable[..., "Machine"]


@pytest.fixture
def first(new_machine: NewMachine) -> Machine:
    return new_machine(shard=METADATA)


def shard_row(number: int, *, slots: bytes = bytes(128)) -> ShardRow:
    members = [ShardMember(node="a", replica=1)]
    return ShardRow(group="tested", number=number, slots=slots, members=members)


def refused(outcome: Outcome) -> str:
    assert outcome.refusal is not None
    return outcome.refusal.code


def mirror(
    revision: int, *rows: bytes, reset: bool = False, generation: int = 0, deleted: bytes = b""
) -> AdoptMirror:
    return AdoptMirror(
        family="tested.facts",
        revision=revision,
        rows=[MirroredRow(key=key, value=b"v", revision=revision) for key in rows],
        deleted=[deleted] if deleted else [],
        reset=reset,
        generation=generation,
    )


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
    assert set(control.ROUTES) == of_files | messages - {f"quorate.v1.{part}" for part in parts}


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


def test_only_newer_slots_are_adopted(machine: Machine) -> None:
    for version, slots in ((2, b"\x01" + bytes(127)), (1, b"\x02" + bytes(127))):
        machine.control(AdoptSlots(version=version, slots=slots))

    assert machine.applier.slots.version == 2
    assert machine.applier.slots.owned == {0}


def test_whom_a_shard_was_handed_to_is_kept_with_the_time(machine: Machine) -> None:
    for node, at_ms in (("n1", 500), ("n2", 700)):
        machine.control(PlaceLeader(node=node), at_ms)

    assert Placement.decode(machine.rows("core.slots")[KEY]) == Placement("n2", 700)
    assert Placement.decode(None) is None


def test_a_copy_goes_forward_only(machine: Machine) -> None:
    def shown() -> str:
        scan = ["scan", "tested.facts", "a", "z", 9, False]
        [found] = machine.read(scan)
        return str(found)

    assert machine.applier.mirror_position("tested.facts") is None
    machine.control(mirror(5, b"a", b"b", reset=True))
    assert machine.applier.mirror_position("tested.facts") == MirrorPosition(0, 5)
    reader = machine.applier.reader(FACTS)
    assert reader.get_row("tested.facts", b"a") == Row(b"a", b"v", 5)
    machine.control(mirror(7, b"c", deleted=b"a"))
    machine.control(mirror(6, b"a", deleted=b"c"))
    assert shown() == "b=v c=v"
    machine.control(mirror(4, b"x", reset=True))
    assert refused(machine.control(mirror(1, b"x", generation=1))) == "INVALID_ARGUMENT"
    assert shown() == "b=v c=v"
    machine.control(mirror(1, b"x", reset=True, generation=1))
    assert shown() == "x=v"
    # It tells its own watchers nothing: they watch the source.
    assert not machine.rows("core.events")


def test_handlers_of_the_source_still_write_their_family(first: Machine) -> None:
    assert refused(first.control(mirror(5, b"a", reset=True))) == "INVALID_ARGUMENT"


def test_shards_are_created_once_and_tell_their_watchers(first: Machine) -> None:
    first.control(CreateShards(shards=[shard_row(0), shard_row(1)]))
    other = shard_row(1, slots=b"\xff" * 128)
    outcome = first.control(CreateShards(shards=[other, shard_row(2)]))

    rows = {key: ShardRow.FromString(row[8:]) for key, row in first.rows("core.shards").items()}
    assert list(rows) == [keys.pack("tested", number) for number in range(3)]
    assert rows[keys.pack("tested", 1)].slots == bytes(128)
    assert rows[keys.pack("tested", 2)].version == outcome.revision
    [event] = decode(first.rows("core.events")[(2).to_bytes(8)], {"core.shards": b""})
    assert event.revision == outcome.revision


def test_a_shard_that_makes_no_sense_creates_none(first: Machine) -> None:
    broken = shard_row(1, slots=b"")

    assert refused(first.control(CreateShards(shards=[shard_row(0), broken]))) == "INVALID_ARGUMENT"
    assert not first.rows("core.shards")
    assert not first.rows("core.events")


#: What a plugin has in a shard: rows of each kind, a copy of another group's, and a deadline.
USED: Final[Sequence[Sequence[Any]]] = (
    *(["put", "tested.rows", f"r{number}", "v"] for number in range(3)),
    ["put", "tested.olds", "o", "v"],
    ["put", "tested.marks", "m", "v"],
    ["put", "tested.tallies", "t", "v"],
    ["id", "tested.ids"],
    ["at", "r0", 5],
)


@pytest.fixture
def retired(machine: Machine) -> Machine:
    """A shard with the rows of a plugin that its leader does not serve any more."""
    assert machine.do(*USED).refusal is None
    machine.control(mirror(5, b"f", reset=True))
    machine.catalog = build([])
    machine.open()
    return machine


def purged(machine: Machine, *, count_only: bool = False) -> list[tuple[str, int]]:
    """Purge as a node does, step by step, and return the rows of each step."""
    steps = list[tuple[str, int]]()
    step = PurgePlugin(plugin="tested", count_only=count_only)
    while True:
        outcome = machine.control(step)
        assert outcome.refusal is None
        reply = PurgePluginReply.FromString(outcome.reply)
        if not reply.family:
            return steps
        steps.append((reply.family, reply.rows))
        step.after_family, step.after_key = reply.family, reply.last_key


def left(machine: Machine) -> dict[str, list[bytes]]:
    """Return the keys of a shard, those of its history and of its own state left out."""
    own = ("core.events", "core.applied")
    found = {family: [*machine.rows(family)] for family in machine.data.families}
    return {family: found[family] for family in found if found[family] and family not in own}


def test_the_rows_of_a_retired_plugin_are_counted_and_deleted(
    retired: Machine, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "_PURGED_ROWS", 2)
    before = left(retired)
    there = [
        ("tested.facts", 1),
        ("tested.marks", 1),
        ("tested.olds", 1),
        ("tested.rows", 2),
        ("tested.rows", 1),
        ("tested.tallies", 1),
    ]
    assert purged(retired, count_only=True) == there
    assert left(retired) == before

    assert purged(retired) == there
    # The numbers that were given out are never given out again.
    assert left(retired) == {"core.sequences": [b"tested.ids"]}
    written = retired.rows("core.events")
    assert purged(retired) == []
    assert retired.rows("core.events") == written

    retired.catalog = catalog
    retired.open()
    assert retired.applier.due("tested.bell", 10, 9) == []
    assert set(retired.applier.counts().values()) == {0}
    assert retired.applier.mirror_position("tested.facts") is None
    [number] = retired.read(["id", "tested.ids"])
    assert number == (retired.shard.number << 48) + 2


def test_a_watch_from_before_a_purge_is_told_of_every_row(retired: Machine) -> None:
    since = retired.applier.revision
    purged(retired)

    found, _ = EventLog(retired.data).read(since, {"tested.rows": b""}, max_rows=9, max_bytes=9999)
    assert [each.change for each in found] == [
        RowChange("tested.rows", key, None) for key in (b"r0", b"r1", b"r2")
    ]


def test_a_purge_that_was_interrupted_leaves_true_counts(
    retired: Machine, catalog: Catalog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(control, "_PURGED_ROWS", 1)
    command = PurgePlugin(plugin="tested", after_family="tested.olds")
    assert retired.control(command).refusal is None

    retired.catalog = catalog
    retired.open()
    assert retired.applier.counts() == {"tested.olds": 0, "tested.tallies": 1}


def test_rows_that_were_never_counted_are_deleted_as_well(retired: Machine) -> None:
    batch = Batch()
    batch.put("core.counts", b"tested.olds", bytes(8))
    retired.data.commit(batch, retired.data.record)

    assert ("tested.olds", 1) in purged(retired)
    assert left(retired) == {"core.sequences": [b"tested.ids"]}


@pytest.mark.parametrize("plugin", ["tested", "core"])
def test_a_plugin_that_the_leader_serves_is_not_purged(machine: Machine, plugin: str) -> None:
    machine.do(*USED)
    before = left(machine)

    assert refused(machine.control(PurgePlugin(plugin=plugin))) == "PLUGIN_SERVED"
    assert left(machine) == before


def recovery(number: int, node: str, epoch: int, index: int = 0) -> RecoverShard:
    origin = ShardOrigin(epoch=epoch, node=node, index=index)
    return RecoverShard(group="tested", number=number, origin=origin)


def test_a_recovered_shard_begins_with_one_of_its_replicas(first: Machine) -> None:
    row = shard_row(0)
    row.members.add(node="b", replica=2)
    first.control(CreateShards(shards=[row, shard_row(1)]))
    for again in (recovery(0, "b", 1, index=7), recovery(0, "b", 1, index=9)):
        assert first.control(again).refusal is None
    # A watch has one generation for all of its shards: each passes all that were before.
    first.control(recovery(1, "a", 1))

    stored = [ShardRow.FromString(row[8:]) for row in first.rows("core.shards").values()]
    assert [each.node for each in stored[0].members] == ["b"]
    assert [each.node for each in stored[0].replicas] == ["a", "b"]
    assert stored[0].origin == ShardOrigin(epoch=1, node="b", index=7)
    assert [each.origin.generation for each in stored] == [0, 1]


def test_a_recovery_that_makes_no_sense_changes_nothing(first: Machine) -> None:
    first.control(CreateShards(shards=[shard_row(0)]))
    first.control(recovery(0, "a", 1))
    before = first.rows("core.shards")
    for command, code in (
        (recovery(1, "a", 1), "NOT_FOUND"),
        (recovery(0, "b", 2), "NOT_FOUND"),
        (recovery(0, "a", 3), "RECOVERED"),
        (recovery(0, "b", 1), "RECOVERED"),
        (RecoverShard(group="metadata"), "NOT_FOUND"),
    ):
        assert refused(first.control(command)) == code
    assert first.rows("core.shards") == before


def test_a_declaration_is_noted_when_it_is_another(first: Machine) -> None:
    for fingerprint in ("one", "one", "two"):
        declaration = NodeDeclaration(node="a", replica=1, fingerprint=fingerprint)
        first.control(ReportDeclaration(declaration=declaration))

    row = first.rows("core.nodes")[b"a"]
    assert NodeDeclaration.FromString(row[8:]).fingerprint == "two"
    assert len(first.rows("core.events")) == 2


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


def test_the_generation_only_rises(machine: Machine) -> None:
    for generation in (2, 1):
        machine.control(RaiseGeneration(generation=generation))
    machine.open()

    assert machine.applier.generation == 2
    assert machine.data.record.generation == 2
