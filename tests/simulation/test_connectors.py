"""Workers that die, come back and hear late: no task is two workers', and progress stays."""

import pytest

from tests.support.connector.simulation.bugs import BUGS
from tests.support.connector.simulation.seeds import Outcome, run_seeds

#: The most seeds that a bug may take.
MOST = 500


def _saw_everything(outcome: Outcome) -> bool:
    """Tell whether the runs met all that there is to judge."""
    seen = (
        "BROKER_UNKNOWN",
        "CURSOR_CONFLICT",
        "FENCED",
        "NOT_FOUND",
        "TASK_STATE_FAILED",
        "TASK_STATE_PAUSED",
        "TASK_STATE_RUNNING",
        "TASK_STATE_STOPPED",
        "assigned",
        "crashes",
        "created",
        "expiries",
        "progress",
    )
    return all(outcome.counts[what] >= 5 for what in seen)


@pytest.mark.ci
def test_forty_seeds_are_clean() -> None:
    outcome = run_seeds(range(1, 41))

    assert not outcome.violation
    assert _saw_everything(outcome), outcome.counts


@pytest.mark.full
@pytest.mark.timeout(900)
def test_three_hundred_seeds_are_clean() -> None:
    outcome = run_seeds(range(1_000, 1_300))

    assert not outcome.violation
    assert _saw_everything(outcome), outcome.counts


def test_a_seed_does_the_same_again() -> None:
    assert run_seeds([7]).counts == run_seeds([7]).counts


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize("bug", BUGS)
def test_the_bug_is_found_and_its_seed_is_clean_without_it(bug: str) -> None:
    outcome = run_seeds(range(1, MOST + 1), bug=bug)

    assert outcome.violation, f"{bug}: {MOST} seeds did not find it; the simulation has a hole"
    print(f"\n{bug}: {outcome.seeds} seeds: {outcome.violation}")
    clean = run_seeds([outcome.seeds])
    assert not clean.violation, clean.violation
