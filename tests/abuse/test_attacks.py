"""Every attack is held off by a cluster of real nodes."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from tests.abuse.__main__ import made, target_of
from tests.abuse.attack import attacks


@pytest.mark.ci
@pytest.mark.parametrize("name", attacks())
def test_a_cluster_holds_it_off(name: str, tmp_path: Path) -> None:
    """The attack returns its figures; `Broken` is an assertion that failed."""
    attack = attacks()[name]
    with made(attack, tmp_path) as cluster:
        target = target_of(attack, cluster.ready())
        print(asyncio.run(attack.run(target)))
