"""What a stream of changes plans and reads, without Spark: offsets are tokens."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf.empty_pb2 import Empty
from quorate.client import Client
from quorate.v1.resource_pb2 import DeleteResource, PutResource, StoredResource
from quorate.v1.token_pb2 import WatchToken

if TYPE_CHECKING:
    from quorate.testing.cluster import Cluster

pytestmark = pytest.mark.ci

#: As `quorate watch` shows it, too.
KEY = '["settings/json"]'

Row = tuple[str, bytes, bytes | None]


@pytest.fixture
def client(node: Cluster) -> Iterator[Client]:
    with Client(node.endpoints) as client:
        yield client


class Query:
    """Does what Spark does with a reader, batch by batch."""

    def __init__(self, node: Cluster, offset: Any = None, **options: Any) -> None:
        from quorate_spark.source.changes import ChangeReader
        from quorate_spark.source.options import feed_options

        given = {"changes": "kv.pairs", "endpoints": node.endpoints, **options}
        self.reader = ChangeReader(feed_options(given))
        self.offset = offset or self.reader.initialOffset()

    def end(self) -> Any:
        limit = self.reader.getDefaultReadLimit()
        return self.reader.latestOffset(self.offset, limit)

    def between(self, start: Any, end: Any) -> list[dict[str, Any]]:
        parts = self.reader.partitions(start, end)
        return [
            row for part in parts for each in self.reader.read(part) for row in each.to_pylist()
        ]

    def batch(self) -> list[dict[str, Any]]:
        """Return the rows of the next batch."""
        start, self.offset = self.offset, self.end()
        return [] if start == self.offset else self.between(start, self.offset)

    def close(self) -> None:
        self.reader.stop()


def pairs(rows: list[dict[str, Any]], prefix: bytes) -> list[Row]:
    """Return operation, key and value of the rows of a test."""
    found = [row for row in rows if row["key"] is not None and row["key"].startswith(prefix)]
    return [(row["_operation"], row["key"], row["value"]) for row in found]


def test_a_batch_is_the_same_when_it_is_read_again(node: Cluster, client: Client) -> None:
    with closing(Query(node, starting="now")) as query:
        query.batch()
        start = query.offset
        for number in range(20):
            client.kv.put(f"same{number % 3}/{number}", b"1")
        client.kv.delete("same0/0")
        first = query.batch()
        end = query.offset
        client.kv.put("same0/3", b"2")
        client.kv.delete("same0/6")

        assert len(pairs(first, b"same")) == 21
        assert ("deleted", b"same0/0", None) in pairs(first, b"same")
        assert query.between(start, end) == first
        # A driver that was started again has nothing but the offsets.
        with closing(Query(node, end)) as again:
            assert again.between(start, end) == first
            later = pairs(again.batch(), b"same")
    assert sorted(later) == [("deleted", b"same0/6", None), ("put", b"same0/3", b"2")]


def test_a_snapshot_that_is_read_again_gives_each_revision_once(
    node: Cluster, client: Client
) -> None:
    for number in range(9):
        client.kv.put(f"once{number}", b"1")
    with closing(Query(node)) as query:
        start, end = query.offset, query.end()
        # The first attempt at the snapshot was lost, and meanwhile there was more.
        client.kv.put("once1", b"2")
        client.kv.delete("once2")
        client.kv.put("once9", b"1")
        rows = query.between(start, end)
        query.offset = end
        changes = query.batch()

    assert pairs(rows, b"once") == [
        ("row", b"once%d" % number, b"1") for number in (0, 3, 4, 5, 6, 7, 8)
    ]
    assert sorted(pairs(changes, b"once")) == [
        ("deleted", b"once2", None),
        ("put", b"once1", b"2"),
        ("put", b"once9", b"1"),
    ]
    revisions = [row["_revision"] for row in (*rows, *changes) if b"once" in row["key"]]
    assert len(set(revisions)) == len(revisions)


def test_now_begins_with_an_empty_batch(node: Cluster, client: Client) -> None:
    with closing(Query(node, starting="now")) as query:
        client.kv.put("now/before", b"1")
        assert query.batch() == []
        assert "token" in query.offset
        client.kv.put("now/after", b"1")

        assert pairs(query.batch(), b"now/") == [("put", b"now/after", b"1")]


def test_nothing_is_planned_while_nothing_changes(
    node: Cluster, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    from quorate_spark.source import changes

    with closing(Query(node, starting="now")) as query:
        query.batch()
        before = query.offset
        # In the same group, and of another family.
        client.execute(PutResource(path="settings/nothing", value=b"{}"), StoredResource)
        assert query.end() == before
        # In time the offset moves all the same, for history is not kept for ever.
        monkeypatch.setattr(changes, "_OLDEST_OFFSET_S", 0.0)
        assert query.batch() == []
        assert query.offset != before


def test_a_batch_has_no_more_changes_than_it_may(node: Cluster, client: Client) -> None:
    with closing(Query(node, starting="now", max_rows_per_trigger="10")) as query:
        query.batch()
        for number in range(25):
            client.kv.put(f"most{number % 4}/{number}", b"1")
        sizes = []
        keys: list[bytes] = []
        while found := query.batch():
            sizes.append(len(found))
            keys += [row["key"] for row in found]

    assert sizes == [10, 10, 5]
    assert sorted(keys) == sorted(f"most{n % 4}/{n}".encode() for n in range(25))


def test_what_is_available_now_ends_there(node: Cluster, client: Client) -> None:
    with closing(Query(node, starting="now")) as query:
        query.batch()
        client.kv.put("available/1", b"1")
        query.reader.prepareForTriggerAvailableNow()
        client.kv.put("available/2", b"1")

        assert pairs(query.batch(), b"available/") == [("put", b"available/1", b"1")]
        assert query.batch() == []


def elsewhere(offset: Any) -> Any:
    """Return an offset whose history nobody has: one of another cluster."""
    token = WatchToken.FromString(base64.urlsafe_b64decode(offset["token"]))
    token.cluster_id = b"another"
    for each in token.positions:
        each.revision = 1
    encoded = base64.urlsafe_b64encode(token.SerializeToString(deterministic=True))
    return {"token": encoded.decode()}


def test_lost_history_is_an_error(node: Cluster, client: Client) -> None:
    from quorate_spark.source.errors import SourceError

    client.kv.put("lost/1", b"1")
    with closing(Query(node)) as query:
        query.batch()
        query.offset = elsewhere(query.offset)
        with pytest.raises(SourceError, match=r"another cluster.*lost_history to snapshot"):
            query.batch()


def test_lost_history_is_a_new_snapshot_if_wanted(node: Cluster, client: Client) -> None:
    client.kv.put("lost/1", b"1")
    with closing(Query(node, lost_history="snapshot")) as query:
        query.batch()
        query.offset = elsewhere(query.offset)
        rows = query.batch()

    marks = [(row["_operation"], row["_shard"]) for row in rows if row["key"] is None]
    assert marks == [("resync", 0), ("resync", 1)]
    assert ("row", b"lost/1", b"1") in pairs(rows, b"lost/")


def test_a_family_without_a_table_comes_as_json_with_the_row_before(
    node: Cluster, client: Client
) -> None:
    with closing(Query(node, changes="resource.resources", starting="now")) as query:
        query.batch()
        for value in (b"1", b"2"):
            client.execute(PutResource(path="settings/json", value=value), StoredResource)
        client.execute(DeleteResource(path="settings/json"), Empty)
        rows = query.batch()

    def shown(text: str | None) -> str | None:
        return None if text is None else base64.b64decode(json.loads(text)["value"]).decode()

    assert [
        (
            row["_operation"],
            row["key"],
            shown(row["row"]),
            row["_before"] and shown(row["_before"]["row"]),
        )
        for row in rows
    ] == [
        ("created", KEY, "1", None),
        ("updated", KEY, "2", "1"),
        ("deleted", KEY, None, "2"),
    ]
    assert all(row["_time"] is not None for row in rows)


def test_a_family_that_is_not_there(node: Cluster) -> None:
    from quorate_spark.source.errors import SourceError

    with pytest.raises(SourceError, match=r"no changes of 'kv\.none'.*kv\.pairs"):
        Query(node, changes="kv.none").batch()
