"""What the streaming sink makes of the rows of a batch, without Spark."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from quorate.client import Client

if TYPE_CHECKING:
    import pyarrow as pa
    from quorate.testing.cluster import Cluster

pytestmark = pytest.mark.ci

Change = tuple[str, str, str | None]


@pytest.fixture
def client(node: Cluster) -> Iterator[Client]:
    with Client(node.endpoints) as client:
        yield client


def rows_of(*changes: Change) -> pa.RecordBatch:
    import pyarrow as pa

    columns = {
        "_operation": pa.array([each[0] for each in changes], pa.string()),
        "key": pa.array([each[1].encode() for each in changes], pa.binary()),
        "value": pa.array([each[2] and each[2].encode() for each in changes], pa.binary()),
        "_revision": pa.array([1] * len(changes), pa.int64()),
    }
    return pa.RecordBatch.from_pydict(columns)


def applied(
    node: Cluster, query: str, batch: int, *changes: Change, partition: int = 0, **options: Any
) -> Any:
    """Apply a partition of a batch, as a task does."""
    from quorate_spark.source import sink
    from quorate_spark.source.options import sink_options

    given = {"table": "kv.pairs", "endpoints": node.endpoints, "operation": "_operation", **options}
    epoch = sink.Epoch(query, batch)
    rows = [rows_of(*changes)] if changes else []
    return asyncio.run(sink.apply(sink_options(given), epoch, partition, rows))


def committed(node: Cluster, query: str, batch: int, *sent: Any) -> None:
    from quorate_spark.source.options import sink_options
    from quorate_spark.source.sink import ChangeWriter

    given = {"table": "kv.pairs", "endpoints": node.endpoints, "operation": "_operation"}
    ChangeWriter(sink_options(given)).commit(list(sent), batch)


def value(client: Client, key: str) -> bytes | None:
    pair = client.kv.get(key)
    return None if pair is None else pair.value


def test_the_last_change_of_a_key_counts(node: Cluster, client: Client) -> None:
    client.kv.put("last/gone", b"0")
    sent = applied(
        node,
        "last",
        0,
        ("put", "last/a", "1"),
        ("created", "last/b", "1"),
        ("updated", "last/a", "2"),
        ("deleted", "last/b", None),
        ("deleted", "last/gone", None),
        ("delete", "last/never", None),
    )

    assert (sent.rows, sent.bad_rows) == (4, 0)
    assert value(client, "last/a") == b"2"
    assert [value(client, f"last/{key}") for key in ("b", "gone", "never")] == [None] * 3


def test_a_batch_that_is_repeated_changes_nothing(node: Cluster, client: Client) -> None:
    changes: list[Change] = [("put", f"again{n % 3}/{n}", "1") for n in range(12)]
    applied(node, "again", 0, *changes, batch_rows=2)
    client.kv.put("again1/1", b"by another")
    client.kv.delete("again2/2")

    # In whatever order its rows come.
    applied(node, "again", 0, *reversed(changes), batch_rows=2)

    assert value(client, "again1/1") == b"by another"
    assert value(client, "again2/2") is None


def test_a_batch_that_was_given_up_does_not_write_over_a_later_one(
    node: Cluster, client: Client
) -> None:
    from quorate_spark.source.errors import SourceError

    first = applied(node, "late", 0, ("put", "late/a", "1"))
    committed(node, "late", 0, first)
    second = applied(node, "late", 1, ("put", "late/a", "2"))
    committed(node, "late", 1, second)

    with pytest.raises(SourceError, match="FENCED"):
        applied(node, "late", 0, ("put", "late/a", "1"))
    assert value(client, "late/a") == b"2"


def test_a_batch_is_forgotten_with_the_next_one(node: Cluster, client: Client) -> None:
    from quorate_spark.client import Loads

    for batch in range(3):
        changes: list[Change] = [("put", "known/a", str(batch))] if batch != 1 else []
        committed(node, "known", batch, applied(node, "known", batch, *changes))

    known = [each.load.load_id for each in Loads(client).all() if "/known/" in each.load.load_id]
    assert known == ["stream/known/2"]


def test_bad_rows_are_told_or_written_beside(node: Cluster, client: Client, tmp_path: Path) -> None:
    from quorate_spark.source.errors import SourceError

    changes: list[Change] = [
        ("put", "bad/a", "1"),
        ("put", "bad/b", None),
        ("renamed", "bad/c", "1"),
        ("put", "", "1"),
    ]
    with pytest.raises(SourceError, match="row 2, column value: is null; row 3, column _operation"):
        applied(node, "bad", 0, *changes)
    assert value(client, "bad/a") is None

    options: dict[str, Any] = {"bad_rows": "dead_letter", "dead_letter_path": str(tmp_path)}
    sent = applied(node, "bad", 0, *changes, **options)

    assert (sent.rows, sent.bad_rows) == (1, 3)
    [file] = tmp_path.glob("*/part-00000.jsonl")
    told = [json.loads(line) for line in file.read_text().splitlines()]
    assert [(each["row"], each["column"]) for each in told] == [
        (2, "value"),
        (3, "_operation"),
        (4, "key"),
    ]


def test_a_resync_is_no_change(node: Cluster) -> None:
    from quorate_spark.source.errors import SourceError

    with pytest.raises(SourceError, match="has lost changes"):
        applied(node, "resync", 0, ("resync", "x", None))


@pytest.mark.parametrize(
    ("options", "columns", "says"),
    [
        ({"operation": "op"}, "key binary, value binary", "op, which is no column"),
        ({}, "key binary, _operation string", "value is missing"),
        ({}, "key binary, value binary, more integer, _operation string", "more is no column"),
        ({"load_id": "x"}, "key binary, value binary, _operation string", "no option load_id"),
    ],
)
def test_what_cannot_be_written(options: dict[str, str], columns: str, says: str) -> None:
    from pyspark.sql.types import StructType
    from quorate_spark.source.errors import SourceError
    from quorate_spark.source.options import sink_options
    from quorate_spark.source.sink import sink

    given = {"table": "kv.pairs", "operation": "_operation", "checkpointLocation": "x", **options}
    schema = StructType()
    for column in columns.split(", "):
        schema = schema.add(*column.split())
    with pytest.raises(SourceError, match=says):
        sink(sink_options(given), schema, overwrite=False)
