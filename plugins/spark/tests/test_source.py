"""Loads and reads with a real Spark and a real cluster."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from quorate.client import Client
    from quorate.testing.cluster import Cluster

Pairs = Callable[..., "DataFrame"]
Save = Callable[..., None]


def numbered(
    spark: SparkSession, prefix: str, count: int, *, value: str = "v", parts: int = 3
) -> DataFrame:
    """Return pairs whose keys lie in both shards."""
    return spark.range(0, count, 1, parts).selectExpr(
        f"concat('{prefix}', id % 9, '/', id) as key",
        f"cast(concat('{value}', id) as binary) as value",
    )


def found(rows: DataFrame) -> dict[bytes, bytes]:
    """Return pairs; no key may come twice."""
    collected = rows.collect()
    pairs = {bytes(row.key): bytes(row.value) for row in collected}
    assert len(pairs) == len(collected)
    return pairs


def wanted(prefix: str, count: int, value: str = "v") -> dict[bytes, bytes]:
    return {f"{prefix}{n % 9}/{n}".encode(): f"{value}{n}".encode() for n in range(count)}


def loaded(client: Client, load_id: str) -> Any:
    from quorate_spark.client import Loads

    return Loads(client).get(load_id)


def why(error: pytest.ExceptionInfo[Any]) -> str:
    from quorate_spark.source.errors import sentence_of

    return sentence_of(error.value) or str(error.value)


def explained(rows: DataFrame) -> str:
    """Return the plan that is carried out."""
    with redirect_stdout(StringIO()) as told:
        rows.explain("formatted")
    return told.getvalue()


def pushed(rows: DataFrame) -> set[str]:
    """Return the filters that `EXPLAIN` tells as pushed, and of which column each is."""
    [told] = re.findall(r"^PushedFilters: \[(.*)\]$", explained(rows), re.MULTILINE)
    return set(re.findall(r"\w+\(\w+", told))


def test_what_is_loaded_is_read_again(
    spark: SparkSession, save: Save, pairs: Pairs, client: Client
) -> None:
    save(numbered(spark, "there", 2_500), load_id="there", batch_rows=100)

    assert found(pairs("there")) == wanted("there", 2_500)
    view = loaded(client, "there")
    assert (view.rows, view.bad_rows, view.partitions_finished) == (2_500, 0, 3)
    assert (view.load.state, view.load.table) == (view.load.FINISHED, "kv.pairs")
    pair = client.kv.get("there1/1")
    assert pair is not None
    assert pair.value == b"v1"


def test_the_same_load_changes_nothing_twice(
    spark: SparkSession, save: Save, pairs: Pairs, client: Client
) -> None:
    rows = numbered(spark, "once", 500)
    save(rows, load_id="once", batch_rows=50)
    client.kv.put("once1/1", b"changed since")
    save(rows, load_id="once", batch_rows=50)

    assert found(pairs("once")) == {**wanted("once", 500), b"once1/1": b"changed since"}
    assert loaded(client, "once").rows == 500
    save(rows, load_id="another", batch_rows=50)
    assert found(pairs("once")) == wanted("once", 500)


@pytest.mark.ci
def test_other_rows_under_the_same_load_are_refused(
    spark: SparkSession, save: Save, pairs: Pairs
) -> None:
    save(numbered(spark, "other", 60), load_id="other")
    with pytest.raises(Exception, match="SourceError") as refused:
        save(numbered(spark, "other", 60, value="w"), load_id="other")

    assert "was loaded before with other rows" in why(refused)
    assert found(pairs("other")) == wanted("other", 60)


@pytest.mark.ci
def test_a_load_that_failed_goes_on(
    spark: SparkSession, save: Save, pairs: Pairs, client: Client
) -> None:
    rows = numbered(spark, "goes", 600)
    broken = rows.selectExpr("key", "if(key = 'goes5/500', raise_error('gone'), value) as value")
    with pytest.raises(Exception, match="gone"):
        save(broken, load_id="goes", batch_rows=20)
    assert loaded(client, "goes").load.state == loaded(client, "goes").load.FAILED
    assert 0 < len(found(pairs("goes"))) < 600
    save(rows, load_id="goes", batch_rows=20)

    assert found(pairs("goes")) == wanted("goes", 600)
    assert loaded(client, "goes").load.state == loaded(client, "goes").load.FINISHED


@pytest.mark.ci
def test_of_rows_with_one_key_the_last_one_counts(
    spark: SparkSession, save: Save, pairs: Pairs
) -> None:
    rows = spark.range(0, 400, 1, 1).selectExpr(
        "concat('twice/', id % 7) as key", "cast(concat('v', id) as binary) as value"
    )
    save(rows, batch_rows=5)

    assert found(pairs("twice/")) == {f"twice/{n % 7}".encode(): b"v%d" % n for n in range(400)}


@pytest.mark.ci
def test_bad_rows_fail_a_load_by_name(spark: SparkSession, save: Save, pairs: Pairs) -> None:
    rows = spark.createDataFrame(
        [("bad/1", b"v"), (None, b"v"), ("", b"v")], "key string, value binary"
    ).coalesce(1)
    with pytest.raises(Exception, match="SourceError") as refused:
        save(rows, load_id="bad")

    assert "row 2, column key: is null; row 3, column key: must not be empty" in why(refused)
    assert "load bad" in why(refused)


@pytest.mark.ci
def test_bad_rows_are_written_beside_and_the_others_loaded(
    spark: SparkSession, save: Save, pairs: Pairs, client: Client, tmp_path: Path
) -> None:
    rows = spark.createDataFrame(
        [
            ("dead/1", b"v", None),
            ("dead/2", b"\xff", -1),
            (None, b"v", None),
            ("dead/3", b"v", 60_000),
            ("x" * 5_000, b"v", None),
        ],
        "key string, value binary, ttl_ms long",
    ).coalesce(1)
    for _ in range(2):
        save(rows, load_id="d/1", bad_rows="dead_letter", dead_letter_path=str(tmp_path))

    assert set(found(pairs("dead/"))) == {b"dead/1", b"dead/3"}
    [file] = (tmp_path / "d%2F1").iterdir()
    letters = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(each["row"], each["column"], each["reason"]) for each in letters] == [
        (2, "ttl_ms", "must not be negative, and is -1"),
        (3, "key", "is null"),
        (5, "key", "must have at most 4096 bytes, not 5000"),
    ]
    assert letters[0]["values"] == {"key": "dead/2", "value": {"base64": "/w=="}, "ttl_ms": -1}
    assert loaded(client, "d/1").bad_rows == 3
    with pytest.raises(Exception, match="max_bad_rows is 2"):
        save(
            rows,
            load_id="d/2",
            bad_rows="dead_letter",
            dead_letter_path=str(tmp_path),
            max_bad_rows=2,
        )


@pytest.mark.ci
def test_rows_that_are_there_are_refused_by_an_insert(
    spark: SparkSession, save: Save, pairs: Pairs, client: Client, tmp_path: Path
) -> None:
    client.kv.put("insert1/1", b"mine")
    options = {
        "conflict": "insert_only",
        "bad_rows": "dead_letter",
        "dead_letter_path": str(tmp_path),
    }
    save(numbered(spark, "insert", 30, parts=1), load_id="insert", **options)

    assert found(pairs("insert")) == {**wanted("insert", 30), b"insert1/1": b"mine"}
    [file] = tmp_path.rglob("*.jsonl")
    before = file.read_text()
    [letter] = map(json.loads, before.splitlines())
    assert letter["row"] == 2
    assert letter["reason"].startswith("REVISION_MISMATCH: ")
    save(numbered(spark, "insert", 30, parts=1), load_id="insert", **options)
    assert file.read_text() == before


@pytest.mark.ci
def test_an_aborted_load_is_taken_back_but_for_what_was_changed_since(
    spark: SparkSession, save: Save, pairs: Pairs, client: Client
) -> None:
    from quorate_spark.source.undoing import abort

    client.kv.put("back9/mine", b"mine")
    rows = numbered(spark, "back", 300)
    save(rows, load_id="back", conflict="insert_only", batch_rows=20)
    client.kv.put("back1/1", b"changed")
    removed = [abort(client, "back", lambda _: None) for _ in range(2)]

    assert removed == [299, 299]
    assert found(pairs("back")) == {b"back9/mine": b"mine", b"back1/1": b"changed"}
    with pytest.raises(Exception, match="was aborted"):
        save(rows, load_id="back", conflict="insert_only", batch_rows=20)
    assert len(found(pairs("back"))) == 2


@pytest.mark.ci
def test_a_forgotten_load_id_loads_anew(
    spark: SparkSession, save: Save, pairs: Pairs, client: Client
) -> None:
    from quorate_spark.source.undoing import forget

    save(numbered(spark, "anew", 50), load_id="anew")
    forget(client, "anew")
    assert loaded(client, "anew") is None
    save(numbered(spark, "anew", 50, value="w"), load_id="anew")

    assert found(pairs("anew")) == wanted("anew", 50, "w")


@pytest.mark.ci
def test_only_inserts_are_taken_back(spark: SparkSession, save: Save, client: Client) -> None:
    from quorate.client import RejectedError
    from quorate_spark.source.undoing import abort

    save(numbered(spark, "over", 5), load_id="over")
    with pytest.raises(RejectedError, match="only a load with conflict = insert_only"):
        abort(client, "over", lambda _: None)


def test_filters_of_the_key_are_pushed_down(spark: SparkSession, save: Save, pairs: Pairs) -> None:
    save(numbered(spark, "push", 300), load_id="push")
    keys = sorted(wanted("push", 300))
    low, high = keys[40].decode(), keys[200].decode()
    for ranges in (1, 5):
        rows = pairs("push", ranges_per_shard=ranges)
        between = rows.where(f"key > cast('{low}' as binary) and key <= cast('{high}' as binary)")
        some = rows.where(f"key in (cast('{low}' as binary), cast('{high}' as binary))")

        assert sorted(found(between)) == keys[41:201]
        assert sorted(found(some)) == [keys[40], keys[200]]
    others = rows.where("value = cast('v7' as binary)")

    assert list(found(others)) == [b"push7/7"]
    # Nothing of it is left to Spark.
    assert "Filter (" not in explained(between)
    assert "Filter (" in explained(others)
    # Spark says what it handed over; `pairs` asks for a prefix by two filters of its own.
    prefix = {"GreaterThanOrEqual(key", "LessThan(key"}
    assert pushed(others) == prefix
    assert pushed(between) == prefix | {"GreaterThan(key", "LessThanOrEqual(key"}
    assert pushed(some) == prefix | {"In(key"}


@pytest.mark.ci
def test_a_spark_that_passes_no_filters_reads_all_and_filters_itself(
    spark: SparkSession, save: Save, pairs: Pairs
) -> None:
    save(numbered(spark, "alone", 30), load_id="alone")
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "false")
    try:
        rows = pairs("alone")
        assert found(rows) == wanted("alone", 30)
        assert "Filter (" in explained(rows)
    finally:
        spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")


@pytest.mark.ci
def test_a_table_without_rows_in_a_range(spark: SparkSession, pairs: Pairs) -> None:
    assert pairs("nothing is here").count() == 0


@pytest.mark.ci
def test_nothing_is_loaded_from_nothing(
    spark: SparkSession, save: Save, pairs: Pairs, client: Client
) -> None:
    save(numbered(spark, "empty", 0), load_id="empty")

    assert loaded(client, "empty").rows == 0
    assert not found(pairs("empty"))


@pytest.mark.parametrize(
    ("columns", "options", "told"),
    [
        ("key string", {}, "value is missing"),
        ("key string, value binary, extra int", {}, "extra is no column of it"),
        ("key string, value int", {}, "value is int and must be binary"),
        ("key string, value binary", {"table": "kv.none"}, "there is no table 'kv.none'"),
        ("key string, value binary", {"table": ""}, "the option table is not set"),
        ("key string, value binary", {"batch_rows": "many"}, "batch_rows is 'many'"),
        ("key string, value binary", {"no_such": "1"}, "no option no_such"),
        ("key string, value binary", {"bad_rows": "dead_letter"}, "dead_letter_path is not set"),
        (
            "key string, value binary",
            {"endpoints": "127.0.0.1:1", "timeout_s": "1"},
            "127.0.0.1:1",
        ),
    ],
)
def test_what_cannot_be_is_told_before_any_row_moves(
    spark: SparkSession,
    cluster: Cluster,
    client: Client,
    columns: str,
    options: dict[str, str],
    told: str,
) -> None:
    from pyspark.sql.types import StructType
    from quorate_spark.source.data_source import QuorateSource
    from quorate_spark.source.errors import SourceError

    given = {"table": "kv.pairs", "endpoints": cluster.endpoints, "load_id": "refused", **options}
    # What Spark calls on the driver; that its users are told of it is shown by other tests.
    with pytest.raises(SourceError, match=re.escape(told)):
        QuorateSource(given).writer(StructType.fromDDL(columns), overwrite=False)

    assert loaded(client, "refused") is None


@pytest.mark.ci
def test_columns_that_do_not_fit_fail_the_write(
    spark: SparkSession, save: Save, client: Client
) -> None:
    with pytest.raises(Exception, match="SourceError") as refused:
        save(spark.createDataFrame([], "key string"), load_id="unfit")

    assert "value is missing" in why(refused)
    assert loaded(client, "unfit") is None


def test_tables_are_not_overwritten(spark: SparkSession, cluster: Cluster) -> None:
    rows = numbered(spark, "write", 1).write.format("quorate").mode("overwrite")
    with pytest.raises(Exception, match='use mode\\("append"\\)'):
        rows.options(table="kv.pairs", endpoints=cluster.endpoints).save()
