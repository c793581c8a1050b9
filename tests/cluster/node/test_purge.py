"""A plugin is retired on three nodes, and purged while one of them is down, as its page says."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

import pytest
import tomlkit
from quorate.client import Client
from quorate.storage.data.home import DiskHome
from quorate.storage.data.shard_data import ShardData
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster, NodeProcess
from quorate.testing.waiting import until
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_offset.v1.commands_pb2 import GroupCommit, OffsetCommit
from quorate_offset.v1.queries_pb2 import GroupName
from quorate_offset.v1.service_pb2 import (
    CommitOffsetsRequest,
    FetchGroupsRequest,
    FetchGroupsResponse,
)

PAGE: Final = Path(__file__).parents[3] / "docs" / "how-to" / "retire-a-plugin.md"
SHOWN: Final = re.compile(r"^\$ quorate plugin purge offset --yes\n(.*?)^```", re.M | re.S)
SHARDS: Final = ("metadata/0", "offset/0")

pytestmark = pytest.mark.ci


def commit(client: Client, offset: int) -> BatchReply:
    commits = [OffsetCommit(topic="t", partition=0, offset=offset)]
    group = GroupCommit(tenant="acme", group="g", commits=commits)
    return client.execute(CommitOffsetsRequest(groups=[group]), BatchReply, timeout_s=20.0)


def fetched(client: Client) -> list[int]:
    request = FetchGroupsRequest(groups=[GroupName(tenant="acme", group="g")])
    method = "/quorate_offset.v1.OffsetService/FetchGroups"
    found = client.call(method, request, FetchGroupsResponse, read=True, timeout_s=20.0)
    return [each.offset for group in found.groups for each in group.offsets]


def purge(endpoints: str) -> subprocess.CompletedProcess[str]:
    command = ("plugin", "purge", "offset", "--yes", "--endpoints", endpoints)
    return subprocess.run(
        [sys.executable, "-m", "quorate.cli", *command],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def configure(
    node: NodeProcess, *, enabled: Collection[str] = (), retired: Collection[str] = ()
) -> None:
    """Name other plugins in the file of a node that does not run."""
    file = tomlkit.parse(node.file.read_text())
    section = cast("dict[str, object]", file["plugins"])
    section["enabled"], section["retired"] = [*enabled], [*retired]
    node.file.write_text(tomlkit.dumps(file))


def retire(node: NodeProcess) -> None:
    """Let a node serve the plugin no more."""
    assert node.stop() == 0
    configure(node, retired=["offset"])
    node.start()
    node.ready()


def level(*nodes: NodeProcess) -> bool | None:
    """Whether the replicas of these nodes have applied the same entries."""
    reports = [node.report() for node in nodes]
    applied = {
        tuple(sorted((shard.shard, shard.applied_index) for shard in report.shards))
        for report in reports
        if report is not None
    }
    return (None not in reports and len(applied) == 1) or None


@contextmanager
def used(directory: Path) -> Iterator[Cluster]:
    """Run a cluster that keeps one offset."""
    with Cluster(directory, plugins=["offset"], settings={"timing": QUICK_ELECTIONS}) as cluster:
        cluster.ready()
        with Client(cluster.endpoints) as client:
            client.execute(CreateTenant(name="acme"), Tenant)
            until(lambda: not commit(client, 7).refusals or None)
        yield cluster


def rows(node: NodeProcess, shard: str) -> dict[str, dict[bytes, bytes]]:
    """Return what a node that was stopped holds of a shard.

    Core's own rows are left out: checks and canaries go on until the last node stops.
    """
    data = ShardData.open(DiskHome(node.directory / "shards" / shard), ())
    try:
        found = {family: dict(data.iterate(family, b"", None)) for family in data.families}
    finally:
        data.close()
    return {
        family: there for family, there in found.items() if there and not family.startswith("core.")
    }


def test_a_retired_plugin_is_purged_from_every_replica(tmp_path: Path) -> None:
    with used(tmp_path) as cluster:
        first, second, third = cluster.nodes.values()
        for node, serving in ((first, "node2, node3;"), (second, "node3;")):
            retire(node)
            done = purge(cluster.endpoints)
            assert done.returncode != 0
            assert f"plugin offset is served by {serving}" in done.stderr
            assert "nothing was deleted" in done.stderr
        retire(third)
        until(lambda: level(first, second, third))
        third.kill()

        done = purge(cluster.endpoints)
        assert done.returncode == 0, done.stderr
        [shown] = SHOWN.findall(PAGE.read_text())
        assert done.stdout == shown
        assert "deleted 0 rows of offset" in purge(cluster.endpoints).stdout

        # Nobody needs to name it any more, and who was down hears of it.
        until(lambda: level(first, second))
        second.kill()
        configure(second)
        second.start()
        third.start()
        cluster.ready()
        until(lambda: level(first, second, third))
        for node in cluster.nodes.values():
            node.stop()
        for shard in SHARDS:
            held = [rows(node, shard) for node in cluster.nodes.values()]
            assert held[0] == held[1] == held[2]
            assert not [family for family in held[0] if family.startswith("offset.")]
        # What is of others stays.
        assert "tenant.tenants" in rows(first, "offset/0")

        for node in cluster.nodes.values():
            configure(node, enabled=["offset"])
            node.start()
        cluster.ready()
        with Client(cluster.endpoints) as client:
            assert fetched(client) == []
            until(lambda: not commit(client, 9).refusals or None)
            assert fetched(client) == [9]


def test_a_purge_goes_on_where_its_node_was_killed(tmp_path: Path) -> None:
    with used(tmp_path) as cluster:
        first, *others = cluster.nodes.values()
        for node in cluster.nodes.values():
            assert node.stop() == 0
            configure(node, retired=["offset"])
        first.failpoint = "purge.step"
        for node in cluster.nodes.values():
            node.start()
        cluster.ready()

        assert purge(first.address).returncode != 0
        first.wait()
        done = purge(",".join(node.address for node in others))
        assert done.returncode == 0, done.stderr
        assert "deleted 2 rows of offset in 2 families; nothing is left" in done.stdout

        first.failpoint = ""
        first.start()
        cluster.ready()
        until(lambda: level(first, *others))
        for node in cluster.nodes.values():
            node.stop()
        held = [rows(node, "offset/0") for node in cluster.nodes.values()]
        assert held[0] == held[1] == held[2]
        assert not [family for family in held[0] if family.startswith("offset.")]
