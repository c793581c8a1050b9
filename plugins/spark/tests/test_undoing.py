"""A load is taken back whole: only rows that were changed since may stay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import pytest
from google.protobuf.message import Message
from quorate.client import Client
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.kv_pb2 import DeletePair
from quorate.v1.view_pb2 import ReadViewResponse, ViewRow
from quorate_spark.source import undoing
from quorate_spark.source.errors import SourceError
from quorate_spark.source.shards import ShardPlan
from quorate_spark.source.tables import find


class Refusing:
    """Refuses the items of each call as it is told; later calls delete all."""

    def __init__(self, *refused: Mapping[bytes, str]) -> None:
        self.refused = list(refused)
        self.asked: list[Sequence[bytes]] = []

    def execute(self, command: Any, reply: type[Message]) -> BatchReply:
        keys = [pair.key for pair in command.pairs]
        self.asked.append(keys)
        refused = self.refused.pop(0) if self.refused else {}
        answer = BatchReply(items=len(keys))
        for item, key in enumerate(keys):
            if key in refused:
                answer.refusals.add(item=item, code=refused[key], message="so it is")
        return answer


class Node(Refusing):
    """A cluster of one node, which holds views of one row."""

    def __init__(self, *refused: Mapping[bytes, str]) -> None:
        super().__init__(*refused)
        self.called: list[str] = []

    def at(self, address: str) -> Node:
        return self

    def call(self, method: str, request: Message, reply: type[Message]) -> Message:
        self.called.append(method.rpartition("/")[2])
        return reply()

    def stream(
        self, method: str, request: Message, reply: type[Message]
    ) -> Iterator[ReadViewResponse]:
        yield ReadViewResponse(rows=[ViewRow(key=b"a", revision=7)])


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undoing, "_PAUSE_S", 0.0)


def deleted(client: Refusing, *keys: bytes) -> int:
    items = [DeletePair(key=key, expected_revision=7) for key in keys]
    return undoing._delete(cast(Client, client), find("kv.pairs"), items)


def test_rows_that_were_changed_or_deleted_since_stay() -> None:
    client = Refusing({b"a": "REVISION_MISMATCH", b"b": "NOT_FOUND"})

    assert deleted(client, b"a", b"b", b"c") == 1
    assert client.asked == [[b"a", b"b", b"c"]]


def test_what_a_quota_refused_is_deleted_again() -> None:
    client = Refusing(
        {b"a": "RESOURCE_EXHAUSTED", b"b": "OUTCOME_UNKNOWN"}, {b"b": "RESOURCE_EXHAUSTED"}
    )

    assert deleted(client, b"a", b"b", b"c") == 3
    assert client.asked == [[b"a", b"b", b"c"], [b"a", b"b"], [b"b"]]


def test_what_is_refused_for_good_is_told() -> None:
    client = Refusing({b"a": "PERMISSION_DENIED"})

    with pytest.raises(SourceError, match=r"1 rows of kv.pairs .*PERMISSION_DENIED: so it is"):
        deleted(client, b"a", b"b")


def test_refusals_that_do_not_end_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undoing, "_PATIENCE_S", 0.0)
    client = Refusing(*[{b"a": "RESOURCE_EXHAUSTED"}] * 100)

    with pytest.raises(SourceError, match="RESOURCE_EXHAUSTED"):
        deleted(client, b"a")


def test_a_view_does_not_outlive_rows_that_stay() -> None:
    node = Node({b"a": "PERMISSION_DENIED"})
    plan = ShardPlan(group="kv", holders=[0], leaders={0: "here"})

    with pytest.raises(SourceError, match="PERMISSION_DENIED"):
        undoing._remove(cast(Client, node), plan, find("kv.pairs"), 0, {7}, lambda rows: None)

    assert node.called == ["Open", "Close"]
