"""The leader's room: handlers over stored rows and the effects in flight."""

from __future__ import annotations

import logging
import random
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING

import pytest
from google.protobuf.message import Message
from google.protobuf.wrappers_pb2 import StringValue, UInt64Value
from quorate.apply import effects
from quorate.apply.entries import Copies, LoggedCommand, Stamp
from quorate.apply.evaluator import EvaluationLimits, Evaluator
from quorate.apply.program import Program
from quorate.apply.sessions import number_at
from quorate.plugin import Txn
from quorate.storage.engine.port import DamagedError, EngineError, StalledError
from quorate.storage.families import EVENTS
from quorate.topology.commands.routes import ROUTES
from quorate.v1.control_pb2 import AdoptSlots, OpenSession, RaiseGeneration

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


def test_logical_time_never_runs_backwards(machine: Machine) -> None:
    machine.do(PUT, at_ms=100)
    outcome = machine.do(["now"], at_ms=40)

    assert machine.answers(outcome) == [100]
    assert machine.applier.now_ms == 100


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


def test_what_reads_an_old_copy_is_dropped_with_all_behind_it(machine: Machine) -> None:
    def doubted(*steps: list[object]) -> LoggedCommand:
        return machine.script(*steps)._replace(copies=Copies.DOUBTED)

    outcomes = machine.apply(
        doubted(PUT),
        doubted(["put", "tested.rows", "x", ""], ["emit", "x"], ["refresh", "tested.facts"]),
        doubted(["put", "tested.rows", "y", ""]),
    )

    assert [outcome.refusal and outcome.refusal.code for outcome in outcomes] == [
        None,
        "COPY_BEHIND",
        "COPY_BEHIND",
    ]
    assert list(machine.rows("tested.rows")) == [b"k"]
    assert b"x" not in machine.rows(EVENTS)[(1).to_bytes(8)]


@pytest.mark.parametrize(
    ("copies", "code"), [(Copies.FRESH, "FENCED"), (Copies.UNKNOWN, "UNAVAILABLE")]
)
def test_a_refusal_counts_where_the_copy_is_fresh(
    machine: Machine, copies: Copies, code: str
) -> None:
    script = machine.script(["refresh", "tested.facts"], ["reject", "FENCED"])
    [outcome] = machine.apply(script._replace(copies=copies))
    assert outcome.refusal is not None
    assert outcome.refusal.code == code


def test_a_session_remembers_nothing_of_what_is_to_run_again(machine: Machine) -> None:
    machine.control(OpenSession(ttl_ms=1_000))
    session = number_at(1 << 20, machine.shard.number)
    script = machine.script(["refresh", "tested.facts"], PUT, stamp=Stamp(session, 1, 1))
    [doubted] = machine.apply(script._replace(copies=Copies.DOUBTED))
    [again] = machine.apply(script)
    assert doubted.refusal is not None
    assert again.refusal is None
    assert list(machine.rows("tested.rows")) == [b"k"]


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
    assert machine.evaluator.failures == 1
    [(name, index, error)] = machine.failed
    assert (name, index) == ("google.protobuf.StringValue", 1)
    assert type(error).__name__ in refusal.message


def test_a_failure_is_logged_with_index_and_command(
    machine: Machine, caplog: pytest.LogCaptureFixture
) -> None:
    program = Program.of(machine.catalog, machine.shard.group, ROUTES)
    evaluator = Evaluator(program, machine.shard, machine.data)
    with caplog.at_level(logging.ERROR):
        evaluator.evaluate(1, [[machine.script(["fail", "KeyError"])]], 0)

    [line] = caplog.records
    assert "StringValue at index 1 of shard tested/3 failed with KeyError" in line.getMessage()
    assert vars(line)["index"] == 1


def test_a_memory_error_is_no_outcome(machine: Machine) -> None:
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
def test_an_unknown_command_is_refused_and_costs_no_other_anything(
    machine: Machine, message: LoggedCommand, told: str
) -> None:
    outcomes = machine.apply(machine.script(PUT), message)

    assert outcomes[0].refusal is None
    assert outcomes[1].refusal is not None
    assert outcomes[1].refusal.code == "UNKNOWN_COMMAND"
    assert told in outcomes[1].refusal.message
    assert list(machine.rows("tested.rows")) == [b"k"]


def test_an_unknown_command_of_a_session_may_be_tried_at_another_leader(machine: Machine) -> None:
    session = number_at(1 << 20, machine.shard.number)
    assert machine.control(OpenSession(ttl_ms=1_000)).refusal is None
    unknown = LoggedCommand("newer.v2.CloneCommand", b"", stamp=Stamp(session, 1, 1))
    [refused] = machine.apply(unknown)
    assert refused.refusal is not None

    known = machine.do(PUT, stamp=Stamp(session, 1, 1))
    assert known.refusal is None


def test_a_damaged_row_is_no_outcome_even_when_the_handler_goes_on(
    machine: Machine,
) -> None:
    machine.do(PUT)
    # A row that this leader wrote last is in memory.
    machine.evaluator.begin()
    machine.home.disks["data.1"].damage_row("tested.rows", b"k")
    with pytest.raises(DamagedError):
        machine.do(["get", "tested.rows", "k"])

    def swallow(txn: Txn, _: object) -> None:
        with pytest.raises(EngineError):
            txn.get("tested.rows", b"k")

    def swallow_many(txn: Txn, _: object) -> None:
        with pytest.raises(EngineError):
            txn.get_rows("tested.rows", [b"j", b"k"])

    for handler in (swallow, swallow_many):
        replace_handler(machine, handler)
        with pytest.raises(DamagedError):
            machine.do(PUT)
    assert machine.data.applied == 1


def replace_handler(machine: Machine, apply: Callable[..., object]) -> None:
    name = StringValue.DESCRIPTOR.full_name
    handler = machine.program.handlers[name]._replace(apply=apply)  # type: ignore[arg-type]
    handlers = {**machine.program.handlers, name: handler}
    machine.evaluate_with(replace(machine.program, handlers=handlers))


def test_a_failed_command_is_reported_once_however_often_its_entry_is_stored(
    machine: Machine,
) -> None:
    entry = machine.entry(machine.script(["fail", "KeyError"]))
    disk = machine.home.disks["data.1"]
    disk.failure = StalledError("later")
    for _ in range(3):
        with pytest.raises(StalledError):
            machine.store(entry)
    disk.failure = None
    machine.store(entry)

    assert machine.evaluator.failures == len(machine.failed) == 1


def test_a_command_for_another_slot_writes_nothing(machine: Machine) -> None:
    assert machine.control(slotted(5, 1023)).refusal is None
    outcomes = machine.apply(
        machine.script(PUT, slots=[5, 1023]),
        machine.script(["put", "tested.rows", "x", ""], slots=[5, 6]),
        machine.script(["put", "tested.rows", "y", ""], slots=[])._replace(slotless=True),
        # One of core's own, by the key of its caller.
        machine.script(["put", "tested.rows", "z", ""], slots=[6])._replace(slotless=True),
    )

    assert [outcome.refusal and outcome.refusal.code for outcome in outcomes] == [
        None,
        "WRONG_SHARD",
        None,
        "WRONG_SHARD",
    ]
    assert "slot 6 is not owned by shard tested/3" in str(outcomes[1].refusal)
    assert list(machine.rows("tested.rows")) == [b"k", b"y"]
    machine.open()
    assert machine.applier.slots.owned == {5, 1023}


def test_slots_that_were_adopted_hold_for_the_next_command_of_the_entry(machine: Machine) -> None:
    outcomes = machine.apply(command(slotted(5)), machine.script(PUT, slots=[5]))

    assert [outcome.refusal for outcome in outcomes] == [None, None]


# What is in flight.


def test_a_command_sees_the_effects_of_entries_in_flight_in_their_order(machine: Machine) -> None:
    machine.do(["put", "tested.rows", "a", "1"], ["put", "tested.marks", "m", "1"])
    first = machine.entry(machine.script(["put", "tested.rows", "b", "2"], ["id", "x"]))
    second = machine.entry(
        machine.script(["delete", "tested.rows", "a"], ["clear", "tested.marks", "a", "z"])
    )
    look: list[list[object]] = [
        ["scan", "tested.rows", "a", "z", 9, False],
        ["get", "tested.marks", "m"],
        ["id", "x"],
    ]
    seen = ["b=2", "", 3 << 48 | 2]
    third = machine.entry(machine.script(*look, ["put", "tested.rows", "c", "3"]))
    assert machine.answers(machine.outcomes[4][0]) == seen

    machine.store(first)
    machine.entry(machine.script(*look))
    assert machine.answers(machine.outcomes[5][0])[0] == "b=2 c=3"
    machine.store(second, third)
    assert machine.rows("tested.rows").keys() == {b"b", b"c"}


def test_what_was_in_flight_is_forgotten_with_leadership(machine: Machine) -> None:
    machine.do(["id", "x"])
    machine.entry(machine.script(PUT, ["id", "x"]), command(slotted(5)), at_ms=900)
    machine.evaluator.begin()
    machine.logged = 1
    outcome = machine.do(["get", "tested.rows", "k"], ["id", "x"], ["now"])

    assert machine.answers(outcome) == ["", 3 << 48 | 2, 0]
    [refused] = machine.apply(machine.script(PUT, slots=[5]))
    assert refused.refusal is not None


def test_a_row_that_was_written_last_is_not_read_again(machine: Machine) -> None:
    machine.do(PUT)
    machine.home.disks["data.1"].damage_row("tested.rows", b"k")
    assert machine.read(["get", "tested.rows", "k"]) == ["v"]


def test_rows_that_another_leader_wrote_are_read(machine: Machine) -> None:
    machine.do(PUT)
    other = type(machine)(machine.catalog)
    entry = other.entry(other.script(["put", "tested.rows", "k", "w"]))
    machine.evaluator.begin()
    machine.applier.apply([entry._replace(index=2)])
    machine.evaluator.begin()
    machine.logged = 2
    assert machine.read(["get", "tested.rows", "k"]) == ["w"]


def test_an_operation_is_known_while_its_entry_is_in_flight(machine: Machine) -> None:
    machine.control(OpenSession(ttl_ms=1_000))
    stamp = Stamp(number_at(1 << 20, machine.shard.number), 1, 1)
    first = machine.entry(machine.script(["id", "x"], stamp=stamp))
    again = machine.entry(machine.script(["id", "x"], stamp=stamp))

    assert machine.outcomes[2] == machine.outcomes[3]
    machine.store(first, again)
    assert machine.answers(machine.do(["id", "x"])) == [3 << 48 | 2]


def test_a_handler_may_use_clock_randomness_and_sets(
    new_machine: NewMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs once: every replica holds what the leader came to."""
    leader, follower = new_machine(), new_machine()

    def wild(txn: Txn, _: object) -> None:
        keys = {f"{random.random()} {time.time_ns()}".encode() for _ in range(20)}
        for key in keys:
            txn.put("tested.rows", key, b"")
            txn.put("tested.marks", key, repr(object()).encode())

    replace_handler(leader, wild)
    for _ in range(5):
        entry = leader.entry(leader.script(PUT), checked=leader.applier.checksum_at())
        leader.store(entry)
        follower.store(entry)
        assert follower.digest() == leader.digest()
    assert len(follower.rows("tested.rows")) == 100


# Bounds.


def test_a_write_over_its_budget_of_time_is_warned_of_and_counted(
    new_machine: NewMachine, caplog: pytest.LogCaptureFixture
) -> None:
    now_s = 0.0
    machine = new_machine(clock=lambda: now_s)

    def takes(seconds: float) -> Callable[[Txn, object], None]:
        def handle(_: Txn, __: object) -> None:
            nonlocal now_s
            now_s += seconds

        return handle

    for seconds in (0.25, 3.0):
        replace_handler(machine, takes(seconds))
        machine.do(PUT)

    [warning] = caplog.messages
    assert "StringValue first, took 3000 ms to evaluate; this node did nothing else" in warning
    assert machine.evaluator.slow == 1


SMALL = EvaluationLimits(row_bytes=100, effects_bytes=1_000, reply_bytes=300)


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        (
            [["put", "tested.rows", "k", "v" * 101]],
            "a row of tested.rows would have 101 bytes; at most 100",
        ),
        ([["put", "tested.marks", "k", "v" * 101]], "a row of tested.marks would have 101 bytes"),
        ([["put", "tested.olds", "k", "v" * 101]], "limits.value_bytes"),
        ([["put", "tested.rows", f"{n}", "v" * 90] for n in range(11)], "writes 1"),
        ([["put", "tested.marks", f"{n}", "v" * 99] for n in range(11)], "limits.effects_bytes"),
        ([["emit", "v" * 1_000]], "limits.effects_bytes"),
        ([["answer", 400]], "limits.reply_bytes"),
    ],
)
def test_what_is_too_large_fails_alone_before_it_is_logged(
    new_machine: NewMachine, steps: list[list[object]], told: str
) -> None:
    machine = new_machine(bounds=SMALL)
    before = machine.script(["put", "tested.rows", "x", "v" * 100])
    outcomes = machine.apply(before, machine.script(*steps), machine.script(["answer", 200]))

    refusals = [outcome.refusal for outcome in outcomes]
    assert refusals[0] is refusals[2] is None
    assert refusals[1] is not None
    assert refusals[1].code == "TOO_LARGE"
    assert told in refusals[1].message
    assert list(machine.rows("tested.rows")) == [b"x"]
    assert not machine.rows("tested.marks")
    assert len(machine.rows(EVENTS)[(1).to_bytes(8)]) < 300


def test_an_entry_ends_between_writes_after_its_bytes_or_processor_time(
    new_machine: NewMachine,
) -> None:
    ticks, used = count(), count()

    def clock() -> float:
        return next(ticks) * 0.002

    slow = new_machine(clock=clock, processor=lambda: next(used) * 0.006)
    delayed = new_machine(clock=clock)
    large = new_machine(bounds=EvaluationLimits(entry_bytes=250))
    write = [slow.script(["put", "tested.rows", "k", "v" * 100])] * 2

    assert len(slow.evaluator.evaluate(1, [write] * 9, 0).outcomes) == 3
    assert len(delayed.evaluator.evaluate(1, [write] * 9, 0).outcomes) == 9
    assert len(large.evaluator.evaluate(1, [write] * 9, 0).outcomes) == 2


def test_a_slow_handler_is_named(new_machine: NewMachine, caplog: pytest.LogCaptureFixture) -> None:
    ticks = count()
    machine = new_machine(clock=lambda: next(ticks) * 1.5)
    machine.do(PUT)

    [line] = caplog.records
    assert "1 commands of shard tested/3, google.protobuf.StringValue first, took 1500 ms" in (
        line.getMessage()
    )


def test_the_generation_travels_with_every_entry(machine: Machine) -> None:
    machine.control(RaiseGeneration(generation=4))
    assert machine.data.record.generation == 4
    entry = machine.entry(machine.script(PUT))
    assert effects.decode(entry.payload).head.generation == 4


def test_what_was_evaluated_here_is_stored_as_on_other_replicas(
    machine: Machine, new_machine: NewMachine
) -> None:
    other = new_machine()
    scripts: list[list[list[object]]] = [
        [["put", "tested.rows", "k", "1"], ["put", "tested.rows", "gone", "1"], ["id", "x"]],
        [["put", "tested.rows", "k", "2"], ["delete", "tested.rows", "gone"], ["at", "k", 5]],
    ]
    entries = [machine.entry(machine.script(*steps), at_ms=9) for steps in scripts]
    found = machine.evaluator.evaluated(entries[0])
    assert found is not None
    assert found.names == {"tested.rows"}
    machine.store(*entries)
    other.store(*entries)

    assert machine.digest() == other.digest()
    told = machine.data.touched.those_changed(("tested.rows", "tested.none"), 0)
    assert told == other.data.touched.those_changed(("tested.rows", "tested.none"), 0)
    assert machine.read(["get", "tested.rows", "k"]) == ["2"]


def test_later_entries_leave_what_an_earlier_one_was_evaluated_to(machine: Machine) -> None:
    """They are stored in one batch, which may have to be stored again."""
    entries = [
        machine.entry(machine.script(["put", "tested.rows", "k", value])) for value in ("1", "2")
    ]
    machine.home.disks["data.1"].failure = StalledError("later")
    with pytest.raises(StalledError):
        machine.store(*entries)
    machine.home.disks["data.1"].failure = None
    machine.store(entries[0])

    row = machine.data.get("tested.rows", b"k")
    assert row is not None
    assert row.endswith(b"1")


def test_only_the_entry_that_was_logged_is_known(machine: Machine) -> None:
    entry = machine.entry(machine.script(["put", "tested.rows", "k", "1"]))
    read = entry._replace(payload=bytes(bytearray(entry.payload)))
    assert machine.evaluator.evaluated(read) is None
    assert machine.evaluator.evaluated(entry) is not None
    machine.evaluator.begin()

    assert machine.evaluator.evaluated(entry) is None
