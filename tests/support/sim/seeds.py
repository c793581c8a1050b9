"""Runs many seeds, on several processors."""

import logging
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context

from tests.support.sim.bugs import BUGS, Bug, splits
from tests.support.sim.profile import USUAL_S, mixed
from tests.support.sim.simulation import Outcome, simulate
from tests.support.sim.splits import run


def run_seed(seed: int, *, seconds: float = USUAL_S, bug: str | None = None) -> Outcome:
    """Run one seed as it is always run: in its own profile, or in that of a bug, switched on."""
    # What nodes say of the faults that are put on them is no news here.
    logging.getLogger("quorate").setLevel(logging.CRITICAL)
    if bug is None:
        return simulate(seed, mixed(seed, seconds))
    with BUGS[bug].switched_on():
        return _simulate(seed, BUGS[bug])


def run_split_seed(seed: int, *, seconds: float = USUAL_S) -> Outcome:
    """Run one seed of the world whose shards are split."""
    logging.getLogger("quorate").setLevel(logging.CRITICAL)
    return run.simulate(seed, run.splitting(seed, seconds))


def _simulate(seed: int, bug: Bug) -> Outcome:
    """Run a seed in the world of a bug, whether that is switched on or not."""
    return (run.simulate if bug.gap == splits.GAP else simulate)(seed, bug.profile)


def run_seeds(
    seeds: Iterable[int],
    *,
    seconds: float = USUAL_S,
    processors: int | None = None,
    one: Callable[..., Outcome] = run_seed,
) -> Iterator[Outcome]:
    """Run seeds in parallel; the outcomes come in the order of the seeds."""
    with ProcessPoolExecutor(processors, mp_context=get_context("spawn")) as pool:
        yield from pool.map(partial(one, seconds=seconds), seeds)


@dataclass(frozen=True, slots=True)
class Found:
    """How a bug was found."""

    #: How many seeds it took.
    seeds: int
    #: What the last of them found; None when the bug was not found.
    outcome: Outcome | None
    #: What one of the seeds found without the bug: that must be None.
    without: Outcome | None


def find(bug: str, most: int) -> Found:
    """Run seeds with a bug until one finds it, and then the same ones without it."""
    outcomes = (run_seed(seed, bug=bug) for seed in range(1, most + 1))
    found = next((each for each in outcomes if each.violation is not None), None)
    seeds = most if found is None else found.seed
    clean = (_simulate(seed, BUGS[bug]) for seed in range(1, seeds + 1))
    return Found(seeds, found, next((each for each in clean if each.violation is not None), None))
