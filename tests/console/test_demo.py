"""`quorate demo` on a cluster with some of its plugins: it makes rows, moves them, and goes on."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from quorate.cli import installed
from quorate.cli.demo.command import demos_of
from quorate.cli.demo.scene import TENANTS
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_connector.client import SyncConnectors
from quorate_connector.v1.connectors_pb2 import CreateConnectorRequest, Definition
from quorate_coordination.client import SyncCoordination
from quorate_mqtt.client import SyncMqtt
from quorate_offset.client import SyncOffsets

PLUGINS = ("connector", "coordination", "mqtt", "offset")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    directory = tmp_path_factory.mktemp("demo")
    with Cluster(directory, nodes=1, plugins=PLUGINS, tls=False) as cluster:
        yield cluster.ready()


def demo(cluster: Cluster, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "quorate.cli", "demo", "--endpoints", cluster.endpoints, *options],
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


def test_every_part_is_a_generator() -> None:
    demos = demos_of(installed.find())

    assert sorted(demos) == sorted(PLUGINS)
    for each in demos.values():
        assert inspect.isasyncgenfunction(each.load())


@pytest.mark.ci
@pytest.mark.timeout(300)
def test_it_fills_a_cluster_and_moves_it_and_does_so_again(cluster: Cluster) -> None:
    first = demo(cluster, "--seconds", "3", "--rate", "20")

    assert went_well(first), first.stderr
    assert "\nready; the load runs, and it ends after 3 s\n" in first.stdout
    [steps] = re.findall(r"ended after (\d+) steps", first.stdout)
    assert 0 < int(steps) <= 61
    with Client(cluster.endpoints) as q:
        mqtt = SyncMqtt(q)
        assert Counter(each.tenant for each in mqtt.topics.list()) == dict.fromkeys(TENANTS, 20)
        assert Counter(each.tenant for each in mqtt.sessions.list()) == dict.fromkeys(TENANTS, 60)
        # Its brokers have taken leave, and so have its programs with their locks.
        assert list(q.brokers.list(cluster_name="demo")) == []
        assert list(SyncCoordination(q).claims.list()) == []
        assert len(list(SyncConnectors(q).list())) == 9
        before = committed(q)
        # A worker of the demo would be given the tasks of this one.
        q.call("/quorate.v1.TenantService/Create", CreateTenant(name="own"), Tenant)
        definition = Definition(type="file", config=b'{"topic": "a", "path": "/a"}')
        request = CreateConnectorRequest(tenant="own", name="sink", definition=definition)
        SyncConnectors(q).create(request)
    again = demo(cluster, "--seconds", "3", "--rate", "20", "-o", "json")

    assert went_well(again), again.stderr
    assert "no worker, since own has connectors of its own" in again.stdout
    with Client(cluster.endpoints) as q:
        assert len(list(SyncConnectors(q).list())) == 10
        # It goes on where it was: no offset goes back.
        after = committed(q)
        assert all(after[each] >= before[each] for each in before)
        assert sum(after.values()) > sum(before.values())


def went_well(ran: subprocess.CompletedProcess[str]) -> bool:
    """Whether it ended in order; a busy machine may have it warn of a call that it repeats."""
    warned = all(each.startswith("warning: ") for each in ran.stderr.splitlines())
    return ran.returncode == 0 and warned


def committed(q: Client) -> dict[tuple[str, int], int]:
    found = SyncOffsets(q).fetch_group(TENANTS[0], "billing").offsets
    return {(each.topic, each.partition): each.offset for each in found}


@pytest.mark.ci
@pytest.mark.timeout(300)
def test_a_plugin_that_is_not_enabled_is_named(tmp_path: Path) -> None:
    with Cluster(tmp_path, nodes=1, plugins=("offset",), tls=False) as cluster:
        ran = demo(cluster.ready(), "--seconds", "0")

    assert went_well(ran), ran
    left_out = "left out, since the cluster has not enabled them: connector, coordination, mqtt\n"
    assert left_out in ran.stdout
    assert "offset: groups billing, search, archive" in ran.stdout
