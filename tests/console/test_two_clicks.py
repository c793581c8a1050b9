"""From the overview an operator finds what is wrong within two clicks, while the demo runs."""

from __future__ import annotations

import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from quorate.client import Client, OutcomeUnknownError, UnavailableError
from quorate.observe.thresholds import FOLLOWER_LAG
from quorate.testing.cluster import QUICK_ELECTIONS
from quorate.testing.cluster.node_process import NodeProcess
from quorate.testing.program import Program
from quorate.testing.waiting import until
from quorate_coordination.client import SyncCoordination

from tests.console.browser import DESKTOP, Browser
from tests.support.proxied_cluster import ProxiedCluster

pytestmark = [pytest.mark.ci, pytest.mark.timeout(600)]

PLUGINS = ("connector", "coordination", "mqtt", "offset")
WARNING = "⚠"
WRITERS = 16


class Seen(NamedTuple):
    """A cluster with the demo on it, and its console as one of its nodes shows it."""

    cluster: ProxiedCluster
    browser: Browser
    #: A node that follows in metadata/0, and whose console is looked at.
    viewer: NodeProcess

    @property
    def root(self) -> str:
        return f"http://{self.viewer.http_address}/console"

    def found(self, text: str, *clicks: str) -> bool:
        """Whether a page has a text, after so many clicks from the overview."""
        assert len(clicks) <= 2
        self.browser.open(self.root)
        for each in clicks:
            self.browser.follow(each)
        return re.search(text, self.browser.text) is not None


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory, window: Browser) -> Iterator[Seen]:
    directory = tmp_path_factory.mktemp("found")
    playing = Program("quorate demo", directory / "demo.out")
    cluster = ProxiedCluster(directory, plugins=PLUGINS, settings={"timing": QUICK_ELECTIONS})
    if cluster.tls is not None:
        pytest.skip("nodes that ask for certificates serve no console")
    for node in cluster.nodes.values():
        node.failpoint = f"disk.measured=full:{full_disk_of(node)}"
    with cluster:
        cluster.ready()
        command = (sys.executable, "-m", "quorate.cli", "demo", "--endpoints", cluster.endpoints)
        playing.start(command, os.environ)
        try:
            until(lambda: not playing.runs or "\nready;" in playing.said or None)
            assert playing.runs, playing.said
            window.size(*DESKTOP)
            yield Seen(cluster, window, cluster.followers()[0])
        finally:
            playing.close()


def full_disk_of(node: NodeProcess) -> Path:
    """Return the file that stands for a full disk of a node."""
    return node.directory.with_suffix(".full")


def write(cluster: ProxiedCluster, behind: Callable[[], bool]) -> None:
    """Write until a replica is behind, each time an entry."""
    with Client(cluster.endpoints) as q, ThreadPoolExecutor(WRITERS) as writers:

        def put(number: int) -> None:
            # A busy machine lets a leader lose its majority; other writes make up for this one.
            with suppress(OutcomeUnknownError, UnavailableError):
                q.kv.put(f"lag/{number}", b"v")

        while not behind():
            list(writers.map(put, range(2_000)))


def applied(node: NodeProcess) -> int:
    """Return the index that a node's replica has applied."""
    report = until(node.report)
    [index] = [each.applied_index for each in report.shards if each.shard == "metadata/0"]
    return index


def test_a_replica_that_lags(seen: Seen) -> None:
    cluster = seen.cluster
    # By now the viewer may lead; then either of the others will do.
    leads = cluster.leader()
    late = next(each for each in cluster.nodes.values() if each not in (leads, seen.viewer))
    cut_from: list[NodeProcess] = []

    def behind() -> bool:
        """Whether it lags; it is cut off from the leader alone, which another one may become."""
        leader = cluster.leader()
        if leader is late:
            late.transfer("metadata/0", seen.viewer.name)
            return False
        if cut_from != [leader]:
            cluster.heal()
            for way in (leader.name, late.name), (late.name, leader.name):
                cluster.proxy(*way).cut()
            cut_from[:] = [leader]
        return applied(leader) - applied(late) > FOLLOWER_LAG

    def show(text: str, *clicks: str) -> None:
        """Wait for a text as long as the test may take: the writes before it are most of that."""
        write(cluster, behind)
        while not seen.found(text, *clicks):
            time.sleep(0.1)
            write(cluster, behind)

    try:
        show(rf"{late.name}\t{WARNING} ?its replica of metadata/0 lags by \d+ entries")
        show(rf"{late.name}\t.*\t{WARNING} ?[\d,]+", "metadata/0")
    finally:
        cluster.heal()


def test_a_tenant_that_is_full(seen: Seen) -> None:
    until(lambda: seen.found("tenant demo-initech\t.*rows are used") or None)
    until(lambda: seen.found("Tenant demo-initech", "tenant demo-initech") or None)
    until(lambda: seen.found(rf"{WARNING} ?demo-initech\trows", "Quotas in use") or None)


def test_a_disk_that_is_full(seen: Seen) -> None:
    node = seen.cluster.nodes["node2"]
    full_disk_of(node).touch()
    try:
        until(
            lambda: seen.found(rf"node2\t{WARNING}\s*0 bytes are free on this node's disk") or None
        )
        assert seen.found("free on this node's disk", "node2")
    finally:
        full_disk_of(node).unlink()


def test_a_disk_that_is_dying(seen: Seen) -> None:
    """Its data cannot be read any more: the replica is named, with what is done about it."""
    node = seen.cluster.followers("offset/0")[0]
    shard = node.directory / "shards" / "offset" / "0"
    node.kill()
    for path in shard.glob("data.*/MANIFEST-*"):
        path.write_bytes(b"\xff" * path.stat().st_size)
    node.start()
    node.ready()
    until(lambda: seen.found(rf"{node.name}\t{WARNING}\s*(its disk has damaged|.*damage)") or None)
    until(lambda: seen.found(r"Damage\n(.*\n)?offset/0\t", node.name) or None)


def test_who_holds_a_lock(seen: Seen) -> None:
    with Client(seen.cluster.endpoints) as q:
        lock = SyncCoordination(q).lock("held/one", owner="operator-7")
        with lock:
            assert seen.found(r"held/one\toperator-7\t", "Locks")
            seen.browser.open(seen.root)
            seen.browser.write("q", "held/")
            seen.browser.click("//button[text()='Search']")
            seen.browser.shows("held/one")
