"""What fences and names is never given out again after a restore: epochs, ids, revisions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from quorate.client import Client
from quorate.testing.cluster import Cluster
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.cluster_pb2 import Broker, RegisterBroker
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_mqtt.v1.topics_pb2 import CreateTopics, Topic

TENANT = "acme"


class Given(NamedTuple):
    """What a cluster gave out, each of which only grows."""

    epoch: int
    topic: int
    revision: int


def give(client: Client, name: str) -> Given:
    broker = client.execute(RegisterBroker(name=name, cluster_name="c", roles=["mqtt"]), Broker)
    wanted = Topic(tenant=TENANT, name=name, partitions=1, replication=1)
    [made] = client.execute(CreateTopics(topics=[wanted]), BatchReply).replies
    topic = Topic.FromString(made)
    return Given(broker.epoch, topic.id, client.kv.put(name, b"").revision)


def quorate(*command: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "quorate.cli", *command],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.ci
def test_nothing_that_was_given_out_after_the_backup_comes_again(tmp_path: Path) -> None:
    backup = str(tmp_path / "backup")
    with Cluster(tmp_path, nodes=1, plugins=["mqtt"]) as cluster:
        [node] = cluster.ready().nodes.values()
        with Client(cluster.endpoints) as client:
            client.execute(CreateTenant(name=TENANT), Tenant)
            give(client, "before")
            quorate("backup", backup, "--endpoints", cluster.endpoints)
            lost = [give(client, f"lost-{number}") for number in range(20)]
        assert node.stop() == 0
        node.wipe()
        quorate("restore", backup, "--config", str(node.file))
        node.start()
        cluster.ready()
        with Client(cluster.endpoints) as client:
            after = give(client, "after")

    for last, first in zip(lost[-1], after, strict=True):
        assert first > last
