import pytest

from tests.support.sim.profile import USUAL_S
from tests.support.sim.report import Coverage, failure
from tests.support.sim.seeds import run_seeds


def _all_clean(seeds: range) -> Coverage:
    covered = Coverage()
    for outcome in run_seeds(seeds):
        assert outcome.violation is None, failure(outcome, USUAL_S)
        covered.add(outcome)
    print(f"\n{covered}")
    return covered


def _saw_everything(covered: Coverage) -> bool:
    """Tell whether the runs met all that invariants are there to judge."""
    seen = (
        "acknowledged",
        "reads",
        "crashes",
        "power losses",
        "emptied disks",
        "membership changes",
        "transfers",
        "snapshots installed",
        "snapshots given up",
        "deaths at failpoints",
        "expired sessions",
        "expiries",
        "resyncs",
        "session commands",
        "stale reads",
        "rests",
        "watched events",
    )
    return all(covered.counts[what] >= 5 for what in seen) and covered.elections > 100


def test_a_seed_is_clean() -> None:
    _all_clean(range(51, 52))


@pytest.mark.ci
def test_forty_seeds_are_clean() -> None:
    assert _saw_everything(_all_clean(range(1, 41)))


@pytest.mark.full
@pytest.mark.timeout(900)
def test_three_hundred_seeds_are_clean() -> None:
    assert _saw_everything(_all_clean(range(1000, 1300)))
