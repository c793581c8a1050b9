"""One Spark for all tests, which takes seconds to start, and one cluster of real nodes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from quorate.client import Client
from quorate.testing.cluster import Cluster

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

#: Set where Java is promised to be there: its absence is a failure then.
REQUIRED = "QUORATE_REQUIRE_SPARK"

Save = Callable[..., None]


def _missing() -> str:
    try:
        from quorate_spark.source.java import missing_java
        from quorate_spark.source.local import local_session
    except ImportError as error:
        return f'Spark for Python is not installed ({error}): pip install "quorate-spark[testing]"'
    assert callable(local_session)
    return missing_java()


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """Spark with two cores of this machine."""
    why = _missing()
    if why and os.environ.get(REQUIRED) == "1":
        pytest.fail(why)
    if why:
        pytest.skip(why)
    from quorate_spark.source.local import local_session

    session = local_session("tests", cores=2)
    session.conf.set("spark.sql.shuffle.partitions", "2")
    yield session
    session.stop()


@pytest.fixture(scope="session")
def cluster(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three nodes, and pairs in two shards."""
    directory = tmp_path_factory.mktemp("cluster")
    settings = {"groups": {"metadata": {"shards": 2}}}
    with Cluster(directory, 3, plugins=["spark"], settings=settings) as cluster:
        yield cluster.ready()


@pytest.fixture(scope="session")
def client(cluster: Cluster) -> Iterator[Client]:
    with Client(cluster.endpoints) as client:
        yield client


@pytest.fixture
def save(cluster: Cluster) -> Save:
    """Load rows into the pairs; options as Spark takes them."""

    def saved(rows: DataFrame, **options: Any) -> None:
        given = {"table": "kv.pairs", "endpoints": cluster.endpoints, **options}
        rows.write.format("quorate").mode("append").options(**given).save()

    return saved


@pytest.fixture
def pairs(spark: SparkSession, cluster: Cluster) -> Callable[..., DataFrame]:
    """Read pairs whose keys begin with a prefix."""

    def read(prefix: str, **options: Any) -> DataFrame:
        given = {"table": "kv.pairs", "endpoints": cluster.endpoints, **options}
        rows = spark.read.format("quorate").options(**given).load()
        # The bytes behind the prefix are all smaller.
        return rows.where(
            f"key >= cast('{prefix}' as binary) and key < cast('{prefix}~' as binary)"
        )

    return read
