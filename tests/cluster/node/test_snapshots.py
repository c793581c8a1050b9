"""A node whose entries are gone comes back by a snapshot, wherever it dies meanwhile."""

from __future__ import annotations

import signal
from functools import partial
from pathlib import Path
from typing import Final

import pytest
from quorate.client import Client
from quorate.plugin.advanced import Stub
from quorate.testing.cluster import QUICK_ELECTIONS, Cluster, NodeProcess
from quorate.testing.waiting import until
from quorate.v1 import kv_pb2
from quorate.v1.admin_pb2 import ReplicaReport

SETTINGS: Final = {
    "timing": QUICK_ELECTIONS,
    "storage": {"log_tail_entries": 100},
}
SHARD: Final = "metadata/0"
#: In the follower that is sent a snapshot, in the order in which it comes by.
STEPS: Final = (
    "snapshot.offered",
    "snapshot.part_received",
    "snapshot.received",
    "snapshot.verified",
    "install.begun",
    "pointer.written",
    "pointer.renamed",
    "install.pointed",
    "install.swapped",
    "snapshot.installed",
    "snapshot.durable",
    "install.closed",
    "install.removed",
)


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param(("install.swapped",), marks=pytest.mark.ci, id="one step"),
        pytest.param(STEPS, marks=pytest.mark.full, id="every step"),
    ],
)
@pytest.mark.timeout(1_200)
def test_a_follower_that_dies_while_it_installs_comes_back(
    tmp_path: Path, steps: tuple[str, ...]
) -> None:
    with Cluster(tmp_path, settings=SETTINGS) as cluster:
        follower = cluster.ready().followers(SHARD)[0]
        for step in steps:
            with Client(cluster.endpoints, exactly_once=True) as client:
                written = fall_behind(follower, cluster, client, step)
            follower.failpoint = step
            follower.start()
            assert follower.wait() == -signal.SIGKILL, step
            follower.failpoint = ""
            follower.start()
            follower.ready()
            until(partial(holds, follower, step, written))


def fall_behind(follower: NodeProcess, cluster: Cluster, client: Client, step: str) -> list[bytes]:
    """End a follower, and write until what it lacks is cut from every log; return the keys."""
    lacks = report(follower).last_index + 1
    follower.kill()
    others = [node for node in cluster.nodes.values() if node is not follower]
    keys: list[bytes] = []
    while min(report(node).first_index for node in others) <= lacks:
        # Each is an entry of its own.
        for _ in range(50):
            keys.append(b"%s/%06d" % (step.encode(), len(keys)))
            client.kv.put(keys[-1], b"")
    return keys


def report(node: NodeProcess) -> ReplicaReport:
    """Return what a node says of the shard."""

    def find() -> ReplicaReport | None:
        status = node.report()
        found = status.shards if status is not None else ()
        return next((each for each in found if each.shard == SHARD), None)

    return until(find)


def holds(node: NodeProcess, step: str, wanted: list[bytes]) -> bool | None:
    """Tell whether these are what a node itself holds: what is read stale is asked of no other."""
    keys: list[bytes] = []
    request = kv_pb2.ListPairsRequest(prefix=f"{step}/".encode(), stale=True)
    with node.channel() as channel:
        kv = Stub(channel, kv_pb2.DESCRIPTOR.services_by_name["KvService"])
        while True:
            page = kv.List(request, timeout=10)
            keys += [pair.key for pair in page.pairs]
            if not page.next_page_token:
                return keys == wanted or None
            request.page_token = page.next_page_token
