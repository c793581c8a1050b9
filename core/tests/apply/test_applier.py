from __future__ import annotations

import logging
from collections.abc import Callable
from itertools import count
from random import Random
from typing import TYPE_CHECKING

import pytest
from google.protobuf.message import Message
from google.protobuf.wrappers_pb2 import StringValue, UInt64Value
from hypothesis import HealthCheck, given, settings, strategies as st
from quorate.apply.applier import Applier, ApplyLimits
from quorate.apply.entries import LoggedCommand, Stamp, command_bytes, join, whole
from quorate.apply.outcomes import AppliedEntry, Outcome, ReplicaStoppedError
from quorate.consensus.journal import Position
from quorate.consensus.messages import Entry, EntryKind
from quorate.plugin import Txn
from quorate.plugin.catalog import Catalog
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
    applied = machine.applier.apply([entry, noop, members])

    assert machine.home.disks["data.1"].position == before + 1
    assert [(each.index, each.term, len(each.outcomes), each.at_ms) for each in applied] == [
        (1, 1, 1, 50),
        (2, 4, 0, 50),
        (3, 4, 0, 50),
    ]
    record = machine.data.record
    assert (record.position, record.now_ms) == (Position(3, 4), 50)
    assert (record.configuration_index, record.configuration) == (3, b"members")
    assert machine.applier.checksum_at() == (3, record.checksum)
    assert machine.applier.revision == whole(3)
    assert list(machine.rows(EVENTS)) == [(1).to_bytes(8)]


def test_logical_time_never_runs_backwards(machine: Machine) -> None:
    machine.do(PUT, at_ms=100)
    outcome = machine.do(["now"], at_ms=40)

    assert machine.answers(outcome) == [100]
    assert machine.applier.now_ms == 100


def test_entries_come_one_after_the_other(machine: Machine) -> None:
    entry = machine.entry(machine.script(PUT))
    with pytest.raises(ValueError, match="entry 3 comes after entry 1"):
        machine.applier.apply([entry, Entry(3, 1, EntryKind.NOOP, b"")])

    assert machine.data.applied == 0


def test_a_refusal_drops_the_writes_and_no_others(machine: Machine) -> None:
    outcomes = machine.apply(
        machine.script(PUT),
        machine.script(["put", "tested.rows", "x", ""], ["emit", "x"], ["reject", "FENCED"]),
        machine.script(["get", "tested.rows", "x"], ["put", "tested.rows", "l", "v"]),
    )

    assert [outcome.refusal and tuple(outcome.refusal) for outcome in outcomes] == [
        None,
        ("FENCED", "as the script says"),
        None,
    ]
    assert machine.answers(outcomes[2]) == [""]
    assert list(machine.rows("tested.rows")) == [b"k", b"l"]
    assert b"x" not in machine.rows(EVENTS)[(1).to_bytes(8)]
    assert [outcome.revision for outcome in outcomes] == [1 << 20, 1 << 20 | 1, 1 << 20 | 2]


POISON: dict[str, Callable[[Machine], LoggedCommand]] = {
    "raises": lambda machine: machine.script(["put", "tested.rows", "x", ""], ["fail", "KeyError"]),
    "breaks in the middle": lambda machine: machine.script(
        ["put", "tested.rows", "x", ""], ["put", "tested.rows", "y", None]
    ),
    "refuses with a code that core retries": lambda machine: machine.script(
        ["put", "tested.rows", "x", ""], ["emit", "x"], ["reject", "WRONG_SHARD"]
    ),
    "refuses with a code of sessions": lambda machine: machine.script(
        ["put", "tested.rows", "x", ""], ["reject", "SESSION_EXPIRED"]
    ),
    "does not parse": lambda _: LoggedCommand(StringValue.DESCRIPTOR.full_name, b"\xff\xff"),
}


@pytest.mark.parametrize("poison", POISON)
def test_a_poison_command_costs_its_caller_an_error_and_nobody_else(
    machine: Machine, poison: str
) -> None:
    outcomes = machine.apply(
        machine.script(PUT), POISON[poison](machine), machine.script(["emit", "after"])
    )

    assert [outcome.refusal is None for outcome in outcomes] == [True, False, True]
    refusal = outcomes[1].refusal
    assert refusal is not None
    assert refusal.code == "INTERNAL"
    assert "command google.protobuf.StringValue failed at index 1 with" in refusal.message
    assert list(machine.rows("tested.rows")) == [b"k"]
    assert machine.applier.failures == 1
    [(name, index, error)] = machine.failed
    assert (name, index) == ("google.protobuf.StringValue", 1)
    assert type(error).__name__ in refusal.message


def test_a_failure_is_logged_with_index_and_command(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    applier = Applier(machine.catalog, machine.shard, machine.data)
    with caplog.at_level(logging.ERROR):
        applier.apply([machine.entry(machine.script(["fail", "KeyError"]))])

    [line] = caplog.records
    assert "StringValue at index 1 of shard tested/3 failed with KeyError" in line.getMessage()
    assert vars(line)["index"] == 1


def test_memory_error_stops_the_replica_and_stores_nothing(machine: Machine) -> None:
    with pytest.raises(MemoryError):
        machine.do(PUT, ["fail", "MemoryError"])

    assert machine.data.applied == 0
    assert not machine.rows("tested.rows")


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (LoggedCommand("newer.v2.CloneCommand", b""), "newer.v2.CloneCommand"),
        (command(UInt64Value()), "google.protobuf.UInt64Value"),
    ],
    ids=["of a newer version", "of another group"],
)
def test_an_unknown_command_stops_the_replica_before_anything_of_its_entry(
    machine: Machine, message: LoggedCommand, told: str
) -> None:
    with pytest.raises(ReplicaStoppedError, match=told) as caught:
        machine.apply(machine.script(PUT), message)

    assert caught.value.index == 1
    assert "Entry 1 of shard tested/3" in str(caught.value)
    assert "Enable the plugin" in str(caught.value)
    assert machine.data.applied == 0


def test_an_entry_that_cannot_be_read_stops_the_replica(machine: Machine) -> None:
    with pytest.raises(ReplicaStoppedError, match="Entry 1 of shard tested/3 cannot be read"):
        machine.applier.apply([Entry(1, 1, EntryKind.COMMAND, b"\xff\xff")])


def test_a_damaged_row_stops_the_replica_even_when_the_handler_goes_on(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.do(PUT)
    machine.home.disks["data.1"].damage_row("tested.rows", b"k")
    with pytest.raises(ReplicaStoppedError, match=r"Entry 2 .* cannot be applied") as caught:
        machine.do(["get", "tested.rows", "k"])
    assert isinstance(caught.value.__cause__, DamagedError)

    def swallow(txn: Txn, _: object) -> None:
        with pytest.raises(EngineError):
            txn.get("tested.rows", b"k")

    def swallow_many(txn: Txn, _: object) -> None:
        with pytest.raises(EngineError):
            txn.get_rows("tested.rows", [b"j", b"k"])

    name = StringValue.DESCRIPTOR.full_name
    route = machine.applier._routes[name]
    for handler in (swallow, swallow_many):
        monkeypatch.setitem(machine.applier._routes, name, route._replace(apply=handler))
        with pytest.raises(ReplicaStoppedError, match="cannot be applied"):
            machine.do(PUT)
    assert machine.data.applied == 1


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
    [applied] = machine.applier.apply(entries)

    assert [outcome.refusal for outcome in applied.outcomes] == [None, None]
    assert machine.answers(applied.outcomes[1]) == [3 << 48 | 1]
    assert machine.applier.slots.owned == {1}


def test_a_failed_command_is_told_once_however_often_it_is_tried(machine: Machine) -> None:
    entries = [machine.entry(machine.script(["fail", "KeyError"]))]
    disk = machine.home.disks["data.1"]
    disk.failure = StalledError("later")
    for _ in range(3):
        with pytest.raises(StalledError):
            machine.applier.apply(entries)
    disk.failure = None
    machine.applier.apply(entries)

    assert machine.applier.failures == len(machine.failed) == 1


def test_any_other_failure_of_a_write_stops_the_replica(machine: Machine) -> None:
    machine.home.disks["data.1"].failure = DamagedError("gone")
    with pytest.raises(ReplicaStoppedError, match="Entry 1 of shard tested/3 cannot be stored"):
        machine.do(PUT)


def test_a_command_for_another_slot_writes_nothing(machine: Machine) -> None:
    assert machine.control(slotted(5, 1023)).refusal is None
    outcomes = machine.apply(
        machine.script(PUT, slots=[5, 1023]),
        machine.script(["put", "tested.rows", "x", ""], slots=[5, 6]),
        machine.script(["put", "tested.rows", "y", ""], slots=[4_000])._replace(slotless=True),
    )

    assert [outcome.refusal and outcome.refusal.code for outcome in outcomes] == [
        None,
        "WRONG_SHARD",
        None,
    ]
    assert "slot 6 is not owned by shard tested/3" in str(outcomes[1].refusal)
    assert list(machine.rows("tested.rows")) == [b"k", b"y"]
    machine.open()
    assert machine.applier.slots.owned == {5, 1023}


def test_slots_that_were_adopted_hold_for_the_next_command_of_the_entry(machine: Machine) -> None:
    outcomes = machine.apply(command(slotted(5)), machine.script(PUT, slots=[5]))

    assert [outcome.refusal for outcome in outcomes] == [None, None]


def test_a_turn_ends_between_entries_after_its_time_or_bytes(new_machine: NewMachine) -> None:
    ticks = count()
    slow = new_machine(clock=lambda: next(ticks) * 0.002)
    big = new_machine(limits=ApplyLimits(turn_bytes=100))
    for machine in (slow, big):
        payload = machine.entry(machine.script(PUT)).payload
        entries = [Entry(index, 1, EntryKind.COMMAND, payload) for index in range(1, 6)]
        sizes = []
        while entries:
            applied = machine.applier.apply(entries)
            entries = entries[len(applied) :]
            sizes.append(len(applied))
        # 0.002 s between two looks at the clock; 71 bytes an entry.
        assert sizes == ([3, 2] if machine is slow else [2, 2, 1])


def test_replicas_of_different_rows_stop_at_the_next_entry(new_machine: NewMachine) -> None:
    leader, follower = new_machine(), new_machine()
    leader.do(PUT)
    follower.do(["put", "tested.rows", "k", "other"])
    checked = leader.applier.checksum_at()
    entry = leader.entry(leader.script(PUT), checked=checked)

    leader.applier.apply([entry])
    with pytest.raises(ReplicaStoppedError, match="at index 1 the checksum is") as caught:
        follower.applier.apply([entry])
    assert caught.value.index == 1
    assert "quorate member replace" in str(caught.value)
    with pytest.raises(ReplicaStoppedError):
        follower.applier.compare(*checked)
    leader.applier.compare(*checked)
    leader.applier.compare(7, 12345)


#: Of each kind two scripts whose effects are of one length.
DIFFERENCES: dict[str, tuple[list[object], list[object]]] = {
    "a reply": (["answer", 1], ["get", "tested.marks", "there"]),
    "a refusal": (["reject", "NO"], ["reject", "ON"]),
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
    leader.applier.apply([first])
    index, checksum = leader.applier.checksum_at()
    good = leader.entry(leader.script(PUT), checked=(index, checksum))
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
    with pytest.raises(ReplicaStoppedError):
        target.applier.compare(2, source.data.record.checksum ^ 1)


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


def logged(
    machine: Machine, drawn: list[tuple[list[tuple[list[tuple[object, ...]], int | None]], int]]
) -> list[Entry]:
    """A session is opened first, and may expire on the way."""
    opening = join(0, [command_bytes(command(OpenSession(ttl_ms=3_000)))])
    entries = [Entry(1, 1, EntryKind.COMMAND, opening)]
    for number, (scripts, at_ms) in enumerate(drawn, start=2):
        commands = [
            machine.script(
                *(list(step) for step in steps),
                stamp=None if sequence is None else Stamp(1 << 20, sequence, 0),
            )
            for steps, sequence in scripts
        ]
        payload = join(at_ms * number, map(command_bytes, commands))
        entries.append(Entry(number, 1, EntryKind.COMMAND, payload))
    return entries


def seen(applied: list[AppliedEntry]) -> list[tuple[Outcome, ...]]:
    return [each.outcomes for each in applied]


@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(drawn=_ENTRIES, seed=st.integers(0, 99))
def test_any_division_and_any_crash_gives_the_same_state(
    new_machine: NewMachine,
    drawn: list[tuple[list[tuple[list[tuple[object, ...]], int | None]], int]],
    seed: int,
) -> None:
    # So small that events are trimmed on the way.
    limits = ApplyLimits(retained_entries=3, retained_ms=2_000)
    whole_turn, one_by_one = new_machine(limits=limits), new_machine(limits=limits)
    entries = logged(whole_turn, drawn)
    outcomes = seen(whole_turn.all(entries))
    assert [
        each for entry in entries for each in seen(one_by_one.applier.apply([entry]))
    ] == outcomes

    rng, crashing = Random(seed), new_machine(limits=limits)
    answered: dict[int, tuple[Outcome, ...]] = {}
    while crashing.data.applied < len(entries):
        left = entries[crashing.data.applied :]
        for each in crashing.applier.apply(left[: rng.randint(1, len(left))]):
            # What is applied a second time is answered as it was.
            assert answered.setdefault(each.index, each.outcomes) == each.outcomes
        if rng.random() < 0.5:
            crashing.data.sync()
        if rng.random() < 0.4:
            crashing.home.lose_power(rng)
            crashing.open()

    assert [answered[index] for index in sorted(answered)] == outcomes
    for machine in (one_by_one, crashing):
        assert machine.applier.checksum_at() == whole_turn.applier.checksum_at()
        assert machine.digest() == whole_turn.digest()
        assert machine.data.record == whole_turn.data.record
        assert machine.applier.counts() == whole_turn.applier.counts()


def test_a_catalog_without_the_plugin_opens_the_data(machine: Machine, catalog: Catalog) -> None:
    machine.do(PUT)
    machine.home.kill()
    data = type(machine.data).open(machine.home, ())

    assert "tested.rows" in data.orphans
