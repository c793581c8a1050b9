"""The items of a batch, field by field."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.message import Message
from quorate.plugin.advanced import BatchColumns
from quorate.v1.batch_pb2 import BatchReply, ItemRefusal
from quorate.v1.kv_pb2 import GetPairResponse, GetPairsResponse, KeyedPair, PutPair, PutPairs

PAIRS = BatchColumns(PutPairs, "pairs")
FULL = PutPair(key=b"a", value=b"1", ttl_ms=5, expected_revision=7)
BARE = PutPair(key=b"b")


def fields(batch: Message, columns: BatchColumns, items: str) -> dict[str, list[Any]]:
    [kind] = {type(each) for each in getattr(batch, items)}
    read = columns.read(batch)
    return {each.name: read.values(each.name) for each in kind.DESCRIPTOR.fields}


@pytest.mark.parametrize("pairs", [[FULL], [BARE], [FULL, FULL], [FULL, BARE], [BARE, FULL, BARE]])
def test_a_column_has_the_field_of_each_item(pairs: list[PutPair]) -> None:
    assert fields(PutPairs(pairs=pairs), PAIRS, "pairs") == {
        "key": [each.key for each in pairs],
        "value": [each.value for each in pairs],
        "ttl_ms": [each.ttl_ms for each in pairs],
        "expected_revision": [each.expected_revision for each in pairs],
    }


def test_text_and_numbers_are_read_as_they_are() -> None:
    refusals = [ItemRefusal(item=at, code="NOT_FOUND", message="é" * at) for at in (1, 300)]
    batch = BatchReply(items=9, replies=[b"x"], refusals=refusals)
    assert fields(batch, BatchColumns(BatchReply, "refusals"), "refusals") == {
        "item": [1, 300],
        "code": ["NOT_FOUND", "NOT_FOUND"],
        "message": ["é", "é" * 300],
    }


def test_an_item_is_told_that_has_no_field() -> None:
    absent = PutPair(key=b"a", expected_revision=0)
    read = PAIRS.read(PutPairs(pairs=[absent, BARE]))
    assert read.have("expected_revision") == [True, False]
    assert read.any_has("expected_revision")
    assert not read.any_has("value", "ttl_ms")
    assert read.all_have("key")
    assert not read.all_have("key", "expected_revision")
    assert PAIRS.read(PutPairs(pairs=[absent])).have("expected_revision") == [True]
    assert PAIRS.read(PutPairs(pairs=[BARE])).have("expected_revision") == [False]


def test_a_message_in_an_item_is_told_and_read_of_the_item() -> None:
    found = GetPairResponse(pair=KeyedPair(key=b"a"))
    columns = BatchColumns(GetPairsResponse, "responses")
    assert columns.read(GetPairsResponse(responses=[found, GetPairResponse()])).have("pair") == [
        True,
        False,
    ]


def test_a_field_that_comes_twice_in_an_item_is_read_as_the_message_has_it() -> None:
    twice = b"\x0a\x01a\x0a\x01b\x12\x011"
    missing = b"\x12\x012"
    batch = PutPairs.FromString(b"\x0a%c%b\x0a%c%b" % (len(twice), twice, len(missing), missing))
    read = PAIRS.read(batch)
    assert read.values("key") == [b"b", b""]
    assert not read.all_have("key")


def test_an_empty_batch_has_empty_columns() -> None:
    read = PAIRS.read(PutPairs())
    assert (read.values("key"), read.have("expected_revision")) == ([], [])
