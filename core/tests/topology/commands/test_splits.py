"""A shard that gives slots away: what metadata/0 keeps of it, and what the shard itself does."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from google.protobuf.message import Message
from quorate.apply import cuts
from quorate.apply.entries import LoggedCommand
from quorate.apply.outcomes import WRONG_SHARD, Outcome
from quorate.apply.program import families_of
from quorate.plugin import keys
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.plugin.slots import KeySlots, bitmap_of, even_cut, slot_of, slots_in
from quorate.shards.snapshots.first_state import begin_part
from quorate.storage.data.home import MemoryHome
from quorate.storage.data.shard_data import ShardData
from quorate.storage.events import EventLog
from quorate.storage.families import SHARDS
from quorate.storage.rows import value_of
from quorate.topology.commands.splits import parts_of
from quorate.v1.control_pb2 import (
    MEMBER_CHANGE_ADD,
    AbandonSplit,
    AdoptSlots,
    BeginMemberChange,
    BeginSplit,
    BeginSplitReply,
    CreateShards,
    CutShard,
    FinishSplit,
    ForgetSlots,
    ForgetSlotsReply,
    MoveReplica,
    RecoverShard,
    ShardMember,
    ShardOrigin,
    ShardPart,
    ShardRow,
)

if TYPE_CHECKING:
    from core.tests.apply.conftest import Machine

#: Slot 0, of the constant shard key that all rows have here, and the rest.
LOW, HIGH = even_cut(2)
SPLIT = 9


@pytest.fixture
def whole(machine: Machine) -> Machine:
    """A shard with all slots and some of everything."""
    machine.control(AdoptSlots(version=1, slots=even_cut(1)[0]))
    machine.do(["put", "tested.rows", "a", "1"], ["put", "tested.olds", "b", "2"])
    machine.do(["put", "tested.tallies", "c", "3"], ["put", "tested.marks", "d", "4"])
    machine.do(["at", "k", 50], ["id", "tested.ids"])
    return machine


def cut(given: bytes = LOW, split: int = SPLIT, version: int = 2) -> CutShard:
    return CutShard(split=split, version=version, parts=[ShardPart(number=4, slots=given)])


def seen(machine: Machine, family: str = "tested.rows") -> list[bytes]:
    reader = machine.applier.reader(frozenset({family}))
    return [row.key for row in reader.scan(family, b"", b"\xff", limit=10)]


def forked(machine: Machine, new_machine: Callable[..., Machine]) -> Machine:
    """Return the new shard of a machine that was cut."""
    found = machine.applier.cut_here
    assert found is not None
    home = MemoryHome()
    machine.data.fork(home)
    with closing(ShardData.open(home, families_of(machine.catalog, machine.shard.group))) as data:
        begin_part(data, 4)
    child = new_machine(shard=ShardId(machine.shard.group, 4))
    child.home = home
    child.open()
    return child


def forget(machine: Machine) -> int:
    """Have a shard forget what it has to; return how many commands that took."""
    for count in range(1, 100):
        outcome = machine.control(ForgetSlots())
        assert outcome.refusal is None
        if ForgetSlotsReply.FromString(outcome.reply).done:
            return count
    raise AssertionError("it never ends")


def refused(outcome: Outcome) -> str:
    assert outcome.refusal is not None, outcome
    return outcome.refusal.code


# In the shard.


def test_what_went_away_is_refused_and_seen_no_more(whole: Machine) -> None:
    assert whole.control(cut()).refusal is None
    assert refused(whole.apply(whole.script(["get", "tested.rows", "a"], slots=[0]))[0]) == (
        WRONG_SHARD
    )
    assert whole.applier.slots.owned == {*slots_in(HIGH)}
    assert (seen(whole), seen(whole, "tested.marks")) == ([], [])
    assert whole.applier.due("tested.bell", 100, 5) == []
    assert whole.applier.next_due("tested.bell") is None
    # What a handler scans is the same.
    assert whole.read(["scan", "tested.rows", "", "z", 9, False]) == [""]


def test_a_batch_that_was_routed_before_the_cut_is_refused_for_its_slots(whole: Machine) -> None:
    def put(*keys: bytes) -> Outcome:
        return whole.apply(
            whole.script(["put", "tested.rows", "y", "1"], slots=KeySlots(list(keys)))
        )[0]

    by_slot = {slot_of(key): key for key in (b"%d" % at for at in range(100))}
    low, high = by_slot[min(by_slot)], by_slot[max(by_slot)]
    assert put(low, high).refusal is None
    whole.control(cut())
    assert put(high).refusal is None
    assert refused(put(low, high)) == WRONG_SHARD


def test_a_new_shard_is_all_that_its_parent_was(
    whole: Machine, new_machine: Callable[..., Machine]
) -> None:
    whole.control(cut())
    child = forked(whole, new_machine)
    assert child.applier.slots.owned == {*slots_in(LOW)}
    assert (seen(child), seen(child, "tested.marks")) == ([b"a"], [b"d"])
    assert child.applier.due("tested.bell", 100, 5) == [(b"k", 50)]
    assert child.data.record == whole.data.record
    # Whoever watches it goes on with the events after the cut.
    assert EventLog(child.data).newest == EventLog(whole.data).newest
    assert child.applier.cut is None
    [parents], [children] = whole.read(["id", "tested.ids"]), child.read(["id", "tested.ids"])
    assert children > parents


def test_a_departure_changes_the_rows_of_all_replicas_alike(
    machine: Machine, new_machine: Callable[..., Machine]
) -> None:
    other = new_machine()

    def both(*commands: LoggedCommand) -> None:
        entry = machine.entry(*commands)
        machine.store(entry)
        other.store(entry)

    def core(message: Message) -> LoggedCommand:
        return LoggedCommand(message.DESCRIPTOR.full_name, message.SerializeToString())

    both(core(AdoptSlots(version=1, slots=even_cut(1)[0])))
    both(machine.script(["put", "tested.parts", "p", "1"]))
    both(core(cut(bitmap_of([slot_of(b"p")]))))
    both(core(ForgetSlots()))
    assert (other.rows("tested.parts"), other.rows("tested.marks")) == ({}, {b"p": b"moved"})
    # It emits no event, and watched rows have one for each change.
    assert other.rows("tested.rows") == {}
    assert machine.digest() == other.digest()


def test_a_departure_that_fails_leaves_all_that_was_to_be_forgotten(whole: Machine) -> None:
    whole.do(["put", "tested.parts", "p", "wrong"])
    whole.control(cut(bitmap_of([0, slot_of(b"p")])))
    assert refused(whole.control(ForgetSlots())) == "INTERNAL"
    assert (len(whole.rows("tested.olds")), whole.counts()["tested.olds"]) == (1, 1)


def test_rows_of_others_are_forgotten_without_an_event(
    whole: Machine, new_machine: Callable[..., Machine]
) -> None:
    whole.control(cut())
    child = forked(whole, new_machine)
    before = whole.data.applied
    assert forget(whole) == 1
    families = ("tested.rows", "tested.olds", "tested.tallies", "tested.marks")
    assert [whole.rows(family) for family in families] == [{}] * 4
    assert whole.rows("core.deadlines") == whole.rows("core.deadline_keys") == {}
    assert set(whole.counts().values()) == {0}
    assert not whole.applier.foreign
    found, _ = EventLog(whole.data).read(before << 20 | 0xFFFFF, max_rows=9, max_bytes=99)
    assert found == []
    forget(child)
    assert [len(child.rows(family)) for family in families] == [1] * 4
    assert set(child.counts().values()) == {1}


def test_forgetting_goes_on_where_it_was(whole: Machine) -> None:
    for first in range(0, 1_500, 100):
        whole.do(
            *(["put", "tested.rows", f"{number:04d}", ""] for number in range(first, first + 100))
        )
    whole.control(cut())
    whole.control(ForgetSlots())
    assert 0 < len(whole.rows("tested.rows")) < 1_500
    whole.open()
    assert whole.applier.foreign
    assert forget(whole) == 1
    assert whole.rows("tested.rows") == {}


def test_nothing_is_applied_in_one_turn_with_what_follows_a_cut(whole: Machine) -> None:
    command = cut()
    name = command.DESCRIPTOR.full_name

    entries = [
        whole.entry(whole.script(["put", "tested.rows", "x", "1"])),
        whole.entry(LoggedCommand(name, command.SerializeToString())),
        whole.entry(whole.script(["put", "tested.rows", "y", "1"])),
    ]
    assert len(whole.store(*entries)) == 2
    assert whole.applier.cut_here is not None
    whole.open()
    assert whole.applier.cut_here is not None
    whole.store(entries[2])
    assert whole.applier.cut_here is None


def test_a_repeated_cut_changes_nothing(whole: Machine) -> None:
    whole.control(cut())
    at = whole.applier.cut
    assert whole.control(cut()).refusal is None
    assert whole.applier.cut == at
    assert whole.applier.slots.owned == {*slots_in(HIGH)}


def test_an_abandoned_split_never_cuts_and_a_cut_is_never_abandoned(whole: Machine) -> None:
    assert whole.control(AbandonSplit(split=SPLIT)).refusal is None
    assert cuts.abandoned(whole.data) == SPLIT
    assert refused(whole.control(cut())) == "SPLIT_OVER"
    assert whole.applier.slots.owned == {*range(1_024)}
    whole.control(cut(split=SPLIT + 1))
    assert refused(whole.control(AbandonSplit(split=SPLIT + 1))) == "SPLIT_OVER"


@pytest.mark.parametrize(
    "command",
    [
        cut(given=even_cut(1)[0]),
        cut(given=bytes(128)),
        cut(version=1),
        CutShard(
            split=SPLIT, version=2, parts=[ShardPart(slots=bitmap_of([1])), ShardPart(slots=LOW)]
        ),
        cut(given=b"short"),
    ],
    ids=["all", "none", "old", "twice", "short"],
)
def test_an_impossible_cut_is_refused(whole: Machine, command: CutShard) -> None:
    assert refused(whole.control(command)) == "INVALID_ARGUMENT"
    assert whole.applier.slots.owned == {*range(1_024)}
    assert not whole.applier.foreign


# In metadata/0.


@pytest.fixture
def first(new_machine: Callable[..., Machine]) -> Machine:
    machine = new_machine(shard=METADATA)
    members = [ShardMember(node="a", replica=1), ShardMember(node="b", replica=2)]
    shards = [
        ShardRow(group="tested", number=number, slots=slots, version=1, members=members)
        for number, slots in enumerate(even_cut(2))
    ]
    machine.control(CreateShards(shards=shards))
    return machine


def begin(first: Machine, number: int = 0, into: int = 2) -> BeginSplitReply:
    outcome = first.control(
        BeginSplit(
            group="tested", number=number, slots=parts_of(row(first, number).slots, into)[1:]
        )
    )
    assert outcome.refusal is None, outcome
    return BeginSplitReply.FromString(outcome.reply)


def row(first: Machine, number: int) -> ShardRow:
    return ShardRow.FromString(value_of(first.rows(SHARDS)[keys.pack("tested", number)]))


def test_new_shards_have_no_slots_before_the_cut_and_theirs_after_it(first: Machine) -> None:
    reply = begin(first, into=3)
    assert list(reply.numbers) == [2, 3]
    assert [len(slots_in(row(first, number).slots)) for number in (0, 2, 3)] == [512, 0, 0]
    assert [each.node for each in row(first, 3).replicas] == ["a", "b"]
    done = FinishSplit(group="tested", number=0, split=reply.split, index=77)
    assert first.control(done).refusal is None
    found = [row(first, number) for number in (0, 2, 3)]
    assert [len(slots_in(each.slots)) for each in found] == [170, 171, 171]
    assert [each.version for each in found] == [2, 2, 2]
    assert [each.parent.index for each in found] == [0, 77, 77]
    assert refused(first.control(done)) == "SPLIT_OVER"


def test_the_number_of_an_abandoned_shard_is_drawn_no_more(first: Machine) -> None:
    reply = begin(first)
    first.control(FinishSplit(group="tested", number=0, split=reply.split))
    assert keys.pack("tested", 2) not in first.rows(SHARDS)
    assert len(slots_in(row(first, 0).slots)) == 512
    assert list(begin(first, 1).numbers) == [3]


def test_a_shard_that_is_being_split_changes_in_no_other_way(first: Machine) -> None:
    begin(first)
    to = ShardMember(node="c", replica=3)
    for number in (0, 2):
        move = MoveReplica(group="tested", number=number, to=to)
        assert refused(first.control(move)) == "SPLIT_UNDER_WAY"
        again = BeginSplit(group="tested", number=number, slots=[bitmap_of([5])])
        assert refused(first.control(again)) == "SPLIT_UNDER_WAY"
    recover = RecoverShard(group="tested", number=2, origin=ShardOrigin(epoch=1, node="a"))
    assert refused(first.control(recover)) == "SPLIT_UNDER_WAY"


def test_a_moving_shard_and_a_changing_cluster_wait(first: Machine) -> None:
    first.control(MoveReplica(group="tested", number=0, to=ShardMember(node="c", replica=3)))
    command = BeginSplit(group="tested", number=0, slots=[bitmap_of([5])])
    assert refused(first.control(command)) == "MOVE_UNDER_WAY"
    first.control(BeginMemberChange(node="c", change=MEMBER_CHANGE_ADD, address="c:1", replica=3))
    command = BeginSplit(group="tested", number=1, slots=[bitmap_of([600])])
    assert refused(first.control(command)) == "CHANGE_UNDER_WAY"


def test_a_recovered_shard_owns_all_its_slots_again(first: Machine) -> None:
    begin(first)
    recover = RecoverShard(group="tested", number=0, origin=ShardOrigin(epoch=1, node="a"))
    assert first.control(recover).refusal is None
    assert not row(first, 0).HasField("split")
    # A replica that was cut had version 2.
    assert row(first, 0).version == 3
    assert keys.pack("tested", 2) not in first.rows(SHARDS)


def test_a_split_that_nobody_ordered_is_alone_and_never_makes_too_many(first: Machine) -> None:
    def unordered(most: int) -> BeginSplit:
        return BeginSplit(group="tested", number=1, slots=[bitmap_of([600])], most_shards=most)

    assert refused(first.control(unordered(2))) == "FAILED_PRECONDITION"
    reply = begin(first)
    assert refused(first.control(unordered(9))) == "OTHER_SPLIT"
    first.control(FinishSplit(group="tested", number=0, split=reply.split, index=77))
    assert first.control(unordered(4)).refusal is None
