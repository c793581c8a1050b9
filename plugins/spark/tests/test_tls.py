"""A cluster that encrypts is loaded and read like any other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from quorate.testing.cluster import Cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.ci


@pytest.fixture
def encrypted(tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(tmp_path, 1, plugins=["spark"], tls=True) as cluster:
        yield cluster.ready()


def test_rows_are_written_and_read_with_the_files_of_tls(
    spark: SparkSession, encrypted: Cluster
) -> None:
    files = encrypted.tls
    assert files is not None
    options = {
        "endpoints": encrypted.endpoints,
        "table": "kv.pairs",
        "tls_ca": str(files.ca),
        "tls_cert": str(files.cert),
        "tls_key": str(files.key),
    }
    rows = spark.createDataFrame(
        [(b"tls/1", bytearray(b"one"), None)], "key binary, value binary, ttl_ms long"
    )
    rows.write.format("quorate").mode("append").options(**options).save()

    found = spark.read.format("quorate").options(**options).load().collect()
    assert [bytes(row.value) for row in found] == [b"one"]
