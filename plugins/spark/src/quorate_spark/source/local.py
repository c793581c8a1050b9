"""Spark on this machine, without a Spark cluster."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from pyspark.sql import SparkSession

from quorate_spark.source.data_source import QuorateSource
from quorate_spark.source.errors import SourceError
from quorate_spark.source.java import missing_java
from quorate_spark.source.lean_home import lean_home

_SETTINGS: Final = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    # Filters of key columns become ranges of keys.
    "spark.sql.python.filterPushdown.enabled": "true",
    "spark.log.level": "ERROR",
}


def local_session(name: str, *, cores: int | None = None) -> SparkSession:
    """Start Spark with the data source `quorate`; raises `SourceError` without Java."""
    why = missing_java()
    if why:
        raise SourceError(why)
    # Workers run this very Python: whatever `python3` is on PATH may lack the plugins.
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    builder = SparkSession.builder.appName(name).master(f"local[{cores or '*'}]")
    for setting, value in _SETTINGS.items():
        builder = builder.config(setting, value)
    with lean_home():
        session = builder.getOrCreate()
    session.dataSource.register(QuorateSource)
    return session


@contextmanager
def local_spark(name: str, *, cores: int | None = None) -> Iterator[SparkSession]:
    """Yield a Spark session for the block; a session that already ran is left running."""
    running = SparkSession.getActiveSession() is not None
    session = local_session(name, cores=cores)
    try:
        yield session
    finally:
        if not running:
            session.stop()
