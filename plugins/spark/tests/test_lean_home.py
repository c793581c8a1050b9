"""Processes of a local Spark import PySpark as it is installed, and not from a zip file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason='pip install "quorate-spark[testing]"')

import pyspark
from quorate_spark.source.lean_home import lean_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_workers_import_the_installed_pyspark(spark: SparkSession) -> None:
    imported = spark.sparkContext.parallelize([0]).map(lambda _: pyspark.__file__).collect()

    assert imported == [pyspark.__file__]


def test_a_home_lasts_and_is_named_for_the_start_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    with lean_home():
        home = Path(os.environ["SPARK_HOME"])

    assert "SPARK_HOME" not in os.environ
    assert sorted(each.name for each in home.iterdir()) == ["bin", "jars"]
    assert (home / "bin" / "spark-submit").is_file()


def test_the_home_that_a_user_names_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    with lean_home():
        assert os.environ["SPARK_HOME"] == "/opt/spark"
    assert os.environ["SPARK_HOME"] == "/opt/spark"
