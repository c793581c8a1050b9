"""Streams of changes, with a real Spark and a real cluster."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession
    from quorate.client import Client
    from quorate.testing.cluster import Cluster

pytestmark = pytest.mark.ci

Changes = Callable[..., "DataFrame"]


@pytest.fixture
def changes(spark: SparkSession, cluster: Cluster) -> Changes:
    """Follow pairs, if nothing else is said."""

    def follow(**options: Any) -> DataFrame:
        given = {"changes": "kv.pairs", "endpoints": cluster.endpoints, **options}
        return spark.readStream.format("quorate").options(**given).load()

    return follow


def shown(row: Row) -> tuple[str, bytes, bytes | None]:
    return row._operation, bytes(row.key), None if row.value is None else bytes(row.value)


def test_a_snapshot_and_then_every_change(
    spark: SparkSession, changes: Changes, client: Client, tmp_path: Path
) -> None:
    client.kv.put("feed/a", b"1")
    client.kv.put("feed/b", b"1")
    query = (
        changes()
        .where("key >= cast('feed/' as binary) and key < cast('feed0' as binary)")
        .writeStream.format("memory")
        .queryName("feed")
        .option("checkpointLocation", str(tmp_path))
        .start()
    )
    query.processAllAvailable()
    assert sorted(map(shown, spark.table("feed").collect())) == [
        ("row", b"feed/a", b"1"),
        ("row", b"feed/b", b"1"),
    ]
    client.kv.put("feed/a", b"2")
    client.kv.delete("feed/b")
    query.processAllAvailable()
    query.stop()

    rows = spark.table("feed").orderBy("_revision").collect()
    assert {shown(row) for row in rows[2:]} == {
        ("put", b"feed/a", b"2"),
        ("deleted", b"feed/b", None),
    }
    assert all(row._time is not None for row in rows[2:])
