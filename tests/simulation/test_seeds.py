import pytest
from quorate.testing.sim.report import Coverage, failure
from quorate.testing.sim.seeds import run_seeds

SECONDS = 20.0


def _all_clean(seeds: range, seconds: float) -> Coverage:
    covered = Coverage()
    for outcome in run_seeds(seeds, seconds=seconds):
        assert outcome.violation is None, failure(outcome, seconds)
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
    )
    return all(covered.counts[what] >= 10 for what in seen) and covered.elections > 100


@pytest.mark.short
def test_forty_seeds_are_clean() -> None:
    assert _saw_everything(_all_clean(range(1, 41), SECONDS))


@pytest.mark.timeout(900)
def test_three_hundred_seeds_are_clean() -> None:
    assert _saw_everything(_all_clean(range(1000, 1300), SECONDS))
