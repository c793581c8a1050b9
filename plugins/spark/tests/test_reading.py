"""What a read asks nodes for, without Spark: the ranges that its filters leave, and no more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest
from quorate.client import Client
from quorate.v1.view_pb2 import PackedRows

if TYPE_CHECKING:
    from quorate.testing.cluster import Cluster
    from quorate_spark.source.reading import FilteredReader

pytestmark = pytest.mark.ci

#: Keys of both shards; those of each lie evenly between its first and its last one.
KEYS = [f"read{number % 8}/{number:04}".encode() for number in range(800)]


@pytest.fixture(scope="module", autouse=True)
def rows(node: Cluster) -> None:
    with Client(node.endpoints) as client:
        client.kv.put_many(dict.fromkeys(KEYS, b"value"))


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[PackedRows]:
    """What nodes send from now on, page by page."""
    from quorate_spark.source import reading

    given: list[PackedRows] = []
    pages = reading.pages

    def recorded(*what: Any, **options: Any) -> Iterator[PackedRows]:
        for page in pages(*what, **options):
            given.append(page)
            yield page

    monkeypatch.setattr(reading, "pages", recorded)
    return given


def reader(node: Cluster, low: bytes, high: bytes, **options: str) -> FilteredReader:
    """Return a reader of keys between two."""
    from pyspark.sql.datasource import GreaterThanOrEqual, LessThan
    from quorate_spark.source.options import read_options
    from quorate_spark.source.reading import FilteredReader

    made = FilteredReader(
        read_options({"table": "kv.pairs", "endpoints": node.endpoints, **options})
    )
    filters = [GreaterThanOrEqual(("key",), low), LessThan(("key",), high)]
    assert list(made.pushFilters(filters)) == []
    return made


def counted(pages: list[PackedRows]) -> int:
    return sum(len(page.key_ends) // 4 for page in pages)


@pytest.mark.parametrize("ranges", ["0", "3"])
def test_a_count_with_a_filter_reads_the_keys_of_its_range_alone(
    node: Cluster, sent: list[PackedRows], ranges: str
) -> None:
    made = reader(node, b"read3/", b"read5/0", columns="key", ranges_per_shard=ranges)
    found = [
        key
        for part in made.partitions()
        for batch in made.read(part)
        for key in batch["key"].to_pylist()
    ]

    wanted = [key for key in KEYS if b"read3/" <= key < b"read5/0"]
    assert sorted(found) == sorted(wanted)
    assert counted(sent) == len(wanted)
    assert not any(page.rows for page in sent)


def test_few_rows_that_a_filter_leaves_are_one_task_of_each_shard(
    node: Cluster, sent: list[PackedRows], monkeypatch: pytest.MonkeyPatch
) -> None:
    from quorate_spark.source import reading

    monkeypatch.setattr(reading, "_ROWS_A_RANGE", 50)
    monkeypatch.setattr(reading, "_FEW_ROWS", 150)
    few = reader(node, b"read3/", b"read4/").partitions()
    assert len(few) == len({part.shard for part in few})
    assert counted(sent) == 100

    many = reader(node, b"read", b"reae").partitions()
    shards = [part.shard for part in many]
    assert len(many) > 2 * len(set(shards))
    # Neighbours in the order of the tasks are of different shards.
    assert set(shards[:2]) == set(shards)
