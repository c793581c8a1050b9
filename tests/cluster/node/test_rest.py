"""Many shards: they form, rest, are killed all at once, come back, and are written to."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from urllib.request import urlopen

import pytest
from quorate.client import Client
from quorate.testing.cluster import Cluster, NodeProcess
from quorate.testing.waiting import PATIENCE_S

#: How many the long test has; a machine of two cores needs some minutes for it.
MANY = int(os.environ.get("QUORATE_TEST_SHARDS", "1000"))
#: For so many more the patience of a test is granted once more.
_AT_ONCE = 25
_LOOK_S = 1.0


class ManyShards:
    """A cluster with so many shards of the group `metadata`, which has the keys."""

    def __init__(self, cluster: Cluster, shards: int) -> None:
        self.cluster = cluster
        self.shards = shards
        self.patience_s = PATIENCE_S * max(3.0, shards / _AT_ONCE)

    def until(self, holds: Callable[[], bool]) -> None:
        deadline = time.monotonic() + self.patience_s
        while not holds():
            assert time.monotonic() < deadline, f"not within {self.patience_s} s"
            time.sleep(_LOOK_S)

    def ready(self) -> None:
        self.until(lambda: all(node.is_ready for node in self.cluster.nodes.values()))

    def rested(self) -> None:
        """Wait for a time in which no replica is told anything."""
        before: list[float] = []

        def still() -> bool:
            nonlocal before
            known, before = before, [received(each) for each in self.cluster.nodes.values()]
            return known == before

        self.until(still)

    def keys(self) -> list[str]:
        with Client(self.cluster.endpoints) as client:
            found: dict[str, str] = {}
            number = 0
            while len(found) < self.shards:
                key = f"key-{number}"
                found.setdefault(client.shard_of("metadata", key.encode()), key)
                number += 1
        return list(found.values())

    def write(self, keys: list[str], value: bytes) -> None:
        with Client(self.cluster.endpoints) as client:
            for key in keys:
                client.kv.put(key, value)

    def read(self, keys: list[str]) -> list[bytes | None]:
        with Client(self.cluster.endpoints) as client:
            pairs = [client.kv.get(key) for key in keys]
        return [None if pair is None else pair.value for pair in pairs]


def received(node: NodeProcess) -> float:
    """Return how many messages the replicas on a node have received."""
    with urlopen(f"http://{node.http_address}/metrics", timeout=PATIENCE_S) as answer:
        lines = answer.read().decode().splitlines()
    name = "quorate_raft_received_messages_total{"
    return sum(float(each.split()[-1]) for each in lines if each.startswith(name))


@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    "shards",
    [pytest.param(12, marks=pytest.mark.ci), pytest.param(MANY, marks=pytest.mark.full)],
)
def test_they_form_rest_and_come_back_with_what_was_written(tmp_path: Path, shards: int) -> None:
    settings = {"groups": {"metadata": {"shards": shards}}}
    with Cluster(tmp_path, settings=settings) as cluster:
        many = ManyShards(cluster, shards)
        many.ready()
        keys = many.keys()
        many.write(keys, b"before")
        many.rested()
        for node in cluster.nodes.values():
            node.kill()
        for node in cluster.nodes.values():
            node.start()
        many.ready()
        assert many.read(keys) == [b"before"] * shards
        many.rested()
        many.write(keys, b"after")
        assert many.read(keys) == [b"after"] * shards
