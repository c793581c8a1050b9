"""Pages of rows that are spread over shards hold everything once and in order."""

from __future__ import annotations

from asyncio import run
from collections.abc import Callable
from itertools import chain
from typing import Any

import pytest
from quorate.plugin import Invalid, keys
from quorate.plugin.resource import reading, tenant_rows_of
from quorate.testing import MemoryNode
from quorate.v1.batch_pb2 import BatchReply
from quorate_mqtt.retained_messages import RETAINED_MESSAGE
from quorate_mqtt.v1 import retained_messages_pb2 as pb

TOPICS = [f"t/{number:02}" for number in range(40)]

List = Callable[..., tuple[list[str], bytes]]


@pytest.fixture
def full(node: MemoryNode) -> MemoryNode:
    """Forty rows of a tenant over four shards, and one of another tenant after them."""
    names = [*(("acme", topic) for topic in TOPICS), ("globex", "x")]
    messages = [
        pb.PutRetainedMessageRequest(tenant=tenant, topic=topic, payload=b"p")
        for tenant, topic in names
    ]
    run(node.propose(pb.PutRetainedMessages(messages=messages), BatchReply))
    return node


@pytest.fixture
def page(full: MemoryNode, servicer: Callable[[str], Any]) -> List:
    service = servicer("RetainedMessageService")

    def page(tenant: str = "acme", **fields: Any) -> tuple[list[str], bytes]:
        request = pb.ListRetainedMessagesRequest(tenant=tenant, **fields)
        found = run(service.List(request, None))
        return [each.topic for each in found.messages], found.next_page_token

    return page


def read_all(page: List, **fields: Any) -> list[list[str]]:
    topics, token = page(**fields)
    pages = [topics]
    while token:
        topics, token = page(page_token=token, **fields)
        pages.append(topics)
    return pages


@pytest.mark.parametrize("size", [1, 9, 40, 100])
def test_pages_are_as_large_as_was_asked(page: List, size: int) -> None:
    pages = read_all(page, page_size=size)

    assert list(chain.from_iterable(pages)) == TOPICS
    assert len(pages) == -(-len(TOPICS) // size)


@pytest.mark.parametrize("page_bytes", [1, 100, 300])
def test_nothing_is_left_out_however_little_a_shard_gives_at_once(
    page: List, monkeypatch: pytest.MonkeyPatch, page_bytes: int
) -> None:
    monkeypatch.setattr(reading, "PAGE_BYTES", page_bytes)

    assert list(chain.from_iterable(read_all(page))) == TOPICS


@pytest.mark.parametrize("looked_at", [1, 3, 5])
def test_a_page_ends_when_enough_rows_were_looked_at(
    page: List, monkeypatch: pytest.MonkeyPatch, looked_at: int
) -> None:
    monkeypatch.setattr(reading, "MOST_LOOKED_AT", looked_at)

    pages = read_all(page, topic_filter=TOPICS[25])

    assert list(chain.from_iterable(pages)) == [TOPICS[25]]
    assert len(pages) > 1


def test_a_page_ends_where_another_tenant_begins(page: List) -> None:
    assert page("globex") == (["x"], b"")
    assert page("acm") == ([], b"")
    assert page(prefix="t/1")[0] == TOPICS[10:20]


def test_a_token_of_another_tenant_gives_nothing_of_that(page: List) -> None:
    _, token = page(page_size=5)

    assert page("globex", page_token=token) == (["x"], b"")
    assert page(page_token=keys.pack("hooli", "a")) == ([], b"")
    with pytest.raises(Invalid, match="page_token"):
        page(page_token=bytes([0xFF]) * 100)


def test_the_keys_of_a_tenant_are_all_found(
    full: MemoryNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "LARGEST_PAGE", 3)

    async def read() -> list[bytes]:
        found = tenant_rows_of(RETAINED_MESSAGE).keys_of(full, "acme")
        return [key async for page in found for key in page]

    own = [key for key in full.rows(RETAINED_MESSAGE.family) if b"acme" in key]
    assert run(read()) == sorted(own)
    assert len(own) == len(TOPICS)
