"""`quorate tenant`, as it is derived, against a node that is complete."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from quorate.cli import completing
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
        if code:
            return code, told.err
        rows = json.loads(told.out or "[]")
        return code, [
            {name: row[name] for name in ("name", "description", "limits", "cascades")}
            for row in rows
        ]

    return call


def test_a_tenant_from_its_creation_to_its_end(tenant: Callable[..., tuple[int, Any]]) -> None:
    row = {"name": "a", "cascades": []}
    made = tenant("put", "a", "--description", "old", "--limits", "mqtt.topics=1")
    assert made == (0, [{**row, "description": "old", "limits": {"mqtt.topics": 1}}])
    limited = tenant("update", "a", "--limits", "users=2")
    assert limited == (0, [{**row, "description": "old", "limits": {"users": 2}}])
    described = tenant("update", "a", "--clear", "description")
    assert described == (0, [{**row, "description": "", "limits": {"users": 2}}])
    bare = {**row, "description": "", "limits": {}}
    assert tenant("update", "a", "--clear", "limits") == (0, [bare])
    assert tenant("list", "--prefix", "a") == (0, [bare])
    assert tenant("list", "--prefix", "b") == (0, [])
    code, [marked] = tenant("delete", "a", "--cascade", "--yes")
    assert (code, marked["name"]) == (0, "a")
    assert tenant("delete", "b", "--missing-ok") == (0, [])
    assert "there is no tenant b" in tenant("delete", "b")[1]


@pytest.mark.parametrize("limit", ["users", "=1", "users=x", "users=-1", f"users={1 << 64}"])
def test_what_is_no_limit_is_a_usage_error(
    tenant: Callable[..., tuple[int, Any]], limit: str
) -> None:
    code, told = tenant("put", "b", "--limits", limit)

    assert code == 2
    assert "--limits" in told


def test_keys_of_rows_are_completed(
    tenant: Callable[..., tuple[int, Any]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for name in ("completed-a", "completed-b"):
        assert tenant("create", name)[0] == 0
    monkeypatch.setattr(completing, "_PATIENCE_S", 60.0)
    monkeypatch.setenv("_QUORATE_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "quorate tenant get completed-")
    monkeypatch.setenv("COMP_CWORD", "3")

    with pytest.raises(SystemExit):
        main([])

    assert capsys.readouterr().out.split() == ["plain,completed-a", "plain,completed-b"]
