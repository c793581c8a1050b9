"""Shards are split and merged while everything goes wrong: each key is in one, as it was left."""

import pytest

from tests.support.sim.profile import USUAL_S
from tests.support.sim.report import Coverage, failure
from tests.support.sim.seeds import run_seeds, run_split_seed

#: What the runs together must have met.
SEEN = (
    "acknowledged",
    "deaths at failpoints",
    "lists",
    "merges begun",
    "power losses",
    "reads",
    "resyncs",
    "session commands",
    "snapshots installed",
    "splits begun",
    "splits refused",
    "watched events",
)


def all_clean(seeds: range) -> Coverage:
    covered = Coverage()
    for outcome in run_seeds(seeds, one=run_split_seed):
        assert outcome.violation is None, failure(outcome, USUAL_S, splits=True)
        covered.add(outcome)
    print(f"\n{covered}")
    return covered


def test_a_seed_is_clean() -> None:
    all_clean(range(9, 10))


@pytest.mark.ci
def test_ten_seeds_are_clean() -> None:
    covered = all_clean(range(11, 21))
    assert all(covered.counts[what] for what in SEEN), covered


@pytest.mark.full
@pytest.mark.timeout(3_600)
def test_three_hundred_seeds_are_clean() -> None:
    covered = all_clean(range(1_000, 1_300))
    wanted = (*SEEN, "merges cancelled", "splits cancelled")
    assert all(covered.counts[what] >= 50 for what in wanted), covered
