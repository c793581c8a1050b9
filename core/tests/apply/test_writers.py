"""Who last wrote a row: kept with the row while the setting is on, and with no other."""

from collections.abc import Callable

import pytest
from quorate.apply.evaluator import EvaluationLimits
from quorate.apply.writers import Writer
from quorate.plugin.catalog import build
from quorate.storage.families import WRITERS
from quorate.v1 import control_pb2

from core.tests.apply.conftest import Machine, Step

ON = EvaluationLimits(writers=True)
ROWS, OLDS, MARKS = "tested.rows", "tested.olds", "tested.marks"


@pytest.fixture
def kept(new_machine: Callable[..., Machine]) -> Machine:
    return new_machine(bounds=ON)


def do(machine: Machine, who: str, *steps: Step, at_ms: int = 0) -> int:
    """Carry out a script of somebody, and return its revision."""
    command = machine.script(*steps)._replace(caller=who)
    [outcome] = machine.apply(command, at_ms=at_ms)
    return outcome.revision


def writer(machine: Machine, family: str, key: str) -> Writer | None:
    """Return the writer of a row that is there."""
    reader = machine.applier.reader(frozenset({family}))
    row = reader.get_row(family, key.encode())
    assert row is not None
    return reader.writer(family, row)


def test_the_last_writer_counts(kept: Machine) -> None:
    first = do(kept, "ada", ["put", ROWS, "a", "1"], ["put", OLDS, "a", "1"], at_ms=5)
    second = do(kept, "eve", ["put", ROWS, "a", "2"], at_ms=9)

    assert writer(kept, ROWS, "a") == Writer(second, 9, "eve")
    assert writer(kept, OLDS, "a") == Writer(first, 5, "ada")


def test_the_cluster_itself_has_no_name(kept: Machine) -> None:
    do(kept, "ada", ["put", ROWS, "a", "1"])
    expired = do(kept, "", ["put", ROWS, "a", "2"])

    assert writer(kept, ROWS, "a") == Writer(expired, 0, "")


def test_what_is_carried_out_with_a_command_has_its_writer(kept: Machine) -> None:
    kept.control(control_pb2.AdoptSlots(version=1, slots=b"\xff" * 128))
    at = do(kept, "ada", ["carry out", [["put", ROWS, "a", "1"]]])

    assert writer(kept, ROWS, "a") == Writer(at, 0, "ada")


def test_a_writer_goes_with_its_row(kept: Machine) -> None:
    do(kept, "ada", ["put", ROWS, "a", "1"], ["put", OLDS, "a", "1"])
    do(kept, "eve", ["delete", ROWS, "a"], ["delete", OLDS, "a"])

    assert kept.rows(WRITERS) == {}


def test_a_refused_command_writes_nothing(kept: Machine) -> None:
    do(kept, "ada", ["put", ROWS, "a", "1"])
    before = kept.rows(WRITERS)
    do(kept, "eve", ["put", ROWS, "a", "2"], ["reject", "ABORTED"])

    assert kept.rows(WRITERS) == before


def test_indexes_and_copies_have_no_writers(kept: Machine) -> None:
    do(kept, "ada", ["put", MARKS, "a", "1"])
    row = control_pb2.MirroredRow(key=b"k", value=b"v", revision=1)
    kept.control(
        control_pb2.AdoptMirror(
            family="tested.facts", generation=1, revision=1, reset=True, rows=[row]
        )
    )

    assert kept.rows("tested.facts")
    assert kept.rows(WRITERS) == {}


def test_a_row_that_was_written_while_it_was_off_has_no_writer(kept: Machine) -> None:
    do(kept, "ada", ["put", ROWS, "a", "1"])
    kept.bounds = EvaluationLimits()
    kept.open()
    do(kept, "eve", ["put", ROWS, "a", "2"])

    assert writer(kept, ROWS, "a") is None


def test_off_it_costs_no_byte(new_machine: Callable[..., Machine]) -> None:
    off = new_machine()
    do(off, "ada", ["put", ROWS, "a", "1"])

    assert off.rows(WRITERS) == {}
    assert writer(off, ROWS, "a") is None


def test_a_purge_takes_the_writers_along(kept: Machine) -> None:
    do(kept, "ada", ["put", ROWS, "a", "1"])
    assert kept.rows(WRITERS)
    kept.catalog = build([])
    kept.open()
    for _ in range(3):
        kept.control(control_pb2.PurgePlugin(plugin="tested"))

    assert kept.rows(WRITERS) == {}
