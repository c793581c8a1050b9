"""`quorate plan`, and the model behind it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from quorate.cli.costs import (
    FIGURES,
    PLANNED,
    SHARD_ROWS,
    Demand,
    Machine,
    most,
    most_members,
    only,
    plan,
)
from quorate.cli.failures import ExitCode
from quorate.cli.main import main

ASKED = Demand(sessions=100e6, writes=50e3)


def test_it_finds_the_fewest_machines() -> None:
    demand = replace(ASKED, writes=500e3)
    machine = Machine(cores=32)
    found = plan(demand, machine)
    assert found.fits
    assert not plan(demand, machine, found.nodes - 1).fits


@pytest.mark.parametrize(
    ("demand", "breaks"),
    [
        (Demand(writes=1e6), "processor, each machine"),
        (Demand(sessions=1e10), "rows, each shard"),
        (Demand(sessions=3e9), "disk, each machine"),
        (Demand(watches=1e9), "memory, each machine"),
    ],
)
def test_what_is_too_much_for_three_machines_is_named(demand: Demand, breaks: str) -> None:
    found = plan(demand, Machine(), 3)
    assert not found.fits
    if breaks.startswith("rows"):
        # Disks are too small as well: three machines hold the shards of no such number.
        assert any(each.what == breaks and not each.fits for each in found.uses)
    else:
        assert found.fullest.what == breaks


def test_what_no_number_of_machines_carries_is_said_with_what_comes_nearest() -> None:
    found = plan(Demand(writes=1e9), Machine())
    assert not found.fits
    assert found.fullest.needs > 0


def test_the_most_of_something_fits_and_no_more() -> None:
    for kind in ("sessions", "writes", "batched", "reads", "watches", "events"):
        amount = most(Machine(), 3, kind)
        assert plan(only(kind, amount), Machine(), 3).fits
        assert not plan(only(kind, 1.01 * amount), Machine(), 3).fits


def test_workers_are_as_many_as_metadata_can_lead() -> None:
    for nodes in (3, 50, 300, 800):
        found = plan(Demand(), Machine(), nodes)
        assert found.nodes * found.workers <= most_members()
        assert found.fits
    assert plan(Demand(), Machine(), 3).workers == 16


def test_shards_are_never_larger_than_what_was_measured() -> None:
    found = plan(Demand(sessions=1e9), Machine(), 30)
    assert found.shards * SHARD_ROWS >= 1e9


def test_a_write_costs_what_its_replicas_do() -> None:
    def used(replicas: int) -> float:
        one, more = (
            plan(Demand(writes=rate, replicas=replicas), Machine(), 3).uses[0].needs
            for rate in (0.0, 1e6)
        )
        return (more - one) * 3

    leader, follower = FIGURES["write_leader"].value, FIGURES["write_follower"].value
    assert used(1) == pytest.approx(leader)
    assert used(3) == pytest.approx(leader + 2 * follower)


def test_it_prints_what_is_needed_and_what_breaks(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--sessions", "100M", "--writes", "50k"]) == ExitCode.OK
    said = capsys.readouterr().out
    assert said.startswith("3 machines with 16 cores and 64 GB, [node] workers = 16, 96 shards")
    assert f"{PLANNED:.0%} of each may be used" in said
    assert "the first limit reached is processor, each machine" in said.replace("\n", " ")


def test_in_json_it_is_one_object(capsys: pytest.CaptureFixture[str]) -> None:
    asked = ["plan", "--sessions", "1.5G", "--nodes", "30", "--output", "json"]
    assert main(asked) == ExitCode.OK
    said = json.loads(capsys.readouterr().out)
    assert (said["nodes"], said["workers"], said["fits"]) == (30, 16, True)
    assert {each["what"] for each in said["uses"]} >= {"memory, each machine", "one topology"}


def test_what_the_machines_do_not_carry_fails(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["plan", "--writes", "1M", "--nodes", "3"]) == ExitCode.FAILED
    assert "processor, each machine: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--writes", "many"], "'many' is not a number such as 50000, 50k or 1.5M"),
        (["--writes", "-1"], "'-1' is not a number such as"),
        (["--writes", "1kk"], "'1kk' is not a number such as"),
        (["--writes", "nan"], "'nan' is not a number such as"),
        (["--nodes", "2"], "3 replicas need as many machines, but --nodes is 2"),
        (["--nodes", "0"], "0 is not in the range"),
        (["--replicas", "10"], "10 is not in the range"),
    ],
)
def test_bad_input_is_refused(
    options: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["plan", *options]) == ExitCode.USAGE
    assert said in capsys.readouterr().err
