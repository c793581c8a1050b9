from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from tests.support import lake, maven
from tests.support.zookeeper import kafka

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark() -> Iterator["SparkSession"]:
    """Spark with Kafka and Delta Lake."""
    if why := lake.missing() or maven.missing(kafka.PROJECT):
        pytest.skip(why)
    with lake.session() as session:
        yield session
