"""The commands of every plugin on simulated clusters: consensus, logs, disks, snapshots and all."""

from __future__ import annotations

import pytest
from quorate.testing.installed import catalog_of

from tests.support.sim.plugins import simulate

BESIDE = ("cluster", "resource", "tenant")


@pytest.mark.ci
@pytest.mark.parametrize(
    "plugin",
    ["cluster", "connector", "kv", "mqtt", "offset", "schema", "storage_engine", "zookeeper"],
)
def test_commands_survive_faults(plugin: str) -> None:
    catalog = catalog_of([plugin, *BESIDE])
    examples = [
        example for command in catalog.declared[plugin].commands for example in command.examples
    ]
    for seed in (1, 2, 3):
        counts = simulate(catalog, [*examples, *examples], seed=seed, seconds=3.0)
        assert counts["acknowledged"]
