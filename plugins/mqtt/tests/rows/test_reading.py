from __future__ import annotations

from asyncio import run
from collections.abc import Callable
from typing import Any

import pytest
from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import BatchReply
from quorate_mqtt.rows import queries, reading
from quorate_mqtt.rows.reading import Range, Shelf, keys_of, value_as
from quorate_mqtt.v1.retained_messages_pb2 import (
    PutRetainedMessageRequest,
    PutRetainedMessages,
    RetainedMessage,
)

TOPICS = [f"t/{number:02}" for number in range(40)]

Page = tuple[list[str], bytes]

RETAINED = "mqtt.retained_messages"
SHELF = Shelf(family=RETAINED, shard_of=bytes, show=value_as(RetainedMessage), with_tenant=False)


@pytest.fixture
def full(node: MemoryNode) -> MemoryNode:
    """Forty rows of a tenant over four shards, and one of another tenant behind them."""
    names = [*(("acme", topic) for topic in TOPICS), ("globex", "x")]
    messages = [
        PutRetainedMessageRequest(tenant=tenant, topic=topic, payload=b"p")
        for tenant, topic in names
    ]
    run(node.propose(PutRetainedMessages(messages=messages), BatchReply))
    return node


def page(
    node: MemoryNode, wanted: Range, keep: Callable[[RetainedMessage], bool] | None = None
) -> Page:
    found, token = run(SHELF.page(node, wanted, keep))
    return [each.topic for each in found], token


@pytest.mark.parametrize("shard_page", [1, 2, 7, 1_000])
@pytest.mark.parametrize("size", [1, 9, 40, 100])
def test_pages_are_whole_however_little_a_shard_gives_at_once(
    full: MemoryNode, monkeypatch: pytest.MonkeyPatch, shard_page: int, size: int
) -> None:
    monkeypatch.setattr(queries, "LARGEST_PAGE", shard_page)
    read: list[str] = []
    token, pages = b"", 0
    while token or not pages:
        topics, token = page(full, Range(names=("acme",), page_size=size, page_token=token))
        assert len(topics) <= size
        read += topics
        pages += 1

    assert read == TOPICS
    assert pages == -(-len(TOPICS) // size)


def test_a_page_ends_when_enough_rows_were_looked_at(
    full: MemoryNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "MOST_LOOKED_AT", 10)

    topics, token = page(full, Range(names=("acme",)), lambda row: row.topic == TOPICS[25])
    assert topics == []
    seen: list[Page] = []
    while token:
        wanted = Range(names=("acme",), page_token=token)
        topics, token = page(full, wanted, lambda row: row.topic == TOPICS[25])
        seen.append((topics, token))

    assert [topics for topics, _ in seen] == [[], [TOPICS[25]], []]


def test_the_last_page_has_no_token_even_when_it_is_full(full: MemoryNode) -> None:
    assert page(full, Range(names=("acme",), page_size=40)) == (TOPICS, b"")
    topics, token = page(full, Range(names=("acme",), page_size=39))
    assert (topics, bool(token)) == (TOPICS[:39], True)


def test_a_page_of_a_shard_ends_behind_the_row_that_fills_it(
    full: MemoryNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "PAGE_BYTES", 1)

    assert page(full, Range(names=("acme",))) == (TOPICS, b"")


def test_the_keys_of_a_tenant_are_all_found(
    full: MemoryNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "LARGEST_PAGE", 3)

    async def read() -> list[bytes]:
        return [key async for found in keys_of(full, RETAINED, "acme") for key in found]

    own = [key for key in full.rows(RETAINED) if b"acme" in key]
    assert run(read()) == sorted(own)
    assert len(own) == len(TOPICS)


def test_a_range_ends_where_another_tenant_begins(full: MemoryNode) -> None:
    assert page(full, Range(names=("globex",))) == (["x"], b"")
    assert page(full, Range(names=("acm",))) == ([], b"")
    assert page(full, Range(names=("acme",), opening="t/1"))[0] == TOPICS[10:20]


def test_a_token_of_another_range_gives_nothing_of_that(full: MemoryNode) -> None:
    _, token = page(full, Range(names=("acme",), page_size=5))

    assert page(full, Range(names=("globex",), page_token=token)) == (["x"], b"")
    behind = bytes([0xFF]) * 100
    assert page(full, Range(names=("acme",), page_token=behind)) == ([], b"")


def test_rows_are_gotten_in_the_order_asked_for(full: MemoryNode) -> None:
    own: list[Any] = sorted(key for key in full.rows(RETAINED) if b"acme" in key)

    found = run(SHELF.get_each(full, [own[3], b"\x02none\x00\x02x\x00", own[0], own[3]]))

    assert [each.topic if each else None for each in found] == ["t/03", None, "t/00", "t/03"]
