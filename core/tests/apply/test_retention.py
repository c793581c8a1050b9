from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from quorate.apply.applier import ApplyLimits
from quorate.storage.events import EventLog, HistoryGoneError
from quorate.storage.families import EVENTS
from quorate.v1.control_pb2 import TrimHistory

if TYPE_CHECKING:
    from core.tests.apply.conftest import Machine

NewMachine = Callable[..., "Machine"]

LIMITS = ApplyLimits(retained_entries=10, retained_ms=300_000)


def indexes(machine: Machine) -> list[int]:
    return [int.from_bytes(key) for key in machine.rows(EVENTS) if len(key) == 8]


def busy(machine: Machine, count: int, *, step_ms: int) -> None:
    for _ in range(count):
        machine.do(["put", "tested.rows", "k", "v"], at_ms=machine.applier.now_ms + step_ms)


def test_entries_go_that_are_too_many_and_too_old(new_machine: NewMachine) -> None:
    machine = new_machine(limits=LIMITS)
    busy(machine, 30, step_ms=100_000)

    assert indexes(machine) == list(range(21, 31))
    log = EventLog(machine.data)
    assert log.oldest == 21
    with pytest.raises(HistoryGoneError):
        log.read(20 << 20, max_rows=1, max_bytes=1)


def test_nothing_goes_that_is_younger_than_five_minutes(new_machine: NewMachine) -> None:
    machine = new_machine(limits=LIMITS)
    busy(machine, 40, step_ms=1_000)
    assert indexes(machine) == list(range(1, 41))
    # The age is by logical time: it passes with the next entries alone.
    busy(machine, 1, step_ms=290_001)

    assert indexes(machine) == list(range(31, 42))


def test_nothing_goes_by_age_alone(new_machine: NewMachine) -> None:
    machine = new_machine(limits=LIMITS)
    busy(machine, 9, step_ms=1_000_000)

    assert indexes(machine) == list(range(1, 10))


def test_by_default_many_entries_are_kept() -> None:
    assert ApplyLimits().retained_entries == 100_000
    assert ApplyLimits().retained_ms == 5 * 60 * 1_000


def test_notes_of_times_are_few_and_go_with_their_entries(new_machine: NewMachine) -> None:
    machine = new_machine(limits=ApplyLimits(retained_entries=640, retained_ms=1))
    busy(machine, 1_500, step_ms=10)

    notes = [key for key in machine.rows(EVENTS) if len(key) > 12]
    assert len(notes) == 64
    assert indexes(machine)[0] == 1_500 - 640 + 1


def test_events_up_to_an_entry_go_as_its_leader_says(new_machine: NewMachine) -> None:
    machine = new_machine(limits=LIMITS)
    busy(machine, 8, step_ms=1_000)
    machine.control(TrimHistory(index=5))

    assert indexes(machine) == [6, 7, 8]
    log = EventLog(machine.data)
    assert log.oldest == 6
    with pytest.raises(HistoryGoneError):
        log.read(5 << 20, max_rows=1, max_bytes=1)
    assert log.read(6 << 20, max_rows=9, max_bytes=1 << 20)[0]
    # What is gone already changes nothing.
    machine.control(TrimHistory(index=3))
    assert (indexes(machine), log.oldest) == ([6, 7, 8], 6)


def test_trimming_by_age_goes_on_from_what_its_leader_trimmed(new_machine: NewMachine) -> None:
    machine = new_machine(limits=ApplyLimits(retained_entries=128, retained_ms=1))
    busy(machine, 100, step_ms=10)
    machine.control(TrimHistory(index=90))
    busy(machine, 20, step_ms=10)
    assert EventLog(machine.data).oldest == 91

    busy(machine, 200, step_ms=10)
    assert EventLog(machine.data).oldest == indexes(machine)[0] > 190
