"""Runs seeds, and tells what the first one found."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Final

from tests.support.storage_engine.simulation.bugs import BUGS
from tests.support.storage_engine.simulation.world import World

#: How much happens in one run.
STEPS: Final = 400


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came of some seeds, up to the first violation."""

    seeds: int = 0
    #: What was violated, and by which seed; empty: nothing was.
    violation: str = ""
    counts: Counter[str] = field(default_factory=Counter)


def run_seeds(seeds: Iterable[int], *, bug: str = "") -> Outcome:
    """Run seeds with a bug switched on, or none, until one finds a violation."""
    outcome = Outcome()
    for seed in seeds:
        world = World(seed)
        outcome.seeds += 1
        try:
            with BUGS[bug]() if bug else nullcontext():
                asyncio.run(world.run(STEPS))
        except AssertionError as violation:
            outcome.violation = f"seed {seed}: {violation}"
            break
        finally:
            outcome.counts += world.counts
    return outcome
