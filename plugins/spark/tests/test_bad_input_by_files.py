"""A load by files reports each row that cannot be loaded, and puts none in place."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from quorate.client import Client
from quorate.v1.tenant_pb2 import CreateTenant, Tenant
from quorate_spark.client import Loads

if TYPE_CHECKING:
    from quorate.testing.cluster import Cluster

pytestmark = pytest.mark.ci
pytest.importorskip("pyspark")

Row = tuple[bytes | None, bytes | None]

_numbers: Final = count()


@pytest.fixture
def client(node: Cluster) -> Iterator[Client]:
    with Client(node.endpoints) as client:
        yield client


def load(node: Cluster, *partitions: Sequence[Row], **given: str) -> str:
    """Load pairs as Spark does, and return the id of the load."""
    import pyarrow as pa
    from pyspark.sql.types import StructType
    from quorate_spark.source.options import write_options
    from quorate_spark.source.writing import begun

    load_id = given.pop("load_id", f"bad-{next(_numbers)}")
    options = {"table": "kv.pairs", "endpoints": node.endpoints, "load.mode": "files"}
    schema = StructType().add("key", "binary").add("value", "binary")
    writer = begun(write_options({**options, "load_id": load_id, **given}), schema, overwrite=False)
    sent: list[Any] = []
    try:
        for at, rows in enumerate(partitions):
            names = {
                "key": pa.array([row[0] for row in rows], pa.binary()),
                "value": pa.array([row[1] for row in rows], pa.binary()),
            }
            batch = pa.RecordBatch.from_pydict(names)
            two = (batch.slice(begin, 2) for begin in range(0, len(rows), 2))
            sent.append(writer.write_rows(at, two))
        writer.commit(sent)
    except Exception:
        writer.abort(sent)
        raise
    return load_id


def there(client: Client, prefix: str) -> list[bytes]:
    return sorted(pair.key for page in client.kv.scan(prefix) for pair in page.pairs)


@pytest.mark.parametrize(
    ("partitions", "says"),
    [
        ([[(b"p/1", b"1"), (None, b"1")]], "row 2, column key: is null. No row is loaded;"),
        ([[(b"p/1", b"1"), (b"p/2", None)]], "row 2, column value: is null"),
        ([[(b"p/1", b"1"), (b"p/2", b"1"), (b"p/3", b"1"), (None, b"1")]], "row 4, column key: is"),
        ([[(b"p/1", b"1"), (b"", b"1")]], "row 2, column key: must not be empty"),
        ([[(b"p/1", b"1"), (b"p" * 5_000, b"1")]], "row 2, column key: must have at most 4096"),
        ([[(b"p/1", b"1"), (b"p/2", b"1" * (2 << 20))]], "row 2.*: the row takes"),
        ([[(b"p/1", b"1"), (b"p/1", b"2")]], "partition 0 has several rows of one key"),
        # The second one is made in another way: it has no value.
        ([[(b"p/1", b"1"), (b"p/2", b"1"), (b"p/1", b"")]], "partition 0 has several rows of one"),
        ([[(b"p/1", b"1")], [(b"p/1", b"2")]], "partitions have several rows of one key"),
    ],
)
def test_one_bad_row_keeps_all_others_out(
    node: Cluster, client: Client, partitions: list[list[Row]], says: str
) -> None:
    from quorate_spark.source.errors import SourceError

    load_id = f"bad-{next(_numbers)}"
    with pytest.raises(SourceError, match=says):
        load(node, *partitions, load_id=load_id)

    assert there(client, "p") == []
    view = Loads(client).get(load_id)
    assert view is not None
    assert view.load.state == view.load.FAILED
    # Its id goes on with rows that are right.
    load(node, [(b"right/1", b"1")], load_id=load_id)
    assert there(client, "right/") == [b"right/1"]
    client.kv.delete("right/1")


def test_bad_rows_are_written_beside_and_the_others_loaded(
    node: Cluster, client: Client, tmp_path: Path
) -> None:
    rows: list[Row] = [(b"side/1", b"1"), (None, b"1"), (b"side/2", b"1")]
    load(node, rows, **{"bad.rows": str(tmp_path)})

    assert there(client, "side/") == [b"side/1", b"side/2"]
    [file] = tmp_path.rglob("*.jsonl")
    [letter] = map(json.loads, file.read_text().splitlines())
    assert (letter["row"], letter["column"], letter["reason"]) == (2, "key", "is null")


def test_sessions_over_a_limit_are_written_beside(
    node: Cluster, client: Client, tmp_path: Path
) -> None:
    import pyarrow as pa
    from pyspark.sql.types import StructType
    from quorate_spark.source.options import write_options
    from quorate_spark.source.writing import begun

    client.execute(CreateTenant(name="few", limits={"mqtt.sessions": 3}), Tenant)
    schema = StructType().add("tenant", "string").add("client_id", "string")
    options = {
        "table": "mqtt.sessions",
        "endpoints": node.endpoints,
        "load.mode": "files",
        "load_id": "few",
        "bad.rows": str(tmp_path),
    }
    schema = schema.add("expiry_interval_s", "long").add("payload", "binary")
    writer = begun(write_options(options), schema, overwrite=False)
    names = {
        "tenant": ["few"] * 5,
        "client_id": [f"device-{number}" for number in range(5)],
        "expiry_interval_s": pa.array([60] * 5, pa.int64()),
        "payload": [b"p"] * 5,
    }
    writer.commit([writer.write_rows(0, iter([pa.RecordBatch.from_pydict(names)]))])

    view = Loads(client).get("few")
    assert view is not None
    assert (view.rows, view.bad_rows) == (3, 2)
    [file] = tmp_path.rglob("*.jsonl")
    letters = list(map(json.loads, file.read_text().splitlines()))
    assert {letter["values"]["client_id"] for letter in letters} == {
        f"device-{letter['row'] - 1}" for letter in letters
    }
    assert len(letters) == 2
    assert all("LIMIT_REACHED" in letter["reason"] for letter in letters)


def test_a_row_that_is_there_keeps_the_load_out_of_all_shards(
    node: Cluster, client: Client
) -> None:
    from quorate_spark.source.errors import SourceError

    client.kv.put("there3/1", b"mine")
    with pytest.raises(SourceError, match="there3/1"):
        load(node, [(b"there%d/1" % number, b"1") for number in range(8)])

    assert there(client, "there") == [b"there3/1"]


def test_a_table_whose_rows_commands_alone_can_make(node: Cluster, client: Client) -> None:
    from quorate_spark.source.errors import SourceError
    from quorate_spark.source.options import read_options, write_options
    from quorate_spark.source.reading import schema_of
    from quorate_spark.source.tables import find
    from quorate_spark.source.writing import begun

    client.execute(CreateTenant(name="bad-input"), Tenant)
    options = {"table": "mqtt.topics", "endpoints": node.endpoints, "load_id": "topics"}
    assert find("mqtt.topics").table.files is None
    schema = schema_of(read_options({"table": "mqtt.topics"}))
    with pytest.raises(SourceError, match="cannot be loaded by files: its plugin makes rows by"):
        begun(write_options({**options, "load.mode": "files"}), schema, overwrite=False)
    assert Loads(client).get("topics") is None
    # What is chosen by itself can be carried out.
    assert begun(write_options(options), schema, overwrite=False).opened is None
