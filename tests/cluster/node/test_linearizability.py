"""What clients see of a cluster that is killed, paused and cut can have happened in one order."""

from __future__ import annotations

import asyncio
import random

import pytest

from tests.support.cluster_faults import FAULTS, disturb
from tests.support.linearizability import Written, check
from tests.support.linearizability.load import Load, Plan
from tests.support.proxied_cluster import ProxiedCluster
from tests.support.reach import Reach

OPERATIONS = 2_000
SEEDS = range(20)


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=pytest.mark.full if seed else pytest.mark.ci) for seed in SEEDS],
)
async def test_every_history_is_linearizable(proxied: ProxiedCluster, seed: int) -> None:
    rng = random.Random(seed)
    kinds = rng.sample(sorted(FAULTS), 2)
    print(f"seed {seed}: {' and '.join(kinds)}")
    addresses = [node.address for node in proxied.nodes.values()]
    async with Reach(addresses) as reach:
        load = Load(reach, Plan(seed=seed, operations=OPERATIONS))
        async with asyncio.TaskGroup() as group:
            running = group.create_task(load.run())
            group.create_task(disturb(proxied, load.reached, kinds, OPERATIONS, rng))
        history = running.result()
    assert len(history) >= OPERATIONS
    written = sum(isinstance(each.outcome, Written) for each in history)
    assert written >= OPERATIONS / 10
    violation = check(history)
    assert violation is None, f"seed {seed}: {violation}"
