"""Clients of ZooKeeper while nodes are killed and stopped."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import BadVersionError, KazooException, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError
from quorate.testing.program import Program
from quorate.testing.waiting import until

from tests.support.beside import beside
from tests.support.zookeeper.cluster import SHARD, ZooKeeperDoors

pytestmark = [pytest.mark.ci, pytest.mark.timeout(300)]


#: Holds a lock until it is killed.
_DYING = """
import sys, time
from kazoo.client import KazooClient
client = KazooClient(sys.argv[1], timeout=4)
client.start(timeout=60)
client.create("/lock", ephemeral=True)
time.sleep(600)
"""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ZooKeeperDoors]:
    with ZooKeeperDoors(tmp_path / "cluster") as cluster:
        yield cluster.ready()


@contextmanager
def connected(hosts: str, timeout_s: float = 10) -> Iterator[KazooClient]:
    client = KazooClient(hosts=hosts, timeout=timeout_s)
    client.start(timeout=60)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def owner(client: KazooClient, path: str) -> int:
    return int(client.retry(client.get, path)[1].ephemeralOwner)


def test_a_session_outlives_the_node_that_served_it(cluster: ZooKeeperDoors) -> None:
    with connected(cluster.hosts) as client, connected(cluster.hosts) as other:
        client.create("/e", ephemeral=True)
        session = client.client_id[0]
        for _ in range(2):
            host, port = client._connection._socket.getpeername()[:2]
            [name] = [name for name, at in cluster.doors.items() if at == f"{host}:{port}"]
            cluster.nodes[name].kill()
            assert owner(client, "/e") == session
            assert client.client_id[0] == session
            cluster.nodes[name].start()
            cluster.nodes[name].ready()
        assert owner(other, "/e") == session


def test_a_client_that_dies_leaves_nothing_behind(cluster: ZooKeeperDoors, tmp_path: Path) -> None:
    """Also when the leader, which knows the deadlines, dies after it."""
    with connected(cluster.hosts) as watching:
        dying = Program("client", tmp_path / "client.log")
        dying.start([sys.executable, "-c", _DYING, cluster.hosts], os.environ)
        until(lambda: watching.exists("/lock") and True)
        gone = threading.Event()
        assert watching.exists("/lock", watch=lambda _: gone.set())
        dying.end(signal.SIGKILL)
        dying.close()
        leader = cluster.leader(SHARD)
        leader.kill()

        def freed() -> bool | None:
            return watching.retry(watching.exists, "/lock") is None or None

        until(freed)
        assert gone.wait(60)
        with connected(cluster.hosts) as next_one:
            next_one.create("/lock", ephemeral=True)


def test_acknowledged_writes_stay_and_none_is_made_twice(cluster: ZooKeeperDoors) -> None:
    """Each client counts up with the version that it has read, while leaders are killed."""
    with ExitStack() as opened:
        clients = [opened.enter_context(connected(cluster.hosts)) for _ in range(3)]
        clients[0].create("/counter", b"0")
        acknowledged, doubtful = [0] * 3, [0] * 3

        def work(number: int, over: threading.Event) -> None:
            client = clients[number]
            while not over.is_set():
                try:
                    data, stat = client.retry(client.get, "/counter")
                    client.set("/counter", b"%d" % (int(data) + 1), version=stat.version)
                    acknowledged[number] += 1
                except BadVersionError:
                    pass
                except (KazooException, KazooTimeoutError):
                    doubtful[number] += 1

        with beside(*(partial(work, number) for number in range(3))) as working:

            def more(wanted: int) -> None:
                before = sum(acknowledged)
                working.until(lambda: sum(acknowledged) > before + wanted or None)

            for _ in range(2):
                more(50)
                leader = cluster.leader(SHARD)
                leader.kill()
                more(20)
                leader.start()
                leader.ready()
        # A read may be older than what other clients have written: by the rules of ZooKeeper.
        clients[0].retry(clients[0].sync, "/counter")
        data, stat = clients[0].retry(clients[0].get, "/counter")
        assert int(data) == stat.version
        assert sum(acknowledged) <= stat.version <= sum(acknowledged) + sum(doubtful)


def test_watchers_see_every_state_that_stays(cluster: ZooKeeperDoors) -> None:
    """Whatever node dies: a client that reads again at each event ends with the last state."""
    with connected(cluster.hosts) as writer, connected(cluster.hosts) as watcher:
        writer.create("/w", b"0")
        seen: list[int] = []

        @watcher.DataWatch("/w")  # type: ignore[untyped-decorator, unused-ignore]
        def _(data: bytes | None, _: object) -> None:
            seen.append(int(data or b"-1"))

        for number in count(1):
            writer.retry(writer.set, "/w", b"%d" % number)
            if number == 20:
                cluster.leader(SHARD).kill()
            if number == 60:
                break
        until(lambda: seen[-1] == 60 or None)
        assert seen == sorted(seen)


def test_a_node_without_a_majority_sends_its_clients_away(cluster: ZooKeeperDoors) -> None:
    """It would let them believe in sessions that the others let end."""
    [lone, *others] = cluster.nodes
    with connected(cluster.doors[lone], 4) as client:
        client.create("/e", ephemeral=True)
        lost = threading.Event()
        client.add_listener(lambda state: lost.set() if state != "CONNECTED" else None)
        for name in others:
            cluster.nodes[name].pause()
        assert lost.wait(60)
        for name in others:
            cluster.nodes[name].resume()

        def back() -> bool | None:
            try:
                return client.retry(client.get, "/zookeeper") is not None or None
            except (KazooException, NoNodeError):
                return None

        until(back)
