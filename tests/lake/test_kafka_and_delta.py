"""The page on Kafka and Delta Lake: its code runs, from a topic to a table and back to both."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from quorate.client import Client
from quorate.testing.cluster import Cluster

from tests.support import lake
from tests.support.zookeeper import kafka
from tests.support.zookeeper.cluster import ZooKeeperDoors

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

pytestmark = [pytest.mark.full, pytest.mark.timeout(900)]

PAGE: Final = (Path(__file__).parents[2] / "docs" / "how-to" / "use-kafka-and-delta.md").read_text()
KEYS: Final = 500

State = dict[bytes, bytes]


def test_the_page_names_the_versions_that_are_tested() -> None:
    [packages] = re.findall(r"--packages (\S+)", PAGE)
    assert packages.split(",") == [f"{part}:{version}" for part, version in lake.parts()]
    assert f"pyspark=={dict(lake.parts())['org.apache.spark:spark-sql-kafka-0-10_2.13']}" in PAGE


@contextmanager
def stopped(query: StreamingQuery) -> Iterator[StreamingQuery]:
    """Let a query have all that there is at the end of the block, and stop it."""
    try:
        yield query
        query.processAllAvailable()
    finally:
        query.stop()


def send(spark: SparkSession, broker: str, topic: str, messages: dict[str, str | None]) -> None:
    rows = spark.createDataFrame(list(messages.items()), "key string, value string")
    options = {"kafka.bootstrap.servers": broker, "topic": topic}
    rows.write.format("kafka").options(**options).save()


def messages_of(spark: SparkSession, broker: str, topic: str) -> State:
    """Return what a topic holds once it is compacted."""
    options = {"kafka.bootstrap.servers": broker, "subscribe": topic}
    rows = spark.read.format("kafka").options(**options).load()
    found: dict[bytes, Any] = {}
    for row in rows.orderBy("partition", "offset").collect():
        found[bytes(row.key)] = row.value
    return {key: bytes(value) for key, value in found.items() if value is not None}


def pairs_of(cluster: Cluster) -> State:
    with Client(cluster.endpoints) as client:
        return {pair.key: pair.value for page in client.kv.scan("") for pair in page.pairs}


def test_messages_become_pairs_and_changes_become_messages_and_history(
    spark: SparkSession, tmp_path: Path
) -> None:
    code: dict[str, Any] = {}
    for block in re.findall(r"^```python\n(.+?)^```$", PAGE, re.MULTILINE | re.DOTALL):
        exec(block, code)
    checkpoints = {name: str(tmp_path / f"checkpoint-{name}") for name in ("in", "out", "delta")}
    delta = str(tmp_path / "history")
    with ExitStack() as running:
        # The broker of Kafka keeps its own metadata in the same cluster.
        doors = ZooKeeperDoors(tmp_path / "quorate", plugins=("spark",))
        cluster = running.enter_context(doors).ready()
        at = f"{doors.hosts}/kafka"
        broker = running.enter_context(kafka.Broker(tmp_path / "broker", 1, at)).address
        for topic in ("orders", "changes"):
            kafka.topics(broker, "--create", "--topic", topic, "--partitions", "2")

        def coming() -> StreamingQuery:
            query: StreamingQuery = code["from_kafka"](
                spark, broker, "orders", cluster.endpoints, checkpoints["in"]
            )
            return query

        def going() -> list[StreamingQuery]:
            endpoints = cluster.endpoints
            return [
                code["to_kafka"](spark, endpoints, broker, "changes", checkpoints["out"]),
                code["to_delta"](spark, endpoints, delta, checkpoints["delta"]),
            ]

        state: dict[str, str | None] = {f"orders/{n}": "open" for n in range(KEYS)}
        send(spark, broker, "orders", state)
        with stopped(coming()):
            pass
        assert pairs_of(cluster) == wanted(state)
        out, history = going()
        with stopped(coming()), stopped(out), stopped(history):
            # They have what was there, and changes follow.
            out.processAllAvailable()
            history.processAllAvailable()
            leader = cluster.leader("metadata/0")
            leader.kill()
            changed = {f"orders/{n}": "paid" for n in range(0, KEYS, 3)}
            deleted = {f"orders/{n}": None for n in range(1, KEYS, 3)}
            state |= changed
            state |= deleted
            send(spark, broker, "orders", {**changed, **deleted})
        leader.start()
        leader.ready()
        # All begin once more where they were.
        added = {f"more/{n}": "open" for n in range(KEYS)}
        state |= added
        send(spark, broker, "orders", dict(added))
        with stopped(coming()):
            pass
        assert pairs_of(cluster) == wanted(state)
        for query in going():
            with stopped(query):
                pass
        assert messages_of(spark, broker, "changes") == wanted(state)

    rows = spark.read.format("delta").load(delta)
    once = rows.select("key", "_revision").distinct().count()
    assert rows.count() == once == KEYS + len(changed) + len(deleted) + len(added)
    with Cluster(tmp_path / "other", 1, plugins=["spark"]) as other:
        other.ready()
        code["from_delta"](spark, delta, other.endpoints, "history")
        assert pairs_of(other) == wanted(state)


def wanted(state: dict[str, str | None]) -> State:
    return {key.encode(): value.encode() for key, value in state.items() if value is not None}
