"""`quorate tenant` against a node that is complete."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from quorate.cli.main import main
from quorate.testing.cluster import Cluster


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("tenants"), nodes=1) as cluster:
        yield cluster.ready()


@pytest.fixture
def tenant(
    node: Cluster,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> Callable[..., tuple[int, Any]]:
    monkeypatch.setenv("QUORATE_ENDPOINTS", node.endpoints)
    monkeypatch.chdir(tmp_path)

    def call(*args: str) -> tuple[int, Any]:
        code = main(["tenant", *args, "--output", "json"])
        told = capsys.readouterr()
        return code, json.loads(told.out) if code == 0 else told.err

    return call


def test_a_tenant_from_its_creation_to_its_end(tenant: Callable[..., tuple[int, Any]]) -> None:
    row = {"name": "a", "deleting": False, "waits_for": []}
    made = tenant("put", "a", "--description", "old", "--limit", "mqtt.topics=1")
    assert made == (0, [{**row, "description": "old", "limits": {"mqtt.topics": 1}}])
    limited = tenant("update", "a", "--limit", "users=2")
    assert limited == (0, [{**row, "description": "old", "limits": {"users": 2}}])
    described = tenant("update", "a", "--description", "")
    assert described == (0, [{**row, "description": "", "limits": {"users": 2}}])
    bare = {**row, "description": "", "limits": {}}
    assert tenant("update", "a", "--no-limits") == (0, [bare])
    assert tenant("list", "a") == (0, [bare])
    assert tenant("list", "b") == (0, [])
    code, [marked] = tenant("delete", "a", "--cascade")
    assert (code, marked["deleting"]) == (0, True)
    assert tenant("delete", "b", "--missing-ok") == (0, [])
    assert "there is no tenant b" in tenant("delete", "b")[1]


@pytest.mark.parametrize("limit", ["users", "=1", "users=x", "users=-1", f"users={1 << 64}"])
def test_what_is_no_limit_is_a_usage_error(
    tenant: Callable[..., tuple[int, Any]], limit: str
) -> None:
    code, told = tenant("put", "b", "--limit", limit)

    assert code == 2
    assert "is no limit" in told


def test_limits_are_given_or_taken_away(tenant: Callable[..., tuple[int, Any]]) -> None:
    assert tenant("update", "b", "--limit", "a=1", "--no-limits")[0] == 2
