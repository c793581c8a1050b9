from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import pytest
from quorate.apply.mirrors import MirrorPosition
from quorate.apply.outcomes import Outcome
from quorate.plugin import Row
from quorate.plugin.catalog import Catalog, build
from quorate.storage.engine.port import Batch
from quorate.storage.events import EventLog, RowChange
from quorate.topology.commands import upkeep
from quorate.v1.control_pb2 import (
    AdoptMirror,
    MirroredRow,
    PurgePlugin,
    PurgePluginReply,
    RaiseGeneration,
)

if TYPE_CHECKING:
    from core.tests.apply.conftest import Machine

FACTS = frozenset({"tested.facts"})


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
    monkeypatch.setattr(upkeep, "_PURGED_ROWS", 2)
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
    assert set(retired.counts().values()) == {0}
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
    monkeypatch.setattr(upkeep, "_PURGED_ROWS", 1)
    command = PurgePlugin(plugin="tested", after_family="tested.olds")
    assert retired.control(command).refusal is None

    retired.catalog = catalog
    retired.open()
    assert retired.counts() == {"tested.olds": 0, "tested.tallies": 1}


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


def test_the_generation_only_rises(machine: Machine) -> None:
    for generation in (2, 1):
        machine.control(RaiseGeneration(generation=generation))
    machine.open()

    assert machine.applier.generation == 2
    assert machine.data.record.generation == 2
