"""Tables of other plugins: loaded, changed and read again with a real Spark and a real cluster."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from quorate_mqtt.client import SyncMqtt
from quorate_mqtt.v1.topics_pb2 import GrowTopicRequest
from quorate_offset.client import SyncOffsets

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from quorate.client import Client
    from quorate.testing.cluster import Cluster

pytestmark = pytest.mark.ci

Save = Callable[..., None]
Table = Callable[[str], "DataFrame"]
Row = tuple[Any, ...]

OFFSETS = (
    "tenant string, `group` string, topic string, partition long, offset long, metadata string"
)
TOPICS = (
    "tenant string, name string, partitions int, replication int, description string,"
    " storage string, source string, segment_bytes long, records long, retention_s long"
)
SESSIONS = "tenant string, client_id string, expiry_interval_s long, payload binary"
SUBSCRIPTIONS = (
    "tenant string, client_id string, filter string, qos int, no_local boolean,"
    " retain_as_published boolean, retain_handling string, identifier long, properties binary"
)


@pytest.fixture
def table(spark: SparkSession, cluster: Cluster) -> Table:
    """Read a table."""

    def read(name: str) -> DataFrame:
        options = {"table": name, "endpoints": cluster.endpoints}
        return spark.read.format("quorate").options(**options).load()

    return read


@pytest.fixture
def load(spark: SparkSession, save: Save) -> Callable[..., None]:
    """Load rows in three parts."""

    def loaded(table: str, schema: str, rows: Iterable[Row], load_id: str, **more: Any) -> None:
        frame = spark.createDataFrame(spark.sparkContext.parallelize(list(rows), 3), schema)
        save(frame, table=table, load_id=load_id, batch_rows=50, **more)

    return loaded


def by_key(rows: Iterable[Row], columns: int) -> dict[Row, Row]:
    """Return rows by the first columns; no key may come twice."""
    listed = [tuple(row) for row in rows]
    keyed = {row[:columns]: row for row in listed}
    assert len(keyed) == len(listed)
    return keyed


def dead(place: Path, column: str) -> dict[str, str]:
    """Return why rows were not loaded, by what they have in a column."""
    lines = [line for file in place.rglob("*.jsonl") for line in file.read_text().splitlines()]
    letters: list[Any] = [json.loads(line) for line in lines]
    return {each["values"][column]: f"{each['column']}: {each['reason']}" for each in letters}


def beside(place: Path) -> dict[str, str]:
    """Return the options that write bad rows to a directory."""
    return {"bad_rows": "dead_letter", "dead_letter_path": str(place)}


def test_offsets(
    load: Callable[..., None],
    table: Table,
    client: Client,
    tenants: tuple[str, ...],
    tmp_path: Path,
) -> None:
    rows: list[Row] = [
        (tenants[n % 2], f"g{n % 9}", "spark", n, 10 * n, f"node {n}" if n % 3 else None)
        for n in range(400)
    ]
    changed = [(*row[:4], row[4] // 2, "again") for row in rows[100:150]]

    def mine() -> DataFrame:
        return table("offset.offsets").where("topic = 'spark'")

    load("offset.offsets", OFFSETS, rows, "offsets")

    assert by_key(mine().collect(), 4) == by_key(rows, 4)
    load("offset.offsets", OFFSETS, changed, "offsets again")
    expected = by_key(rows, 4) | by_key(changed, 4)
    assert by_key(mine().collect(), 4) == expected
    group = mine().where("tenant = 'acme' and `group` = 'g4'")
    assert set(by_key(group.collect(), 4)) == {key for key in expected if key[:2] == ("acme", "g4")}
    with redirect_stdout(StringIO()) as plan:
        group.explain("formatted")
    filters = ["EqualTo(tenant,acme)", "EqualTo(group,g4)", "EqualTo(topic,spark)"]
    [pushed] = re.findall(r"^PushedFilters: \[(.*)\]$", plan.getvalue(), re.MULTILINE)
    assert sorted(pushed.split(", ")) == sorted(filters)
    fetched = SyncOffsets(client).fetch(tenants[1], "g2", "spark", 101)
    assert fetched is not None
    assert (fetched.offset, fetched.metadata) == (505, "again")

    bad = [("nobody", *rows[0][1:]), (*rows[0][:4], -1, None)]
    load("offset.offsets", OFFSETS, [*bad, rows[1]], "bad offsets", **beside(tmp_path))
    told = dead(tmp_path, "tenant")
    assert told.pop("nobody").startswith(": NOT_FOUND: ")
    assert told == {tenants[0]: "offset: must not be negative, and is -1"}
    assert by_key(mine().collect(), 4) == expected


def test_topics(
    load: Callable[..., None],
    table: Table,
    client: Client,
    tenants: tuple[str, ...],
    tmp_path: Path,
) -> None:
    rows: list[Row] = [
        (tenants[n % 2], f"spark/{n}", n + 1, 2, f"the {n}", "S3", "KAFKA", 1_024, 7, 60)
        for n in range(90)
    ]

    def mine() -> DataFrame:
        return table("mqtt.topics").where("name like 'spark/%'")

    load("mqtt.topics", TOPICS, rows, "topics")

    assert by_key(mine().collect(), 2) == by_key(rows, 2)
    growth = GrowTopicRequest(tenant=rows[8][0], name=rows[8][1], partitions=99)
    SyncMqtt(client).topics.do("Grow", growth)
    expected = by_key(rows, 2) | by_key([(*rows[8][:2], 99, *rows[8][3:])], 2)
    assert by_key(mine().collect(), 2) == expected
    one = mine().where("tenant = 'acme' and name = 'spark/8'")
    assert by_key(one.collect(), 2) == {rows[8][:2]: expected[rows[8][:2]]}

    added = (tenants[0], "spark/added", *rows[0][2:])
    without = (tenants[0], "spark/without", 0, *rows[0][3:])
    load("mqtt.topics", TOPICS, [rows[5], without, added], "bad topics", **beside(tmp_path))
    told = dead(tmp_path, "name")
    assert told.pop("spark/5").startswith(": ALREADY_EXISTS: ")
    assert told == {"spark/without": "partitions: must be from 1 to 1024, not 0"}
    assert by_key(mine().collect(), 2) == expected | by_key([added], 2)


def test_sessions(
    load: Callable[..., None],
    table: Table,
    client: Client,
    tenants: tuple[str, ...],
    tmp_path: Path,
) -> None:
    from quorate_spark.source.undoing import abort

    rows: list[Row] = [
        (tenants[n % 2], f"spark-{n}", 3_600 + n, bytearray([n]) if n else None) for n in range(200)
    ]
    changed = [(*row[:2], 7_200, bytearray(b"again")) for row in rows[50:80]]

    def mine() -> DataFrame:
        return table("mqtt.sessions").where("client_id like 'spark-%'")

    load("mqtt.sessions", SESSIONS, rows, "sessions")

    assert by_key(mine().collect(), 2) == by_key(rows, 2)
    load("mqtt.sessions", SESSIONS, changed, "sessions again")
    expected = by_key(rows, 2) | by_key(changed, 2)
    assert by_key(mine().collect(), 2) == expected
    one = mine().where("tenant = 'acme' and client_id = 'spark-60'")
    assert by_key(one.collect(), 2) == {rows[60][:2]: expected[rows[60][:2]]}
    session = SyncMqtt(client).sessions.get(*rows[60][:2])
    assert session is not None
    assert (session.expiry_interval_s, session.payload) == (7_200, b"again")

    added = (tenants[0], "spark-added", 3_600, None)
    negative = (tenants[0], "spark-negative", -1, None)
    new_only = {"conflict": "insert_only", **beside(tmp_path)}
    load("mqtt.sessions", SESSIONS, [rows[5], negative, added], "inserted", **new_only)
    told = dead(tmp_path, "client_id")
    assert told.pop("spark-5").startswith(": ALREADY_EXISTS: ")
    assert told.pop("spark-negative").startswith("expiry_interval_s: must be from 0 to ")
    assert not told
    assert by_key(mine().collect(), 2) == expected | by_key([added], 2)
    assert abort(client, "inserted", lambda _: None) == 1
    assert by_key(mine().collect(), 2) == expected


def test_subscriptions(
    load: Callable[..., None], table: Table, tenants: tuple[str, ...], tmp_path: Path
) -> None:
    rows: list[Row] = [
        (
            *(tenants[n % 2], f"client-{n % 16}", f"spark/{n}/+"),
            *(n % 3, True, False, "NEVER", n or None, bytearray([n]) if n else None),
        )
        for n in range(120)
    ]
    changed = [(*row[:3], 2 - row[3], *row[4:]) for row in rows[30:60]]

    def mine() -> DataFrame:
        return table("mqtt.subscriptions").where("filter like 'spark/%'")

    load("mqtt.subscriptions", SUBSCRIPTIONS, rows, "subscriptions")

    assert by_key(mine().collect(), 3) == by_key(rows, 3)
    load("mqtt.subscriptions", SUBSCRIPTIONS, changed, "subscriptions again")
    expected = by_key(rows, 3) | by_key(changed, 3)
    assert by_key(mine().collect(), 3) == expected

    bad = [(tenants[0], "nobody", *rows[0][2:]), (*rows[1][:3], 3, *rows[1][4:])]
    load(
        "mqtt.subscriptions",
        SUBSCRIPTIONS,
        [*bad, rows[0]],
        "bad subscriptions",
        **beside(tmp_path),
    )
    told = dead(tmp_path, "client_id")
    assert told.pop("nobody").startswith(": NOT_FOUND: ")
    assert told.pop("client-1").startswith("qos: ")
    assert not told
    assert by_key(mine().collect(), 3) == expected
