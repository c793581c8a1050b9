"""etcd's own Go client and its recipes, against three nodes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.etcd.programs import RELEASE, built, ran
from tests.support.etcd import ours

pytestmark = [pytest.mark.full, pytest.mark.timeout(1_500)]


def test_locks_elections_transactions_and_watches(tmp_path: Path) -> None:
    (tmp_path / "go").mkdir()
    program = built("recipes", tmp_path / "go", [f"go.etcd.io/etcd/client/v3@{RELEASE}"])
    with ours.started(tmp_path / "nodes", 3) as nodes:
        endpoints = ",".join(f"127.0.0.1:{port}" for port in nodes.ports.values())
        code, said = ran(program, endpoints, within_s=400)
    assert (code, said.splitlines()) == (
        0,
        ["locks 50", "elections 5", "stm 950 50", "watches 50"],
    )
