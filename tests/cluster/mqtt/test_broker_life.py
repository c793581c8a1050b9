"""The example of a broker: two of them, one is killed, and the other takes its clients over."""

from __future__ import annotations

import asyncio
import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

import pytest
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster
from quorate.testing.waiting import PATIENCE_S

EXAMPLE = Path(__file__).parents[3] / "examples" / "broker"
SETTINGS: Mapping[str, Mapping[str, object]] = {
    "timing": QUICK_ELECTIONS,
    "groups": {"mqtt": {"shards": 2}},
}


@pytest.mark.ci
async def test_a_broker_takes_over_the_clients_of_one_that_was_killed(tmp_path: Path) -> None:
    story = loaded(EXAMPLE / "story.py")
    told: list[str] = []
    with Cluster(tmp_path, plugins=["mqtt"], settings=SETTINGS) as cluster:
        cluster.ready()
        async with asyncio.timeout(2 * PATIENCE_S):
            await story.tell(cluster.endpoints, told.append)

    [shown] = re.findall(
        r"^```text\n(.+?)^```$", (EXAMPLE / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    assert told == shown.splitlines()


def loaded(path: Path) -> ModuleType:
    """Return a script as a module, without running it."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
