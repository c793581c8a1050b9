"""Tables of Spark's catalog: made with options alone, and then read and written by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from quorate.client import Client

pytest.importorskip("pyspark", reason='pip install "quorate-spark[testing]"')

from quorate_spark.source.data_source import QuorateSource
from quorate_spark.source.errors import SourceError, sentence_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType
    from quorate.testing.cluster import Cluster

#: What Spark gives a source of which a table is made.
MADE = {"owner": "ada", "provider": "quorate", "comment": "a property", "option.table": "kv.pairs"}


def made(**options: str) -> StructType:
    return QuorateSource({**MADE, **{f"option.{name}": options[name] for name in options}}).schema()


def test_the_columns_of_a_table_keep_its_options_for_reads_and_writes() -> None:
    columns = made(endpoints="h:1", batch_rows="9", view_ttl_s="5", columns="key")
    reader = QuorateSource({}).reader(columns)
    own = QuorateSource({"view_ttl_s": "7"}).reader(columns)

    assert columns.fieldNames() == ["key"]
    assert (reader.options.table, reader.options.endpoints) == ("kv.pairs", "h:1")
    assert (reader.options.view_ttl_s, own.options.view_ttl_s) == (5.0, 7.0)
    # The columns come as text from the catalog, and to the writer.
    again = type(columns).fromJson(columns.jsonValue())
    assert QuorateSource({}).reader(again).options == reader.options
    with pytest.raises(SourceError, match="value is missing"):
        QuorateSource({}).writer(again, overwrite=False)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"tables": "kv.pairs"}, "Did you mean 'table'?"),
        ({"table": "kv.pair"}, "Did you mean 'kv.pairs'?"),
        ({"conflict": "insert"}, "Did you mean 'insert_only'?"),
        ({"load_id": "x"}, "INSERT INTO … WITH (load_id ="),
        ({"starting": "now"}, "'starting' is one of streams of changes"),
    ],
)
def test_wrong_options_are_refused_when_a_table_is_made(options: dict[str, str], told: str) -> None:
    with pytest.raises(SourceError) as refused:
        made(**options)

    assert told in str(refused.value)


def test_a_table_that_kept_no_options_says_how_to_make_it() -> None:
    columns = made()
    columns.fields[0].metadata = {}
    with pytest.raises(SourceError, match="CREATE TABLE has neither columns nor AS SELECT"):
        QuorateSource({}).reader(columns)


@pytest.fixture
def pairs(spark: SparkSession, cluster: Cluster, tmp_path: Path) -> Iterator[str]:
    """A table of the catalog with all pairs."""
    spark.sql(f"CREATE DATABASE made LOCATION '{tmp_path}'")
    spark.sql(
        "CREATE TABLE made.pairs USING quorate OPTIONS (table 'kv.pairs', batch_rows 100,"
        f" endpoints '{cluster.endpoints}')"
    )
    yield "made.pairs"
    spark.sql("DROP DATABASE made CASCADE")


def plan(rows: DataFrame) -> str:
    with redirect_stdout(StringIO()) as told:
        rows.explain("formatted")
    return told.getvalue()


@pytest.mark.ci
def test_a_table_is_made_read_and_written_by_sql(
    spark: SparkSession, client: Client, pairs: str
) -> None:
    from quorate_spark.client import Loads

    described = spark.sql(f"DESCRIBE {pairs}").collect()
    assert [(each.col_name, each.data_type) for each in described] == [
        ("key", "binary"),
        ("value", "binary"),
        ("ttl_ms", "bigint"),
    ]

    client.kv.put("made/1", b"old")
    client.kv.put("made/9", b"kept")
    spark.sql(
        f"INSERT INTO {pairs} WITH (load_id = 'made') SELECT * FROM VALUES"
        " (cast('made/1' AS BINARY), cast('new' AS BINARY), NULL),"
        " (cast('made/2' AS BINARY), cast('new' AS BINARY), NULL)"
    )
    load = Loads(client).get("made")
    assert load is not None
    assert load.rows == 2
    rows = spark.sql(
        f"SELECT cast(key AS STRING) AS key, cast(value AS STRING) AS value FROM {pairs}"
        " WHERE key >= cast('made/' AS BINARY) AND key < cast('made0' AS BINARY)"
    )
    # The same keys are replaced, and what the load does not bring stays.
    found = {row.key: row.value for row in rows.collect()}
    assert found == {"made/1": "new", "made/2": "new", "made/9": "kept"}

    # SQL predicates of the key are carried out by the nodes: nothing of them is left to Spark.
    told = plan(rows)
    [pushed] = re.findall(r"^PushedFilters: \[(.*)\]$", told, re.MULTILINE)
    assert re.findall(r"(\w+)\(key", pushed) == ["GreaterThanOrEqual", "LessThan"]
    assert "Filter (" not in told
    with pytest.raises(Exception, match="SourceError") as refused:
        spark.sql(f"INSERT OVERWRITE {pairs} SELECT * FROM {pairs} WHERE key = x'00'")
    assert "INSERT INTO" in str(sentence_of(refused.value))
