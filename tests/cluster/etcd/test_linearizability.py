"""Clients of etcd see nodes that are killed, paused and cut off as if all happened in one order."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from quorate.testing.cluster import QUICK_ELECTIONS

from tests.cluster.etcd.single_keys import ask_keys
from tests.support.cluster_faults import FAULTS, disturb
from tests.support.etcd.ours import open_ports
from tests.support.linearizability import Written, check
from tests.support.linearizability.load import Load, Plan
from tests.support.proxied_cluster import ProxiedCluster
from tests.support.reach import Reach

OPERATIONS = 2_000
SEEDS = range(20)


class Doors(NamedTuple):
    """Nodes, and where their clients reach them, each through a proxy."""

    cluster: ProxiedCluster
    addresses: list[str]


@pytest.fixture(scope="module")
def doors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Doors]:
    """Start three nodes for all tests of the module: each leaves them whole."""
    cluster = ProxiedCluster(
        tmp_path_factory.mktemp("proxied"),
        plugins=["etcd"],
        settings={"timing": QUICK_ELECTIONS},
        shard="etcd/0",
    )
    ports = open_ports(cluster)
    with cluster:
        addresses = [cluster.front(name, f"127.0.0.1:{port}") for name, port in ports.items()]
        cluster.ready()
        yield Doors(cluster, addresses)


@pytest.mark.parametrize(
    "seed",
    [pytest.param(seed, marks=pytest.mark.full if seed else pytest.mark.ci) for seed in SEEDS],
)
async def test_every_history_is_linearizable(doors: Doors, seed: int) -> None:
    rng = random.Random(seed)
    kinds = rng.sample(sorted(FAULTS), 2)
    print(f"seed {seed}: {' and '.join(kinds)}")
    async with Reach(doors.addresses) as reach:
        load = Load(reach, Plan(seed=seed, operations=OPERATIONS), ask_keys)
        async with asyncio.TaskGroup() as group:
            running = group.create_task(load.run())
            group.create_task(disturb(doors.cluster, load.reached, kinds, OPERATIONS, rng))
        history = running.result()
    assert len(history) >= OPERATIONS
    written = sum(isinstance(each.outcome, Written) for each in history)
    assert written >= OPERATIONS / 10
    violation = check(history)
    assert violation is None, f"seed {seed}: {violation}"
