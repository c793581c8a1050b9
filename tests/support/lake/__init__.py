"""Parts of Spark that are no part of its distribution: Kafka and Delta Lake, which Maven fetches.

Their versions are those of `pom.xml`, which must fit the version of Spark.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree

from tests.support import maven

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: The folder of their `pom.xml`.
PROJECT: Final = Path(__file__).parent
_POM: Final = "{http://maven.apache.org/POM/4.0.0}"
_DELTA: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def missing() -> str:
    """Return why these parts cannot run here; empty when they can."""
    if find_spec("pyspark") is None:
        return 'Spark for Python is not installed: pip install "quorate-spark[testing]"'
    import pyspark

    wanted = dict(parts())["org.apache.spark:spark-sql-kafka-0-10_2.13"]
    if pyspark.__version__ != wanted:
        return f"they need Spark {wanted}, and {pyspark.__version__} is installed: `tox -e lake`"
    return maven.missing(PROJECT)


def parts() -> list[tuple[str, str]]:
    """Return the group and name of each part, and its version."""
    found = ElementTree.parse(PROJECT / "pom.xml").iter(f"{_POM}dependency")
    texts = [[each.text or "" for each in part] for part in found]
    return [(f"{group}:{name}", version) for group, name, version in texts]


@contextmanager
def session() -> Iterator[SparkSession]:
    """Give Spark with two cores of this machine and with all parts."""
    from pyspark.sql import SparkSession
    from quorate_spark.source.local import local_session

    settings = {
        **_DELTA,
        "spark.jars": maven.class_path(PROJECT).replace(":", ","),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.pyspark.python": sys.executable,
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    builder.getOrCreate()
    # It takes the one that is there.
    spark = local_session("lake")
    try:
        yield spark
    finally:
        spark.stop()
