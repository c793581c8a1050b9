from __future__ import annotations

from collections.abc import Callable
from itertools import count
from random import Random
from typing import TYPE_CHECKING

import pytest
from google.protobuf.message import Message
from hypothesis import HealthCheck, given, settings, strategies as st
from quorate.apply.applier import Applier, ApplyLimits
from quorate.apply.entries import LoggedCommand, Stamp, whole
from quorate.apply.outcomes import ReplicaStoppedError
from quorate.apply.sessions import number_at
from quorate.consensus.journal import Position
from quorate.consensus.messages import Entry, EntryKind
from quorate.plugin.catalog import Catalog
from quorate.storage.data.home import MemoryHome
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import DamagedError, EngineError, FullError, StalledError
from quorate.storage.families import EVENTS
from quorate.v1.control_pb2 import AdoptSlots, OpenSession

if TYPE_CHECKING:
    from core.tests.apply.conftest import Machine

NewMachine = Callable[..., "Machine"]

PUT: list[object] = ["put", "tested.rows", "k", "v"]


def slotted(*slots: int) -> AdoptSlots:
    bitmap = bytearray(128)
    for slot in slots:
        bitmap[slot >> 3] |= 1 << (slot & 7)
    return AdoptSlots(version=1, slots=bytes(bitmap))


def command(message: Message, *, stamp: Stamp | None = None) -> LoggedCommand:
    return LoggedCommand(message.DESCRIPTOR.full_name, message.SerializeToString(), stamp=stamp)


def test_one_batch_holds_rows_events_and_the_record(machine: Machine) -> None:
    before = machine.home.disks["data.1"].position
    entry = machine.entry(machine.script(PUT), at_ms=50)
    noop = Entry(2, 4, EntryKind.NOOP, b"")
    members = Entry(3, 4, EntryKind.CONFIG, b"members")
    applied = machine.store(entry, noop, members)

    assert machine.home.disks["data.1"].position == before + 1
    assert [(each.index, each.term, each.at_ms) for each in applied] == [
        (1, 1, 50),
        (2, 4, 50),
        (3, 4, 50),
    ]
    record = machine.data.record
    assert (record.position, record.now_ms) == (Position(3, 4), 50)
    assert (record.configuration_index, record.configuration) == (3, b"members")
    assert machine.applier.checksum_at() == (3, record.checksum)
    assert machine.applier.revision == whole(3)
    assert list(machine.rows(EVENTS)) == [(1).to_bytes(8)]


def test_changes_of_core_are_counted_and_those_of_plugins_are_not(machine: Machine) -> None:
    machine.store(machine.entry(machine.script(PUT)))
    before = machine.applier.core_changes
    machine.store(machine.entry(machine.script(PUT)))
    assert machine.applier.core_changes == before
    machine.store(Entry(3, 1, EntryKind.NOOP, b""))
    machine.store(Entry(4, 1, EntryKind.CONFIG, b"members"))
    machine.store(machine.entry(command(slotted(1))))

    assert machine.applier.core_changes == before + 3
    machine.applier.reopened(machine.data)
    assert machine.applier.core_changes == before + 4


def test_entries_come_one_after_the_other(machine: Machine) -> None:
    entry = machine.entry(machine.script(PUT))
    with pytest.raises(ValueError, match="entry 3 comes after entry 1"):
        machine.applier.apply([entry, Entry(3, 1, EntryKind.NOOP, b"")])

    assert machine.data.applied == 0


@pytest.mark.parametrize(
    ("payload", "told"),
    [
        (b"\x09and more", "has format 9 of a newer version of quorate: run that"),
        (b"\x08\x05\x22\x02\x0a\x00", "holds commands, as versions before 0.2 logged them"),
        (b"", "holds commands, as versions before 0.2"),
        (b"\x01cut off", "has a payload of 8 bytes with the wrong length"),
    ],
)
def test_an_entry_that_cannot_be_read_stops_the_replica(
    machine: Machine, payload: bytes, told: str
) -> None:
    with pytest.raises(ReplicaStoppedError, match=f"Entry 1 of shard tested/3 {told}") as caught:
        machine.applier.apply([Entry(1, 1, EntryKind.COMMAND, payload)])

    assert caught.value.index == 1
    assert machine.data.applied == 0


@pytest.mark.parametrize("error", [StalledError("later"), FullError("no space")])
def test_a_write_that_can_be_tried_again_changes_nothing(
    machine: Machine, error: EngineError
) -> None:
    machine.control(OpenSession(ttl_ms=1_000))
    entries = [machine.entry(command(slotted(1)), machine.script(PUT, ["id", "x"], ["at", "k", 5]))]
    disk = machine.home.disks["data.1"]
    disk.failure = error
    with pytest.raises(type(error)):
        machine.applier.apply(entries)
    assert machine.applier.applied == 1
    assert not machine.applier.slots.owned
    disk.failure = None
    assert len(machine.store(*entries)) == 1
    outcomes = machine.outcomes[2]

    assert [outcome.refusal for outcome in outcomes] == [None, None]
    assert machine.answers(outcomes[1]) == [3 << 48 | 1]
    assert machine.applier.slots.owned == {1}


def test_any_other_failure_of_a_write_stops_the_replica(machine: Machine) -> None:
    machine.home.disks["data.1"].failure = DamagedError("gone")
    with pytest.raises(ReplicaStoppedError, match="Entry 1 of shard tested/3 cannot be stored"):
        machine.do(PUT)


def test_a_turn_ends_between_entries_after_its_time_or_bytes(new_machine: NewMachine) -> None:
    ticks = count()
    slow = new_machine(clock=lambda: next(ticks) * 0.002)
    big = new_machine(limits=ApplyLimits(turn_bytes=100))
    for machine in (slow, big):
        entries = [machine.entry(machine.script(PUT)) for _ in range(5)]
        sizes = []
        while entries:
            applied = machine.store(*entries)
            entries = entries[len(applied) :]
            sizes.append(len(applied))
        # 0.002 s between two looks at the clock; 97 bytes an entry.
        assert sizes == ([3, 2] if machine is slow else [2, 2, 1])


def test_replicas_of_different_rows_stop_at_the_next_entry(new_machine: NewMachine) -> None:
    leader, follower = new_machine(), new_machine()
    leader.do(PUT)
    follower.do(["put", "tested.rows", "k", "other"])
    checked = leader.applier.checksum_at()
    entry = leader.entry(leader.script(PUT), checked=checked)

    leader.store(entry)
    with pytest.raises(ReplicaStoppedError, match="at index 1 the checksum is") as caught:
        follower.applier.apply([entry])
    assert caught.value.index == 1
    assert "quorate member replace" in str(caught.value)
    leader.store(leader.entry(leader.script(PUT), checked=(7, 12345)))


#: Of each kind two scripts whose effects are of one length.
DIFFERENCES: dict[str, tuple[list[object], list[object]]] = {
    "a public row": (PUT, ["put", "tested.rows", "k", "w"]),
    "a public key": (PUT, ["put", "tested.rows", "l", "v"]),
    "a private row": (["put", "tested.marks", "k", "v"], ["put", "tested.marks", "k", "w"]),
    "a private row deleted": (["delete", "tested.marks", "there"], ["answer", 0]),
    "a deadline": (["at", "k", 9], ["at", "k", 8]),
    "a sequence": (["id", "x"], ["id", "y"]),
    "an emitted event": (["emit", "x"], ["emit", "y"]),
    "a range": (["clear", "tested.marks", "t", "u"], ["clear", "tested.marks", "t", "v"]),
}


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_every_difference_shows_in_the_checksum(new_machine: NewMachine, difference: str) -> None:
    sums = set()
    for step in DIFFERENCES[difference]:
        machine = new_machine()
        machine.do(["put", "tested.marks", "there", "v"])
        machine.do(step)
        sums.add(machine.applier.checksum_at())

    assert len(sums) == 2


def test_an_entry_may_be_compared_with_one_of_the_same_turn(new_machine: NewMachine) -> None:
    leader, follower = new_machine(), new_machine()
    first = leader.entry(leader.script(PUT))
    leader.store(first)
    index, checksum = leader.applier.checksum_at()
    good = leader.entry(leader.script(PUT), checked=(index, checksum))
    leader.evaluator.begin()
    leader.logged = 1
    bad = leader.entry(leader.script(PUT), checked=(index, checksum ^ 1))

    with pytest.raises(ReplicaStoppedError):
        follower.applier.apply([first, bad])
    assert follower.data.applied == 0
    assert len(follower.applier.apply([first, good])) == 2


def test_after_an_install_it_goes_on_from_the_new_data(new_machine: NewMachine) -> None:
    source, target = new_machine(), new_machine()
    source.control(slotted(5))
    source.do(PUT, ["at", "k", 9], at_ms=5)
    target.do(["at", "l", 50])
    assert target.applier.next_due("tested.bell") == 50
    target.applier.reopened(source.data)

    assert target.applier.revision == whole(2)
    assert target.applier.slots.owned == {5}
    assert target.applier.next_due("tested.bell") == 9
    assert target.applier.checksum_at() == source.applier.checksum_at()
    entry = source.entry(source.script(PUT), checked=(2, source.data.record.checksum ^ 1))
    with pytest.raises(ReplicaStoppedError):
        target.applier.apply([entry])


def test_deadlines_are_found_in_the_order_of_time(machine: Machine) -> None:
    machine.do(["at", "b", 20], ["at", "a", 20], ["at", "c", 10], ["at", "d", -5], ["at", "e", 30])
    applier = machine.applier

    assert applier.due("tested.bell", 20, 9) == [(b"d", -5), (b"c", 10), (b"a", 20), (b"b", 20)]
    assert applier.due("tested.bell", 20, 2) == [(b"d", -5), (b"c", 10)]
    assert applier.due("tested.bell", -6, 2) == []
    machine.do(["at", "d", None], ["at", "c", 40])
    assert applier.due("tested.bell", 20, 1) == [(b"a", 20)]
    assert applier.due("tested.bell", 19, 1) == []
    machine.do(["at", "a", None], ["at", "b", None])
    assert applier.due("tested.bell", 25, 1) == []
    assert applier.next_due("tested.bell") == 30
    machine.do(["at", "early", 3])
    assert applier.next_due("tested.bell") == 3
    assert machine.read(["when", "c"], ["when", "a"]) == ["40", "None"]
    assert len(machine.rows("core.deadlines")) == len(machine.rows("core.deadline_keys")) == 3


def test_a_deadline_that_no_time_can_be_is_the_first_or_the_last(machine: Machine) -> None:
    machine.do(["at", "late", (1 << 64) - 1], ["at", "early", -(1 << 64)])
    applier = machine.applier

    assert applier.due("tested.bell", 20, 9) == [(b"early", -(1 << 63))]
    machine.do(["at", "early", None])
    assert applier.next_due("tested.bell") == (1 << 63) - 2
    machine.do(["at", "late", 30])
    assert applier.due("tested.bell", 30, 9) == [(b"late", 30)]
    assert len(machine.rows("core.deadlines")) == len(machine.rows("core.deadline_keys")) == 1


_KEY = st.sampled_from(["a", "b", "c"])
_STEPS = st.one_of(
    st.tuples(
        st.just("put"),
        st.sampled_from(["tested.rows", "tested.olds", "tested.marks", "tested.tallies"]),
        _KEY,
        st.sampled_from(["1", "22"]),
    ),
    st.tuples(st.just("delete"), st.sampled_from(["tested.rows", "tested.olds"]), _KEY),
    st.tuples(st.just("clear"), st.just("tested.tallies"), st.just("a"), _KEY),
    st.tuples(
        st.just("scan"), st.just("tested.olds"), st.just("a"), _KEY, st.just(2), st.booleans()
    ),
    st.tuples(st.just("at"), _KEY, st.sampled_from([5, 9, None])),
    st.tuples(st.just("id"), st.just("x")),
    st.tuples(st.just("emit"), _KEY),
    st.tuples(st.just("reject"), st.just("NO")),
    st.tuples(st.just("fail"), st.just("KeyError")),
)
#: A script, and the sequence of its session if it has one.
_COMMANDS = st.tuples(st.lists(_STEPS, max_size=4), st.none() | st.integers(0, 3))
_ENTRIES = st.lists(
    st.tuples(st.lists(_COMMANDS, max_size=3), st.integers(0, 4_000)), min_size=1, max_size=8
)


Drawn = list[tuple[list[tuple[list[tuple[object, ...]], int | None]], int]]


def logged(machine: Machine, drawn: Drawn) -> list[tuple[list[LoggedCommand], int]]:
    """A session is opened first, and may expire on the way."""
    entries = [([command(OpenSession(ttl_ms=3_000))], 0)]
    session = number_at(1 << 20, machine.shard.number)
    for number, (scripts, at_ms) in enumerate(drawn, start=2):
        commands = [
            machine.script(
                *(list(step) for step in steps),
                stamp=None if sequence is None else Stamp(session, sequence, 0),
            )
            for steps, sequence in scripts
        ]
        entries.append((commands, at_ms * number))
    return entries


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(drawn=_ENTRIES, seed=st.integers(0, 99))
def test_any_division_and_any_crash_gives_the_same_state(
    new_machine: NewMachine, drawn: Drawn, seed: int
) -> None:
    """What is evaluated over entries in flight is what is evaluated over stored ones."""
    # So small that events are trimmed on the way.
    limits = ApplyLimits(retained_entries=3, retained_ms=2_000)
    in_flight, one_by_one = new_machine(limits=limits), new_machine(limits=limits)
    for commands, at_ms in logged(one_by_one, drawn):
        one_by_one.apply(*commands, at_ms=at_ms)
    entries = [
        in_flight.entry(*commands, at_ms=at_ms) for commands, at_ms in logged(in_flight, drawn)
    ]
    assert in_flight.outcomes == one_by_one.outcomes
    in_flight.all(entries)

    rng, crashing = Random(seed), new_machine(limits=limits)
    while crashing.data.applied < len(entries):
        left = entries[crashing.data.applied :]
        crashing.store(*left[: rng.randint(1, len(left))])
        if rng.random() < 0.5:
            crashing.data.sync()
        if rng.random() < 0.4:
            crashing.home.lose_power(rng)
            crashing.open()

    for machine in (one_by_one, crashing):
        assert machine.applier.checksum_at() == in_flight.applier.checksum_at()
        assert machine.digest() == in_flight.digest()
        assert machine.data.record == in_flight.data.record
        assert machine.counts() == in_flight.counts()


def test_a_catalog_without_the_plugin_opens_the_data(machine: Machine, catalog: Catalog) -> None:
    machine.do(PUT)
    machine.home.kill()
    data = type(machine.data).open(machine.home, ())

    assert "tested.rows" in data.orphans


def test_a_node_without_the_plugin_keeps_its_rows(new_machine: NewMachine) -> None:
    """As while a plugin is upgraded one node at a time: its leader knows a family more."""
    leader = new_machine()
    data = ShardData.open(MemoryHome(), ())
    follower = Applier(leader.catalog, leader.shard, data)
    for steps in ([PUT, ["put", "tested.marks", "m", "1"]], [["put", "tested.rows", "l", "w"]]):
        entry = leader.entry(leader.script(*steps))
        leader.store(entry)
        follower.apply([entry])

    assert set(data.orphans) == {"tested.rows", "tested.marks"}
    for family in data.orphans:
        assert dict(data.iterate(family, b"", None)) == leader.rows(family)
    assert follower.checksum_at() == leader.applier.checksum_at()
