"""Curator's recipes, with clients of their own on three nodes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support.zookeeper import kafka
from tests.support.zookeeper.cluster import ZooKeeperDoors

pytestmark = [pytest.mark.full, pytest.mark.timeout(600)]

CURATOR = Path(kafka.__file__).parent / "curator"


@pytest.fixture(autouse=True, scope="session")
def class_path() -> str:
    if why := kafka.missing(CURATOR):
        pytest.skip(why)
    return kafka.class_path(CURATOR)


def test_recipes_are_played_to_the_end(tmp_path: Path, class_path: str) -> None:
    with ZooKeeperDoors(tmp_path) as cluster:
        cluster.ready()
        command = ["java", "-Xmx128m", "-cp", class_path, str(CURATOR / "Recipes.java")]
        done = subprocess.run(
            [*command, cluster.hosts], capture_output=True, text=True, timeout=300, check=False
        )
    assert "played all" in done.stdout, done.stdout + done.stderr[-4_000:]
