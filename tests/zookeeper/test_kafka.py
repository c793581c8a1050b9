"""Stock brokers of Kafka, in ZooKeeper mode, on Quorate."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoNodeError
from quorate.testing.waiting import until

from tests.support import maven
from tests.support.beside import beside
from tests.support.zookeeper import kafka
from tests.support.zookeeper.cluster import SHARD, ZooKeeperDoors

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

MESSAGES = 10_000


@pytest.fixture(autouse=True, scope="session")
def _stock_parts() -> None:
    if why := maven.missing(kafka.PROJECT):
        pytest.skip(why)


@contextmanager
def connected(hosts: str) -> Iterator[KazooClient]:
    client = KazooClient(hosts=hosts)
    client.start(timeout=30)
    try:
        yield client
    finally:
        client.stop()
        client.close()


def controller(client: KazooClient) -> int | None:
    """Return the broker that is the controller, if there is one."""
    try:
        return int(json.loads(client.get("/kafka/controller")[0])["brokerid"])
    except NoNodeError:
        return None


def test_messages_flow_while_the_leader_is_killed_and_the_controller_moves(tmp_path: Path) -> None:
    with ExitStack() as running:
        cluster = running.enter_context(ZooKeeperDoors(tmp_path / "quorate")).ready()
        at = f"{cluster.hosts}/kafka"
        brokers = {
            number: running.enter_context(kafka.Broker(tmp_path / f"broker{number}", number, at))
            for number in (1, 2)
        }
        addresses = ",".join(each.address for each in brokers.values())
        kafka.topics(
            addresses, "--create", "--topic", "t", "--partitions", "3", "--replication-factor", "2"
        )
        client = running.enter_context(connected(cluster.hosts))
        said = [f"message {number}" for number in range(MESSAGES)]
        half = MESSAGES // 2
        kafka.produce(addresses, "t", said[:half])

        with beside(lambda _: kafka.produce(addresses, "t", said[half:])):
            leader = cluster.leader(SHARD)
            leader.kill()
        # What changes metadata works, too, as soon as there is another leader.
        kafka.topics(addresses, "--create", "--topic", "u", "--partitions", "2")
        assert sorted(kafka.consume(addresses, "t", MESSAGES)) == sorted(said)
        leader.start()
        leader.ready()

        first = until(lambda: client.retry(controller, client))
        brokers[first].kill()

        def moved() -> bool | None:
            now = client.retry(controller, client)
            return now not in (None, first) or None

        until(moved)
        [left] = [each for number, each in brokers.items() if number != first]
        kafka.topics(left.address, "--create", "--topic", "v", "--partitions", "2")
        assert {"t", "u", "v"} <= {*kafka.topics(left.address, "--list").split()}
        # It comes back under its own number, after its former session has ended.
        brokers[first].start()

        def registered() -> bool | None:
            return (
                sorted(client.retry(client.get_children, "/kafka/brokers/ids")) == ["1", "2"]
                or None
            )

        until(registered)
