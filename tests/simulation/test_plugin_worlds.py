"""Processes that crash, come back and hear late: what the plugins that they use promise holds.

No task is two workers', and progress stays. Nothing that engines acknowledged is lost.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import pytest

from tests.support.connector.simulation.bugs import BUGS as CONNECTOR_BUGS
from tests.support.connector.simulation.world import ConnectorWorld
from tests.support.plugin_world import Bug, World, run_seeds
from tests.support.storage_engine.simulation.bugs import BUGS as ENGINE_BUGS
from tests.support.storage_engine.simulation.world import EngineWorld

#: The most seeds that a bug may take.
MOST: Final = 500


class Case(NamedTuple):
    """A world, its bugs, and all that there is to judge in it."""

    new: Callable[[int], World]
    bugs: Mapping[str, Bug]
    seen: tuple[str, ...]


CASES: Final = {
    "connector": Case(
        ConnectorWorld,
        CONNECTOR_BUGS,
        (
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
        ),
    ),
    "storage_engine": Case(
        EngineWorld,
        ENGINE_BUGS,
        (
            "NOT_LEADER",
            "SHARD_DELETING",
            "STALE_BROKER_EPOCH",
            "STALE_SEGMENT_EPOCH",
            "acknowledged",
            "crashes",
            "drops",
            "elections",
            "expiries",
            "in-sync replicas changed",
            "next segments",
            "registered again",
            "replicas added",
            "unavailable",
        ),
    ),
}

each_world = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def judge(case: Case, seeds: range) -> None:
    """Run seeds: they find nothing, and meet all that there is to judge."""
    outcome = run_seeds(case.new, seeds)
    assert not outcome.violation
    assert all(outcome.counts[what] >= 5 for what in case.seen), outcome.counts


@pytest.mark.ci
@each_world
def test_forty_seeds_are_clean(case: Case) -> None:
    judge(case, range(1, 41))


@pytest.mark.full
@pytest.mark.timeout(900)
@each_world
def test_three_hundred_seeds_are_clean(case: Case) -> None:
    judge(case, range(1_000, 1_300))


@each_world
def test_a_seed_does_the_same_again(case: Case) -> None:
    assert run_seeds(case.new, [7]).counts == run_seeds(case.new, [7]).counts


@pytest.mark.full
@pytest.mark.timeout(900)
@pytest.mark.parametrize(
    ("world", "bug"), [(world, bug) for world, case in CASES.items() for bug in case.bugs]
)
def test_the_bug_is_found_and_its_seed_is_clean_without_it(world: str, bug: str) -> None:
    case = CASES[world]
    outcome = run_seeds(case.new, range(1, MOST + 1), case.bugs[bug])

    assert outcome.violation, f"{bug}: {MOST} seeds did not find it; the simulation has a hole"
    print(f"\n{bug}: {outcome.seeds} seeds: {outcome.violation}")
    clean = run_seeds(case.new, [outcome.seeds])
    assert not clean.violation, clean.violation
