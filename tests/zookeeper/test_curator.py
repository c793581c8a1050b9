"""Curator's recipes, with clients of their own on three nodes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support import maven
from tests.support.zookeeper import cluster as zookeeper
from tests.support.zookeeper.cluster import ZooKeeperDoors

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

CURATOR = Path(zookeeper.__file__).parent / "curator"


@pytest.fixture(autouse=True, scope="session")
def _stock_parts() -> None:
    if why := maven.missing(CURATOR):
        pytest.skip(why)


def test_recipes_are_played_to_the_end(tmp_path: Path) -> None:
    with ZooKeeperDoors(tmp_path) as cluster:
        cluster.ready()
        command = maven.java(CURATOR, str(CURATOR / "Recipes.java"), cluster.hosts)
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert "played all" in done.stdout, done.stdout + done.stderr[-4_000:]
