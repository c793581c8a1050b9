"""The page on scale quotes the figures of the model, and what follows from them."""

from __future__ import annotations

import re
from math import floor, log10
from pathlib import Path

import pytest
from quorate.cli.costs import (
    FIGURES,
    PLANNED,
    SHARD_ROWS,
    US,
    Demand,
    Machine,
    most,
    most_members,
    only,
    plan,
)
from quorate.cli.main import main
from quorate.config.members import SLOTS

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "scale.md").read_text(encoding="utf-8")
#: It does not matter where lines end.
PROSE = " ".join(PAGE.split())
MACHINES = (3, 30, 300)
KINDS = {
    "sessions kept": "sessions",
    "single writes/s": "writes",
    "rows in batches/s": "batched",
    "single reads/s": "reads",
    "open watches": "watches",
    "events of watches/s": "events",
}


def rounded(amount: float) -> int:
    """Return a number with two digits, rounded down."""
    unit = 10.0 ** (floor(log10(amount)) - 1)
    return round(floor(amount / unit) * unit)


def test_the_costs_are_those_of_the_model() -> None:
    told = re.findall(r"^\| (.+?) \| ([\d,.]+) (\S+) \| `(.+?)` \|$", PAGE, re.MULTILINE)
    assert [
        (meaning, float(value.replace(",", "")), unit, command)
        for meaning, value, unit, command in told
    ] == [(each.meaning, each.value, each.unit, each.command) for each in FIGURES.values()]


def test_every_command_is_there() -> None:
    for each in FIGURES.values():
        program, *_ = each.command.split()
        assert (ROOT / "benchmarks" / program).exists(), each.command


@pytest.mark.parametrize("line", KINDS)
def test_what_machines_carry_is_what_the_model_says(line: str) -> None:
    [cells] = re.findall(rf"^\| {re.escape(line)} \| (.+) \|$", PAGE, re.MULTILINE)
    *amounts, breaks = cells.split(" | ")
    kind, told = KINDS[line], [int(each.replace(",", "")) for each in amounts]
    found = [most(Machine(), nodes, kind) for nodes in MACHINES]
    assert told == [rounded(each) for each in found]
    first = [
        plan(only(kind, amount), Machine(), nodes).fullest.what
        for nodes, amount in zip(MACHINES, found, strict=True)
    ]
    assert breaks.split("; ") == list(dict.fromkeys(first))


def test_the_workers_of_the_machines_are_those_of_the_model() -> None:
    [cells] = re.findall(r"^\| `\[node\] workers` \| (.+) \| \|$", PAGE, re.MULTILINE)
    assert [int(each) for each in cells.split(" | ")] == [
        plan(Demand(), Machine(), nodes).workers for nodes in MACHINES
    ]


def test_where_it_stops_is_where_the_model_does() -> None:
    assert round(most_members(), -1) == 850
    assert "At about 850 members" in PROSE
    assert most_members() // 16 == 53
    assert "Up to 53 machines have 16 workers" in PROSE
    assert f"{SLOTS * SHARD_ROWS / 1e9:.1f} billion rows" in PROSE
    single, batched = (
        PLANNED / (FIGURES[name].value * US) for name in ("write_leader", "batched_leader")
    )
    assert f"some {round(single, -2):,.0f} single writes or {round(batched, -3):,.0f} rows" in PROSE


def test_the_example_is_what_it_prints(capsys: pytest.CaptureFixture[str]) -> None:
    [asked, shown] = re.findall(r"^\$ quorate (.+)\n((?:.+\n)+?)```", PAGE, re.MULTILINE)[0]
    assert main(asked.split()) == 0
    said = capsys.readouterr().out.splitlines()
    assert [said[0], "...", said[-1]] == shown.splitlines()
