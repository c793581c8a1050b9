"""A shard whose replicas stop keeps no node from starting, and an operator brings it back."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterable
from typing import Final, cast
from urllib.error import HTTPError
from urllib.parse import quote
from urllib.request import urlopen

import pytest
import tomlkit
from quorate.client import Client, QuorateError
from quorate.storage.log.witness import Durable, encode
from quorate.testing.cluster import Cluster, NodeProcess
from quorate.testing.waiting import until
from quorate.v1.batch_pb2 import BatchReply
from quorate_offset.v1.commands_pb2 import GroupCommit, OffsetCommit
from quorate_offset.v1.queries_pb2 import GroupName
from quorate_offset.v1.service_pb2 import (
    CommitOffsetsRequest,
    FetchGroupsRequest,
    FetchGroupsResponse,
)

SHARD: Final = "offset/0"
#: More than any log of a test holds.
FAR: Final = 1 << 30

pytestmark = pytest.mark.ci


def commit(client: Client, offset: int) -> BatchReply:
    commits = [OffsetCommit(topic="t", partition=0, offset=offset)]
    group = GroupCommit(tenant="acme", group="g", commits=commits)
    return client.execute(CommitOffsetsRequest(groups=[group]), BatchReply, timeout_s=5.0)


def fetched(client: Client) -> list[int]:
    request = FetchGroupsRequest(groups=[GroupName(tenant="acme", group="g")])
    method = "/quorate_offset.v1.OffsetService/FetchGroups"
    found = client.call(method, request, FetchGroupsResponse, read=True, timeout_s=20.0)
    return [each.offset for group in found.groups for each in group.offsets]


def damage(nodes: Iterable[NodeProcess]) -> None:
    """Stop nodes, and let the log of one shard have lost its end on each of them."""
    for node in nodes:
        assert node.stop() == 0
        (node.directory / "witness" / quote(SHARD, safe="")).write_bytes(encode(Durable(FAR, 0)))


def restart(cluster: Cluster) -> None:
    for node in cluster.nodes.values():
        if not node.runs:
            node.start()
    cluster.ready()


def readyz(node: NodeProcess) -> tuple[int, str]:
    try:
        with urlopen(f"http://{node.http_address}/readyz", timeout=20) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        return error.code, error.read().decode()


def quorate(cluster: Cluster, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "quorate.cli", *command, "--endpoints", cluster.endpoints],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )


def recover(cluster: Cluster, node: str) -> subprocess.CompletedProcess[str]:
    return quorate(cluster, "shard", "recover", SHARD, "--from", node, "--confirm", SHARD)


def whole(cluster: Cluster) -> bool | None:
    """Whether every node says that it has all of its shards, each with three voters."""
    reports = [node.report() for node in cluster.nodes.values()]
    return (
        all(
            report is not None
            and report.ready
            and all(sum(m.voter for m in shard.members) == 3 for shard in report.shards)
            for report in reports
        )
        or None
    )


def test_a_shard_that_cannot_be_opened_stops_no_node_and_is_recovered(
    founded: Callable[..., Cluster],
) -> None:
    cluster = founded()
    nodes = [*cluster.nodes.values()]
    with Client(cluster.endpoints) as client:
        assert not commit(client, 1).refusals
        client.kv.put("kept", b"here")
    # One of three: the shard serves, and nothing of it is to be given up.
    damage(nodes[:1])
    restart(cluster)
    assert "serves" in recover(cluster, "node2").stderr
    with Client(cluster.endpoints) as client:
        assert not commit(client, 2).refusals
        until(lambda: fetched(client) == [2] or None)
    # The damaged replica is rebuilt by itself.
    until(lambda: whole(cluster))

    damage(nodes)
    restart(cluster)
    with Client(cluster.endpoints) as client:
        row = client.kv.get("kept")
        assert row is not None
        assert row.value == b"here"
        client.kv.put("more", b"rows")
        with pytest.raises(QuorateError):
            commit(client, 3)
    for node in nodes:
        code, text = readyz(node)
        assert code == 503
        assert f"shard {SHARD} cannot be opened on {node.name}: The log of shard" in text
    for command in (("status",), ("shard", "list")):
        assert "was durable up to index" in quorate(cluster, *command, "--output", "json").stdout

    done = recover(cluster, "node2")
    assert done.returncode == 0, done.stderr
    assert f"{SHARD} is recovered from node2" in done.stderr
    with Client(cluster.endpoints) as client:
        assert fetched(client) == [2]
        assert not commit(client, 4).refusals
    until(lambda: whole(cluster))

    for node in nodes:
        node.kill()
    restart(cluster)
    with Client(cluster.endpoints) as client:
        assert fetched(client) == [4]
    until(lambda: whole(cluster))


def test_a_node_that_has_lost_all_is_replaced_by_an_empty_one(
    founded: Callable[..., Cluster],
) -> None:
    cluster = founded()
    lost, *others = cluster.nodes.values()
    with Client(cluster.endpoints) as client:
        assert not commit(client, 1).refusals
    assert lost.stop() == 0
    lost.wipe()
    file = tomlkit.parse(lost.file.read_text())
    section = cast("dict[str, dict[str, str]]", file["cluster"])
    known = section.pop("initial_members")
    section["join"] = {name: known[name] for name in (each.name for each in others)}
    lost.file.write_text(tomlkit.dumps(file))
    lost.start()
    until(lost.report)
    done = quorate(cluster, "member", "replace", lost.name, lost.address, "--yes")
    assert done.returncode == 0, done.stderr

    cluster.ready()
    until(lambda: whole(cluster))
    assert readyz(lost)[0] == 200
    # The empty one has all of it, and is a majority with either of the others.
    others[0].kill()
    with Client(cluster.endpoints) as client:
        assert fetched(client) == [1]
        assert not commit(client, 2).refusals
