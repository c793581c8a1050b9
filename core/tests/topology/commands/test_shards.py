from __future__ import annotations

from typing import TYPE_CHECKING

from quorate.apply.outcomes import Outcome
from quorate.apply.placement import KEY, Placement
from quorate.plugin import keys
from quorate.storage.events import decode
from quorate.v1.control_pb2 import (
    AdoptSlots,
    CreateShards,
    PlaceLeader,
    RecoverShard,
    ShardMember,
    ShardOrigin,
    ShardRow,
)

if TYPE_CHECKING:
    from core.tests.apply.conftest import Machine


def shard_row(number: int, *, slots: bytes = bytes(128)) -> ShardRow:
    members = [ShardMember(node="a", replica=1)]
    return ShardRow(group="tested", number=number, slots=slots, members=members)


def refused(outcome: Outcome) -> str:
    assert outcome.refusal is not None
    return outcome.refusal.code


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
