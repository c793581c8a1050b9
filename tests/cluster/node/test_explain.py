"""Answers to why: of a key, of a request, and of a node that was killed."""

from __future__ import annotations

import json
import re
import shlex
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from quorate.builtin.tenant.quotas import QUOTAS
from quorate.cli.main import main
from quorate.client import Client, InvalidError, QuorateError
from quorate.observe.recorder import COMMITTED, read
from quorate.testing.cluster import Cluster
from quorate.testing.cluster.cluster import Settings
from quorate.v1 import quota_pb2, tenant_pb2

from tests.support.beside import beside

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "find-out-why.md"

pytestmark = [pytest.mark.ci, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    # Every write is slow.
    settings: Settings = {"audit": {"writers": True}, "timing": {"slow_write_ms": 1}}
    directory = tmp_path_factory.mktemp("explain")
    with Cluster(directory, nodes=1, settings=settings, tls=False) as cluster:
        yield cluster.ready()


@pytest.fixture
def q(cluster: Cluster) -> Iterator[Client]:
    with Client(cluster.endpoints) as q:
        yield q


def ask(cluster: Cluster, capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    capsys.readouterr()
    status = main([*arguments, "--endpoints", cluster.endpoints, "--output", "json"])
    out, err = capsys.readouterr()
    assert status == 0, err
    return json.loads(out)


def test_a_key_tells_its_writer_command_history_and_deadline(
    cluster: Cluster, q: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    first = q.kv.put("work/1", b"the secret").revision
    q.kv.put("work/10", b"another")
    q.kv.delete("work/1")
    last = q.kv.put("work/1", b"the secret", ttl_ms=3_600_000).revision

    found = ask(cluster, capsys, "explain", "key", "kv", "work/1")
    assert (found["key"], found["revision"], found["shard"]) == ("work/1", last, "metadata/0")
    assert found["command"] == "quorate.v1.PutPair"
    assert found["writer"] == "the cluster, or an unnamed caller"
    assert (found["leader"], found["replicas"]) == ("node1", ["node1"])
    assert [each["operation"] for each in found["changes"]] == ["put", "deleted", "put"]
    assert [each["revision"] for each in found["changes"]][::2] == [last, first]
    assert [each["key"] for each in found["deadlines"]] == ["work/1"]
    assert "secret" not in json.dumps(found)

    newest = ask(cluster, capsys, "explain", "key", "kv", "--changes", "1", "work/1")
    assert len(newest["changes"]) == 1
    q.kv.delete("work/10")
    gone = ask(cluster, capsys, "explain", "key", "kv", "work/10")
    assert (gone["revision"], gone["command"]) == (0, "quorate.v1.DeletePair")
    asked = ["--endpoints", cluster.endpoints]
    assert main(["explain", "key", "kv", "none", *asked]) == 1
    assert "no such row" in capsys.readouterr().err
    assert main(["explain", "key", "none", "a", *asked]) == 2


def test_a_request_tells_where_its_time_went(
    cluster: Cluster, q: Client, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidError) as raised:
        q.kv.put("", b"1")
    failed = ask(cluster, capsys, "explain", "request", raised.value.request)
    assert {each["reason"] for each in failed if each["kind"] == "failed"} == {"INVALID"}
    assert {each["node"] for each in failed} == {"node1"}

    q.kv.put("slow", b"the secret")
    slow = ask(cluster, capsys, "debug", "recorder", "node1", "--kind", "slow write")
    # The cluster's own commands are slow as well, and nobody asked for them.
    [request] = [each for each in slow if "requests" in each][-1]["requests"]
    parts = ask(cluster, capsys, "explain", "request", request)
    [write] = [each for each in parts if each["kind"] == "slow write"]
    stages = ("queue ms", "append ms", "replicate ms", "apply ms")
    assert abs(sum(write[each] for each in stages) - write["ms"]) <= len(stages)
    assert "secret" not in json.dumps(parts)

    q.kv.put("jobs/1", b"1")
    tenant = tenant_pb2.CreateTenant(name="acme")
    q.call("/quorate.v1.TenantService/Create", tenant, tenant_pb2.Tenant)
    q.records(QUOTAS).put(quota_pb2.Quota(kind="tenant", name="acme", rows=9))
    commands = re.findall(r"^\$ quorate (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(commands) > 5
    known = {"4f1c09ab-2d": request, "/var/lib/quorate": str(cluster.nodes["node1"].directory)}
    for each in commands:
        words = [known.get(word, word) for word in shlex.split(each)]
        assert main([*words, "--endpoints", cluster.endpoints]) == 0, each
        assert capsys.readouterr().out, each

    assert main(["explain", "request", "none-1", "--endpoints", cluster.endpoints]) == 1
    assert "no node has a record of request none-1; asked: node1" in capsys.readouterr().err


def test_a_node_that_was_killed_under_load_has_recorded_its_last_entries(
    cluster: Cluster, q: Client, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    node = cluster.nodes["node1"]
    answered: list[int] = []

    killing = threading.Event()

    def load(over: threading.Event) -> None:
        with Client(cluster.endpoints, timeout_s=5) as loading:
            while not over.is_set():
                try:
                    answered.append(loading.kv.put("loaded", b"the secret").revision)
                except QuorateError:
                    if killing.is_set():
                        return
                    raise

    with beside(load) as loading:
        loading.until(lambda: len(answered) > 100 or None)
        killing.set()
        node.kill()

    committed = [each for each in read(node.directory / "recorder") if each["kind"] == COMMITTED]
    last = max(each["index"] + each["count"] - 1 for each in committed)
    assert last >= max(answered) >> 20
    assert main(["debug", "recorder", str(node.directory), "--kind", "role", "--last", "1"]) == 0
    assert "leader" in capsys.readouterr().out
    node.start()
    node.ready()
    # It goes on with the same file.
    kinds = [each["kind"] for each in read(node.directory / "recorder")]
    assert kinds.count("start") == 2
    bundle = tmp_path / "bundle.zip"
    asked = ("--endpoints", cluster.endpoints, "--recorder", str(node.directory))
    assert main(["debug", "bundle", str(bundle), *asked]) == 0
    assert "nodes/node1/recorder.ndjson" in capsys.readouterr().out
