from __future__ import annotations

from asyncio import run
from collections.abc import Callable
from typing import Any

import pytest
from quorate.plugin import Invalid, Rejected, keys
from quorate.testing import MemoryNode, MemoryTxn
from quorate.v1.tenant_pb2 import MarkTenant, Tenant
from quorate_mqtt.retained_messages import EXPIRY, LARGEST_MESSAGE, RETAINED_MESSAGE, expire
from quorate_mqtt.v1.retained_messages_pb2 import (
    DeleteRetainedMessages,
    ExpireRetainedMessages,
    GetRetainedMessagesRequest,
    ListRetainedMessagesRequest,
    PutRetainedMessageRequest,
    PutRetainedMessages,
    RetainedMessage,
    RetainedName,
    RetainedStamp,
)


@pytest.fixture
def service(servicer: Callable[[str], Any]) -> Any:
    return servicer("RetainedMessageService")


def put(topic: str, payload: bytes = b"p", tenant: str = "acme", **fields: Any) -> Any:
    return PutRetainedMessageRequest(tenant=tenant, topic=topic, payload=payload, **fields)


def listed(service: Any, **fields: Any) -> list[tuple[str, str]]:
    async def stream() -> list[tuple[str, str]]:
        pages = service.StreamList(ListRetainedMessagesRequest(**fields), None)
        return [(each.tenant, each.topic) async for page in pages for each in page.messages]

    return run(stream())


def test_a_retained_message_is_kept_with_its_times(service: Any, node: MemoryNode) -> None:
    stamp = run(service.Put(put("a/b", b"x", qos=2, properties=b"\x01", expiry_ms=500), None))

    assert stamp == RetainedStamp(stored_at_ms=1_000, expires_at_ms=1_500)
    assert run(service.Get(RetainedName(tenant="acme", topic="a/b"), None)) == RetainedMessage(
        tenant="acme",
        topic="a/b",
        payload=b"x",
        qos=2,
        properties=b"\x01",
        stored_at_ms=1_000,
        expires_at_ms=1_500,
    )


def test_a_later_message_replaces_all_of_the_one_before(service: Any, node: MemoryNode) -> None:
    run(service.Put(put("a", b"old", qos=1, expiry_ms=500), None))
    run(node.advance(100))
    run(service.Put(put("a", b"new"), None))

    run(node.advance(1_000))

    message = run(service.Get(RetainedName(tenant="acme", topic="a"), None))
    assert (message.payload, message.qos, message.stored_at_ms) == (b"new", 0, 1_100)


def test_a_message_expires_in_time_and_not_before(service: Any, node: MemoryNode) -> None:
    run(service.Put(put("a", expiry_ms=500), None))
    run(service.Put(put("b"), None))

    run(node.advance(499))
    assert len(node.rows(RETAINED_MESSAGE.family)) == 2
    run(node.advance(1))

    assert listed(service) == [("acme", "b")]


def test_a_message_that_was_put_again_does_not_expire_with_the_one_before() -> None:
    key = keys.pack("acme", "a")
    txn = MemoryTxn(at_ms=1_000, rows={RETAINED_MESSAGE.family: {key: b"row"}})
    txn.schedule(EXPIRY, key, 5_000)
    txn = txn.then(2_000)

    expire(txn, ExpireRetainedMessages(keys=[key]))

    assert list(txn.rows(RETAINED_MESSAGE.family)) == [key]
    expire(late := txn.then(5_000), ExpireRetainedMessages(keys=[key]))
    assert not late.rows(RETAINED_MESSAGE.family)
    assert not late.deadlines


def test_delete_clears_the_deadline_and_is_no_error_the_second_time(
    service: Any, node: MemoryNode
) -> None:
    run(service.Put(put("a", expiry_ms=500), None))

    for _ in range(2):
        run(service.Delete(RetainedName(tenant="acme", topic="a"), None))

    with pytest.raises(Rejected, match=r"NOT_FOUND.*a of acme"):
        run(service.Get(RetainedName(tenant="acme", topic="a"), None))
    before = len(node.proposals)
    run(node.advance(1_000))
    assert len(node.proposals) == before


def test_batches_are_answered_item_by_item_over_all_shards(service: Any, node: MemoryNode) -> None:
    topics = [f"t/{number}" for number in range(20)]
    items = [
        *map(put, topics),
        put("t/+"),
        put("t/x", b""),
        put("t/y", tenant="nobody"),
        put("t/z", qos=3),
    ]

    reply = run(service.PutBatch(PutRetainedMessages(messages=items), None))

    assert [(each.item, each.code) for each in reply.refusals] == [
        (20, "INVALID_ARGUMENT"),
        (21, "INVALID_ARGUMENT"),
        (22, "NOT_FOUND"),
        (23, "INVALID_ARGUMENT"),
    ]
    assert len({each.shard for each in reply.revisions}) == 4
    assert [bool(each) for each in reply.replies] == [True] * 20 + [False] * 4
    names = [RetainedName(tenant="acme", topic=topic) for topic in ("t/7", "none", "t/3")]
    found = run(service.GetBatch(GetRetainedMessagesRequest(names=names), None))
    assert [each.message.topic for each in found.lookups] == ["t/7", "", "t/3"]
    names[1].topic = "#"
    deleted = run(service.DeleteBatch(DeleteRetainedMessages(names=names), None))
    assert [(each.item, each.code) for each in deleted.refusals] == [(1, "INVALID_ARGUMENT")]
    assert len(listed(service)) == 18


@pytest.mark.parametrize("size", [1, 3, 1_000])
def test_pages_of_all_shards_hold_every_message_once_and_in_order(service: Any, size: int) -> None:
    wanted = sorted((tenant, f"t/{n}") for tenant in ("acme", "hooli") for n in range(9))
    items = [put(topic, tenant=tenant) for tenant, topic in reversed(wanted)]
    run(service.PutBatch(PutRetainedMessages(messages=items), None))

    assert listed(service, page_size=size) == wanted
    assert listed(service, page_size=size, tenant="hooli") == wanted[9:]
    assert listed(service, page_size=size, tenant="acme", prefix="t/4") == [("acme", "t/4")]


def test_large_messages_make_short_pages_and_none_is_lost(service: Any) -> None:
    wanted = [("acme", f"t/{number}") for number in range(8)]
    for _, topic in wanted:
        run(service.Put(put(topic, bytes(400_000)), None))

    page = run(service.List(ListRetainedMessagesRequest(), None))

    assert 0 < len(page.messages) <= 8
    assert listed(service) == wanted


def test_a_subscriber_gets_the_messages_that_its_filter_stands_for(service: Any) -> None:
    topics = ["home/kitchen/light", "home/hall/light", "home/hall/door", "$SYS/load"]
    items = [put(topic) for topic in topics]
    run(service.PutBatch(PutRetainedMessages(messages=items), None))

    found = listed(service, tenant="acme", topic_filter="home/+/light", page_size=1)

    assert found == [("acme", "home/hall/light"), ("acme", "home/kitchen/light")]
    assert ("acme", "$SYS/load") not in listed(service, topic_filter="#")
    with pytest.raises(Invalid, match="topic_filter"):
        listed(service, topic_filter="a/#/b")


def test_a_tenant_that_is_being_deleted_retains_nothing_new(service: Any, node: MemoryNode) -> None:
    run(node.propose(MarkTenant(name="acme", cascades=["mqtt"]), Tenant))

    with pytest.raises(Rejected, match=r"FAILED_PRECONDITION.*being deleted"):
        run(service.Put(put("a"), None))


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"topic": ""}, "topic"),
        ({"topic": "a/#"}, "topic"),
        ({"topic": "a\0"}, "topic"),
        ({"topic": "t" * 3_073}, "topic"),
        ({"tenant": "a/b"}, "tenant"),
        ({"payload": b""}, "payload"),
        ({"payload": bytes(LARGEST_MESSAGE), "properties": b"1"}, "payload"),
        ({"qos": 3}, "qos"),
        ({"expiry_ms": 0}, "expiry_ms"),
        ({"expiry_ms": 1 << 63}, "expiry_ms"),
    ],
)
def test_messages_have_their_bounds(service: Any, fields: dict[str, Any], field: str) -> None:
    request = {"tenant": "acme", "topic": "a", "payload": b"p", **fields}

    with pytest.raises(Invalid) as refusal:
        run(service.Put(PutRetainedMessageRequest(**request), None))

    assert refusal.value.field == field


def test_the_largest_message_of_the_longest_topic_is_kept(service: Any) -> None:
    topic = "t" * 3_072

    run(service.Put(put(topic, bytes(LARGEST_MESSAGE)), None))

    message = run(service.Get(RetainedName(tenant="acme", topic=topic), None))
    assert len(message.payload) == LARGEST_MESSAGE
