"""The pages on Spark: their code runs, and they name every option with its default."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from quorate.client import Client
from quorate_featureflags.plugin import Environment, Project
from quorate_featureflags.v1.rows_client import SyncEnvironments, SyncFlags, SyncProjects
from quorate_mqtt.rules import BLACKLIST_ENTRY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from quorate.testing.cluster import Cluster

DOCS = Path(__file__).parents[3] / "docs"
HOW_TO = (DOCS / "how-to" / "load-with-spark.md").read_text(encoding="utf-8")
FOLLOW = (DOCS / "how-to" / "follow-changes.md").read_text(encoding="utf-8")
SQL = (DOCS / "how-to" / "query-with-spark-sql.md").read_text(encoding="utf-8")
TYPES = (DOCS / "how-to" / "use-maps-and-moments-in-spark.md").read_text(encoding="utf-8")
TUTORIAL = (DOCS / "tutorial" / "load-and-query.md").read_text(encoding="utf-8")


def code_of(text: str) -> list[str]:
    return re.findall(r"^```python\n(.+?)^```$", text, re.MULTILINE | re.DOTALL)


@pytest.mark.ci
def test_the_examples_of_the_how_to(
    spark: SparkSession,
    cluster: Cluster,
    client: Client,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
) -> None:
    names: dict[str, Any] = {}
    for each in code_of(HOW_TO):
        exec(each, names)

    assert names["load"](spark, cluster.endpoints) == 2
    for form in ("parquet", "csv", "json"):
        rows = spark.createDataFrame([(f"of/{form}", "guest")], "key string, value string")
        writer = rows.write.format(form)
        if form == "csv":
            writer = writer.option("header", True)
        writer.save(str(tmp_path / f"users.{form}"))
    names["load_files"](spark, cluster.endpoints, str(tmp_path))
    pairs = [client.kv.get(f"of/{form}") for form in ("parquet", "csv", "json")]
    assert [pair and pair.value for pair in pairs] == [b"guest"] * 3
    logged = spark.createDataFrame([("of/log", "guest")], "key string, value string")
    with caplog.at_level("INFO", "quorate.spark"):
        names["load_and_log"](logged, cluster.endpoints, "of/log")
    assert client.kv.get("of/log") is not None
    assert "load of/log is finished: " in caplog.text
    names["explain"](spark, cluster.endpoints)
    explained = capsys.readouterr().out
    assert "BatchScan quorate" in explained
    assert "PushedFilters: [EqualTo(key," in explained


@pytest.mark.ci
def test_the_examples_of_following_changes(
    spark: SparkSession, cluster: Cluster, node: Cluster, client: Client, tmp_path: Path
) -> None:
    follow, copy, _ = code_of(FOLLOW)
    names: dict[str, Any] = {}
    exec(follow, names)
    exec(copy, names)
    client.kv.put("orders/1", b"open")
    query = names["follow"](spark, cluster.endpoints, str(tmp_path / "orders"))
    query.processAllAvailable()
    client.kv.put("orders/1", b"paid")
    client.kv.delete("orders/1")
    query.processAllAvailable()
    query.stop()

    rows = spark.table("orders").orderBy("_revision").collect()
    assert [row._operation for row in rows] == ["row", "put", "deleted"]
    client.kv.put("orders/2", b"open")
    copied = names["copy"](spark, cluster.endpoints, node.endpoints, str(tmp_path / "copy"))
    assert copied.awaitTermination(120)
    with Client(node.endpoints) as other:
        pair = other.kv.get("orders/2")
    assert pair is not None
    assert pair.value == b"open"


@pytest.mark.ci
def test_the_examples_of_sql(
    spark: SparkSession, cluster: Cluster, client: Client, tmp_path: Path
) -> None:
    names: dict[str, Any] = {}
    for each in code_of(SQL):
        exec(each, names)
    client.kv.put_many({f"beside/{number}".encode(): b"v" for number in range(200)})

    names["configure"](spark)
    spark.sql(f"CREATE DATABASE sql_page LOCATION '{tmp_path}'")
    spark.sql("USE sql_page")
    try:
        assert names["make"](spark, cluster.endpoints).columns == ["key", "value", "ttl_ms"]
        names["hire_by_name"](spark, "hired")
        # It is the same load, and changes nothing twice.
        client.kv.put("staff/ben", b"changed since")
        names["hire"](spark, "hired")
        admins = names["admins"](spark)
        found = {row.user: row.role for row in admins.collect()}
    finally:
        spark.sql("USE default")
        spark.sql("DROP DATABASE sql_page CASCADE")

    assert found == {"staff/ada": "admin", "staff/ben": "changed since"}
    # What the interface of Spark shows: nodes have sent these rows, and not the 200 others.
    scan = admins._jdf.queryExecution().executedPlan().collectLeaves().head()
    assert scan.metrics().apply("numOutputRows").value() == 2
    # Dropping the table has deleted no row.
    assert client.kv.get("staff/ada") is not None


@pytest.mark.ci
def test_the_examples_of_maps_and_moments(
    spark: SparkSession, cluster: Cluster, client: Client, tenants: tuple[str, ...]
) -> None:
    names: dict[str, Any] = {}
    for each in code_of(TYPES):
        exec(each, names)
    tenant = tenants[0]
    SyncProjects(client).create(Project(tenant=tenant, project="shop"))
    SyncEnvironments(client).create(Environment(tenant=tenant, project="shop", environment="live"))

    [lab] = names["keep_out"](spark, cluster.endpoints).collect()
    # A moment has the zone of this machine in Python.
    assert (lab.name, lab.ends_at_ms.timestamp()) == ("lab", 4_070_908_800)
    entries = client.records(BLACKLIST_ENTRY)
    stored = [entries.get(tenant, name) for name in ("lab", "old")]
    assert [each and each.ends_at_ms for each in stored] == [4_070_908_800_000, 0]
    labels = names["label"](spark, cluster.endpoints).collect()
    assert sorted(map(tuple, labels)) == [("banner", "team", "web"), ("basket", "team", "web")]
    search = SyncFlags(client).get(tenant, "shop", "live", "search")
    assert search is not None
    assert search.labels == {"team": "find"}
    payloads = names["payloads"](spark, cluster.endpoints).collect()
    assert {row.client_id: row.payload for row in payloads}["meter"] == "00FF"


@pytest.mark.ci
def test_the_tutorial(
    spark: SparkSession,
    cluster: Cluster,
    settle: Callable[..., None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"endpoints": cluster.endpoints, "clients": 3_000}
    first, *others = code_of(TUTORIAL)
    exec(first, names)
    settle("oslo", "rome")
    for each in others:
        exec(each, names)

    assert names["spark"] is spark
    queued = sum(number % 100 for number in range(0, 3_000, 3))
    assert re.search(rf"^\| +0\| +1000\| +{queued}\|$", capsys.readouterr().out, re.MULTILINE)
    # Four topics of oslo and two of rome, each with four partitions.
    lags = {
        "oslo/billing": 4 * 4 * 300,
        "oslo/audit": 4 * (3 * 50 + 1_000),
        "rome/billing": 2 * 4 * 300,
        "rome/audit": 2 * (3 * 50 + 1_000),
    }
    picture = ElementTree.parse("lag.svg").getroot()
    texts = [each.text for each in picture if each.tag.endswith("text")]
    widths = [each.get("width") for each in picture if each.tag.endswith("rect")]
    assert texts == [text for group, lag in lags.items() for text in (group, str(lag))]
    assert widths == [str(300 * lag // max(lags.values())) for lag in lags.values()]


def test_every_option_is_told_with_its_default() -> None:
    pytest.importorskip("pyspark", reason='pip install "quorate-spark[testing]"')
    from quorate_spark.source import options

    told = dict(re.findall(r"^\| `([\w.]+)` \| ([^|]*?) ?\| \S.+ \|$", HOW_TO, re.MULTILINE))
    written = options.write_options({"table": "t"})
    read = options.read_options({"table": "t"})

    # Options of streams are on their own page.
    streams = set(re.findall(r"`([a-z_.]+)`", FOLLOW))
    assert streams >= options._FEED | options._SINK
    feed = options.feed_options({"changes": "t"})
    begun = dict(re.findall(r"^\| `(\w+)` \| `([^|]*?)` \| \S.+ \|$", FOLLOW, re.MULTILINE))
    assert begun == {name: str(getattr(feed, name)) for name in begun}
    assert begun.keys() >= {"starting", "lost_history", "max_rows_per_trigger"}
    assert set(told) | {"table"} >= options.WRITE | (options.READ - options._BOTH)
    counted = ("max_bad_rows", "batch_rows", "max_in_flight", "timeout_s")
    assert told["load.mode"] == f"`{written.load_mode}`"
    for name in ("conflict", "bad_rows", *counted):
        assert told[name] == f"`{getattr(written, name)}`"
    assert told["view_ttl_s"] == f"`{read.view_ttl_s}`"


def test_every_type_is_told_with_that_of_spark() -> None:
    pytest.importorskip("pyspark", reason='pip install "quorate-spark[testing]"')
    from quorate_spark.source.columns import SPARK

    told = dict(re.findall(r"^\| `([a-z]+)`[^|]*\| `([A-Z]+)` \|$", SQL, re.MULTILINE))
    assert told == {name: kind.simpleString().upper() for name, kind in SPARK.items()}
