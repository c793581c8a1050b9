"""Two shards that become one: what metadata/0 keeps of it, and what the shards themselves do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from quorate.apply import fences, sessions
from quorate.apply.entries import Stamp, whole as whole_revision
from quorate.apply.layers import Layer
from quorate.apply.outcomes import WRONG_SHARD, Outcome
from quorate.apply.program import families_of
from quorate.plugin import Rejected, keys
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.plugin.slots import bitmap_of, even_cut, slots_in
from quorate.shards.snapshots.first_state import unite
from quorate.storage.data.home import MemoryHome
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch
from quorate.storage.events import EventLog
from quorate.storage.families import SHARDS
from quorate.storage.rows import value_of
from quorate.topology.commands.unions import unite as united_rows
from quorate.v1.control_pb2 import (
    MEMBER_CHANGE_ADD,
    AdoptSlots,
    BeginMemberChange,
    BeginMerge,
    BeginMergeReply,
    BeginSplit,
    BeginSplitReply,
    CancelMerge,
    CreateShards,
    FinishMerge,
    FinishSplit,
    FreezeShard,
    FreezeShardReply,
    MoveReplica,
    OpenSession,
    OpenSessionReply,
    RecoverShard,
    SettleMerge,
    ShardMember,
    ShardOrigin,
    ShardRow,
    ShardUnion,
)

if TYPE_CHECKING:
    from core.tests.apply.conftest import Machine

LOW, HIGH = even_cut(2)
MERGE = 9
NEW = ShardId("tested", 5)


def refused(outcome: Outcome) -> str:
    assert outcome.refusal is not None, outcome
    return outcome.refusal.code


# In the shards.


@pytest.fixture
def base(machine: Machine) -> Machine:
    """A shard with some of everything."""
    machine.control(AdoptSlots(version=1, slots=LOW))
    machine.do(["put", "tested.rows", "a", "1"], ["put", "tested.tallies", "c", "3"])
    machine.do(["at", "k", 50], ["id", "tested.ids"])
    return machine


@pytest.fixture
def other(new_machine: Callable[..., Machine], base: Machine) -> Machine:
    """A shard with other rows, whose log is longer."""
    machine = new_machine(shard=ShardId(base.shard.group, base.shard.number + 1))
    machine.control(AdoptSlots(version=1, slots=HIGH))
    for number in range(20):
        machine.do(["put", "tested.rows", f"b{number}", "2"])
    machine.do(["put", "tested.tallies", "d", "3"], ["at", "l", 60], at_ms=7_000)
    base.evaluate_with(base.program, neighbour={machine.shard.number: machine.data}.get)
    return machine


def freeze(machine: Machine, other: Machine | None = None, *, common: int = 0) -> int:
    command = FreezeShard(merge=MERGE, version=2, common=common)
    if other is not None:
        command.other = other.shard.number
    outcome = machine.control(command)
    assert outcome.refusal is None, outcome
    return FreezeShardReply.FromString(outcome.reply).index


def made(base: Machine, other: Machine, new_machine: Callable[..., Machine]) -> Machine:
    """Freeze both and return the shard that they become."""
    theirs = freeze(other)
    union = ShardUnion(
        merge=MERGE,
        base_index=freeze(base, other),
        other_index=theirs,
        members=[ShardMember(node="a", replica=1)],
        term=7,
    )
    row = ShardRow(group="tested", number=5, slots=even_cut(1)[0], version=3, union=union)
    home = MemoryHome()
    unite(base.data, other.data, home, row, base.applier.ownership.families, ())
    with closing(ShardData.open(home, families_of(base.catalog, "tested"))) as data:
        assert data.installed == data.record.position
    found = new_machine(shard=NEW)
    found.home = home
    found.open()
    return found


def test_nothing_changes_in_a_frozen_shard_until_it_gets_slots_again(base: Machine) -> None:
    session = OpenSessionReply.FromString(base.control(OpenSession(ttl_ms=5)).reply).session
    index, before = freeze(base), base.rows("tested.rows")
    assert freeze(base) == index
    put = ["put", "tested.rows", "z", "1"]
    assert refused(base.apply(base.script(put, slots=[0]))[0]) == WRONG_SHARD
    assert refused(base.apply(base.script(put))[0]) == WRONG_SHARD
    stamp = Stamp(session, 1, 1)
    assert refused(base.apply(base.script(put, stamp=stamp), at_ms=9_000)[0]) == WRONG_SHARD
    assert base.rows("tested.rows") == before
    assert sessions.find(base.data, session) is not None
    assert base.applier.slots.owned == frozenset()
    base.open()
    assert refused(base.apply(base.script(put))[0]) == WRONG_SHARD
    assert base.control(AdoptSlots(version=3, slots=LOW)).refusal is None
    assert base.applier.frozen is None
    assert base.apply(base.script(put))[0].refusal is None
    # A step of the merge that was taken back comes too late.
    assert refused(base.control(FreezeShard(merge=MERGE, version=2))) == "MERGE_OVER"


def test_a_base_waits_for_the_other_one(base: Machine, other: Machine) -> None:
    command = FreezeShard(merge=MERGE, version=2, other=other.shard.number)
    assert refused(base.control(command)) == "NOT_FROZEN_YET"
    freeze(other)
    assert base.control(command).refusal is None


def test_a_new_shard_has_the_rows_of_both_and_its_revisions_are_above_all(
    base: Machine, other: Machine, new_machine: Callable[..., Machine]
) -> None:
    rows = base.rows("tested.rows") | other.rows("tested.rows")
    counts = base.counts(), other.counts()
    latest = max(base.applier.revision, other.applier.revision)
    found = made(base, other, new_machine)
    assert found.rows("tested.rows") == rows
    assert found.applier.slots.owned == {*range(1_024)}
    assert found.applier.due("tested.bell", 100, 5) == [(b"k", 50), (b"l", 60)]
    assert found.applier.revision > latest
    assert found.applier.now_ms == other.applier.now_ms
    assert found.data.record.position.term == 7
    for family, count in found.counts().items():
        assert count == sum(each[family] for each in counts)
    assert found.applier.frozen is None
    # Nobody watches it from before.
    assert EventLog(found.data).oldest == found.data.applied + 1
    assert found.do(["put", "tested.rows", "b1", "9"]).refusal is None


def test_the_same_shard_is_made_whenever_and_wherever_it_is(
    base: Machine, other: Machine, new_machine: Callable[..., Machine]
) -> None:
    first = made(base, other, new_machine)
    # What a frozen shard still logs makes no difference.
    assert refused(other.control(OpenSession(ttl_ms=5), at_ms=99_000)) == WRONG_SHARD
    assert refused(base.control(OpenSession(ttl_ms=5), at_ms=99_000)) == WRONG_SHARD
    again = made(base, other, new_machine)
    assert (again.digest(), again.data.record) == (first.digest(), first.data.record)


def test_a_shard_is_made_whole_or_not_at_all(base: Machine, other: Machine) -> None:
    home = MemoryHome()
    freeze(other)
    row = ShardRow(group="tested", number=5, union=ShardUnion(merge=MERGE))
    with pytest.raises(Exception, match="not frozen"):
        unite(base.data, other.data, home, row, base.applier.ownership.families, ())
    assert home.pointer() is None


def test_rows_without_a_place_become_what_their_family_says(base: Machine, other: Machine) -> None:
    family = "tested.marks"
    # Two numbers are added even if they are the same.
    for machine, value in ((base, b"\3"), (other, b"\3")):
        batch = Batch()
        batch.put(family, b"k", value)
        machine.data.commit(batch, machine.data.record)
    found = united_rows(
        base.data, other.data, {family: lambda _, own, more: bytes([own[0] + more[0]])}, 0
    )
    assert [(each.key, each.value) for each in found if each.family == family] == [(b"k", b"\6")]
    with pytest.raises(Rejected, match="joins"):
        united_rows(base.data, other.data, {family: None}, 0)


# Sessions and fences.


def opened(rows: Layer, number: int, name: bytes = b"", lowest: int = 0, used_ms: int = 0) -> None:
    sessions.open_session(rows, number, name, 1_000, used_ms)
    if lowest:
        found = sessions.find(rows, number)
        assert found is not None
        sessions._store(rows, number, found._replace(lowest=lowest))


def test_sessions_from_before_a_split_are_put_together_and_others_are_kept(
    base: Machine, other: Machine
) -> None:
    ours, theirs = Layer(base.data), Layer(other.data)
    common = whole_revision(3)
    opened(ours, 10, lowest=4, used_ms=5)
    opened(theirs, 10, lowest=2, used_ms=8)
    opened(ours, common + 1)
    opened(theirs, common + 2)
    sessions.unite(ours, theirs, common)
    both = sessions.find(ours, 10)
    assert both is not None
    assert (both.lowest, both.used_ms) == (4, 8)
    assert sessions.find(ours, common + 1) is not None
    assert sessions.in_both(ours, theirs, common) is None


def test_a_session_ends_when_an_answer_could_be_wrong(base: Machine, other: Machine) -> None:
    ours, theirs = Layer(base.data), Layer(other.data)
    # One shard has let it expire, with the answers that it had.
    opened(ours, 10)
    # Two sessions with the same number, or the same name.
    opened(ours, 500)
    opened(theirs, 500)
    opened(ours, 600, b"load")
    opened(theirs, 601, b"load")
    assert sessions.in_both(ours, theirs, 100) == "the session load"
    sessions.unite(ours, theirs, 100)
    assert sessions.find(ours, 10) is None
    assert sessions.find(ours, 500) is None
    assert sessions.find(ours, 600) is not None
    assert ours.tables["core.sessions"].rows[b"s" + (601).to_bytes(8, "big")] is None


def test_the_newer_token_of_a_fence_stands(base: Machine, other: Machine) -> None:
    ours, theirs = Layer(base.data), Layer(other.data)
    for name, own, more in ((b"x", 5, 7), (b"y", 8, 2)):
        fences.raise_to(ours, name, own, 10)
        fences.raise_to(theirs, name, more, 20)
    fences.unite(ours, theirs)
    assert [fences.token_of(ours, name) for name in (b"x", b"y")] == [7, 8]


# In metadata/0.


@pytest.fixture
def first(new_machine: Callable[..., Machine]) -> Machine:
    machine = new_machine(shard=METADATA)
    members = [ShardMember(node="a", replica=1), ShardMember(node="b", replica=2)]
    shards = [
        ShardRow(group="tested", number=number, slots=slots, version=number + 1, members=members)
        for number, slots in enumerate(even_cut(3))
    ]
    machine.control(CreateShards(shards=shards))
    return machine


def begin(first: Machine, base: int = 0, other: int = 1) -> BeginMergeReply:
    outcome = first.control(BeginMerge(group="tested", base=base, other=other))
    assert outcome.refusal is None, outcome
    return BeginMergeReply.FromString(outcome.reply)


def row(first: Machine, number: int) -> ShardRow:
    return ShardRow.FromString(value_of(first.rows(SHARDS)[keys.pack("tested", number)]))


def finish(first: Machine, merge: int, base: int = 0) -> Outcome:
    command = FinishMerge(
        group="tested", base=base, merge=merge, base_index=70, other_index=80, term=3
    )
    return first.control(command)


def test_a_new_shard_has_the_slots_of_both_once_they_are_frozen(first: Machine) -> None:
    reply = begin(first)
    assert reply.number == 3
    assert [len(slots_in(row(first, number).slots)) for number in (0, 1, 3)] == [342, 341, 0]
    assert finish(first, reply.merge).refusal is None
    assert [len(slots_in(row(first, number).slots)) for number in (0, 1, 3)] == [0, 0, 683]
    # They were frozen with these.
    assert [row(first, number).version for number in (0, 1)] == [2, 3]
    assert row(first, 3).version > 3
    assert [row(first, number).merged_into for number in (0, 1, 3)] == [3, 3, 0]
    assert [len(row(first, number).members) for number in (0, 1)] == [2, 2]
    assert refused(finish(first, reply.merge)) == "MERGE_OVER"
    assert refused(first.control(CancelMerge(group="tested", number=0))) == "MERGE_OVER"
    settle = SettleMerge(group="tested", number=3, merge=reply.merge)
    assert first.control(settle).refusal is None
    assert first.control(settle).refusal is None
    assert [len(row(first, number).members) for number in (0, 1)] == [0, 0]
    assert [each.node for each in row(first, 3).replicas] == ["a", "b"]
    assert begin(first, 3, 2).number == 4


def test_a_merge_that_is_taken_back_leaves_both_as_they_were(first: Machine) -> None:
    reply = begin(first)
    cancel = CancelMerge(group="tested", number=1, merge=reply.merge, reason="too large")
    assert first.control(cancel).refusal is None
    # Above those with which they may be frozen.
    assert [row(first, number).version for number in (0, 1)] == [3, 4]
    assert [row(first, number).unmerged for number in (0, 1)] == ["too large"] * 2
    assert keys.pack("tested", 3) not in first.rows(SHARDS)
    assert refused(finish(first, reply.merge)) == "MERGE_OVER"
    # Its number is not drawn again.
    assert begin(first).number == 4


def test_shards_that_are_merged_change_in_no_other_way(first: Machine) -> None:
    reply = begin(first)
    to = ShardMember(node="c", replica=3)

    def others(number: int) -> list[str]:
        move = MoveReplica(group="tested", number=number, to=to)
        split = BeginSplit(group="tested", number=number, slots=[row(first, 0).slots])
        merge = BeginMerge(group="tested", base=number, other=2)
        return [refused(first.control(each)) for each in (move, split, merge)]

    for number in (0, 1, 3):
        assert others(number) == ["SPLIT_UNDER_WAY", "SPLIT_UNDER_WAY", "MERGE_UNDER_WAY"]
    finish(first, reply.merge)
    # Its data may not be everywhere yet.
    assert others(3) == ["SPLIT_UNDER_WAY", "SPLIT_UNDER_WAY", "MERGE_UNDER_WAY"]
    assert others(0) == ["NOT_FOUND"] * 3
    recover = RecoverShard(group="tested", number=0, origin=ShardOrigin(epoch=1, node="a"))
    assert refused(first.control(recover)) == "NOT_FOUND"


def test_a_recovered_shard_takes_its_merge_back(first: Machine) -> None:
    begin(first)
    recover = RecoverShard(group="tested", number=1, origin=ShardOrigin(epoch=1, node="a"))
    assert first.control(recover).refusal is None
    assert [row(first, number).HasField("merge") for number in (0, 1)] == [False, False]
    assert [row(first, number).version for number in (0, 1)] == [3, 4]
    assert keys.pack("tested", 3) not in first.rows(SHARDS)


def test_what_cannot_be_merged_is_refused(first: Machine) -> None:
    def why(base: int, other: int) -> str:
        return refused(first.control(BeginMerge(group="tested", base=base, other=other)))

    assert why(0, 9) == "NOT_FOUND"
    assert why(0, 0) == "FAILED_PRECONDITION"
    metadata = ShardRow(
        group="metadata", number=0, slots=LOW, members=[ShardMember(node="a", replica=1)]
    )
    first.control(CreateShards(shards=[metadata]))
    command = BeginMerge(group="metadata", base=0, other=0)
    assert refused(first.control(command)) == "FAILED_PRECONDITION"
    first.control(MoveReplica(group="tested", number=0, to=ShardMember(node="c", replica=3)))
    assert why(0, 1) == "MOVE_UNDER_WAY"
    first.control(BeginMemberChange(node="d", change=MEMBER_CHANGE_ADD, address="d:1", replica=4))
    assert why(1, 2) == "CHANGE_UNDER_WAY"


def test_shards_on_other_nodes_are_refused(first: Machine) -> None:
    elsewhere = ShardRow(
        group="tested", number=7, slots=LOW, members=[ShardMember(node="c", replica=3)]
    )
    first.control(CreateShards(shards=[elsewhere]))
    outcome = first.control(BeginMerge(group="tested", base=0, other=7))
    assert outcome.refusal is not None
    assert "quorate shard move" in outcome.refusal.message


def test_shards_know_what_they_have_in_common(first: Machine) -> None:
    slots = slots_in(row(first, 0).slots)
    split = first.control(
        BeginSplit(group="tested", number=0, slots=[bitmap_of(slots[:9]), bitmap_of(slots[9:19])])
    )
    reply = BeginSplitReply.FromString(split.reply)
    first.control(FinishSplit(group="tested", number=0, split=reply.split, index=55))
    one, two = reply.numbers
    begin(first, one, two)
    assert row(first, one).merge.common == 55
    merge = row(first, one).merge
    finish(first, merge.number, one)
    first.control(SettleMerge(group="tested", number=merge.into, merge=merge.number))
    begin(first, merge.into, 0)
    assert row(first, 0).merge.common == 55
    first.control(CancelMerge(group="tested", number=0))
    begin(first, 2, 0)
    assert row(first, 2).merge.common == 0
