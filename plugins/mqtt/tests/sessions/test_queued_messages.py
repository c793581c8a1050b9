"""Messages wait for clients that are away, within bounds, and end with their session."""

from __future__ import annotations

from asyncio import run
from collections.abc import Callable
from typing import Any

import pytest
from quorate.plugin import Invalid, keys
from quorate.testing import MemoryTxn
from quorate.v1.batch_pb2 import BatchReply
from quorate_mqtt.queues.keeping import HEADS, MESSAGES
from quorate_mqtt.queues.resource import append_messages, check_appends, delete_message
from quorate_mqtt.retained_messages import LARGEST_MESSAGE
from quorate_mqtt.sessions.apply import connect_sessions, delete_sessions, disconnect_sessions
from quorate_mqtt.v1 import queued_messages_pb2 as pb, sessions_pb2
from quorate_mqtt.v1.sessions_pb2 import SessionConnect

Client = Callable[..., SessionConnect]


@pytest.fixture
def txn(shard: Callable[..., MemoryTxn], client: Client) -> MemoryTxn:
    """Give a shard with the sessions of ada, who is connected, and ben, who is away."""
    txn = shard()
    replies = connect(txn, client("ada"), client("ben"))
    away = sessions_pb2.DisconnectSession(
        tenant="acme", client_id="ben", generation=replies[1].generation
    )
    disconnect_sessions(txn, sessions_pb2.DisconnectSessions(sessions=[away]))
    return txn


def connect(
    txn: MemoryTxn, *arrivals: SessionConnect, broker: str = "north", epoch: int = 1
) -> list[sessions_pb2.ConnectReply]:
    command = sessions_pb2.ConnectSessions(broker=broker, broker_epoch=epoch, connections=arrivals)
    return list(map(sessions_pb2.ConnectReply.FromString, connect_sessions(txn, command).replies))


def message(payload: bytes = b"x", client_id: str = "ben", **more: Any) -> pb.AppendMessage:
    more = {"topic": "t", "qos": 1, **more}
    return pb.AppendMessage(tenant="acme", client_id=client_id, payload=payload, **more)


def append(txn: MemoryTxn, *messages: pb.AppendMessage, **bounds: int) -> BatchReply:
    return append_messages(txn, pb.AppendMessages(messages=messages, **bounds))


def replies(answer: BatchReply) -> list[pb.AppendReply]:
    assert not answer.refusals
    return list(map(pb.AppendReply.FromString, answer.replies))


def waiting(txn: MemoryTxn) -> list[tuple[str, int, bytes]]:
    found = (pb.QueuedMessage.FromString(row) for row in txn.rows(MESSAGES).values())
    return [(each.client_id, each.number, each.payload) for each in found]


def test_messages_wait_in_their_order_and_the_connect_says_how_many(
    txn: MemoryTxn, client: Client
) -> None:
    answers = replies(append(txn, message(b"1"), message(b"2"), message(b"3", "ada")))

    assert [each.number for each in answers] == [1, 2, 1]
    assert [each.broker_epoch for each in answers] == [0, 0, 1]
    assert waiting(txn) == [("ada", 1, b"3"), ("ben", 1, b"1"), ("ben", 2, b"2")]
    queued = [each.queued for each in connect(txn, client("ada"), client("ben"), client("cyd"))]
    assert queued == [1, 2, 0]


def test_another_broker_is_told_of_them(txn: MemoryTxn, client: Client) -> None:
    append(txn, message(b"1", "ada"))

    [reply] = connect(txn, client("ada"), broker="south", epoch=2)

    assert (reply.taken_over_from, reply.session_present, reply.queued) == ("north", True, 1)


def test_the_oldest_give_way_to_what_does_not_fit(txn: MemoryTxn) -> None:
    append(txn, *(message(b"%d" % number) for number in range(3)), most_messages=3)

    [reply] = replies(append(txn, message(b"new"), most_messages=3))
    assert reply.dropped == 1
    assert [each[2] for each in waiting(txn)] == [b"1", b"2", b"new"]

    [reply] = replies(append(txn, message(b"larger"), most_bytes=11))
    assert reply.dropped == 2
    assert [each[2] for each in waiting(txn)] == [b"new", b"larger"]


def test_what_is_larger_than_the_queue_is_refused_and_drops_nothing(txn: MemoryTxn) -> None:
    append(txn, message(b"1"))

    answer = append(txn, message(bytes(20)), most_bytes=20)

    assert [each.code for each in answer.refusals] == ["QUEUE_FULL"]
    assert [each[2] for each in waiting(txn)] == [b"1"]


def test_a_deleted_message_makes_room_and_its_number_is_not_used_again(txn: MemoryTxn) -> None:
    append(txn, message(b"1"), message(b"2"))
    for number in (2, 1, 1):
        delete_message(txn, pb.QueuedMessageName(tenant="acme", client_id="ben", number=number))

    [reply] = replies(append(txn, message(b"3"), most_messages=1))

    assert (reply.number, reply.dropped) == (3, 0)
    head = pb.QueueHead.FromString(txn.rows(HEADS)[keys.pack("acme", "ben")])
    assert head == pb.QueueHead(last=3, messages=1, bytes=2)


def test_a_message_is_replaced_where_it_is_still_there(txn: MemoryTxn) -> None:
    append(txn, message(b"1"), message(b"2"))

    answers = replies(
        append(txn, message(b"1", number=1, packet_id=9, received=True), message(number=7))
    )

    assert [each.number for each in answers] == [1, 0]
    assert waiting(txn) == [("ben", 1, b"1"), ("ben", 2, b"2")]
    first = pb.QueuedMessage.FromString(next(iter(txn.rows(MESSAGES).values())))
    assert (first.packet_id, first.received) == (9, True)


def test_a_queue_ends_with_its_session(txn: MemoryTxn, client: Client) -> None:
    append(txn, message(b"1"), message(b"2", "ada"))
    created_at_ms = 1_000

    delete = sessions_pb2.DeleteSession(tenant="acme", client_id="ada")
    delete_sessions(txn, sessions_pb2.DeleteSessions(sessions=[delete]))
    txn = txn.then(1_500)
    [reply] = connect(txn, client("ben", clean=True))

    assert (reply.session_present, reply.queued) == (False, 0)
    assert waiting(txn) == []
    assert txn.rows(HEADS) == {}
    answer = append(
        txn,
        message(b"1", "ada"),
        message(b"2", session_created_at_ms=created_at_ms),
        message(b"3", session_created_at_ms=created_at_ms + 500),
    )
    assert [(each.item, each.code) for each in answer.refusals] == [
        (0, "NOT_FOUND"),
        (1, "NOT_FOUND"),
    ]
    assert waiting(txn) == [("ben", 1, b"3")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"topic": "a/#"},
        {"topic": ""},
        {"qos": 0},
        {"qos": 3},
        {"payload": bytes(LARGEST_MESSAGE + 1)},
        {"packet_id": 65_536},
        {"client_id": ""},
    ],
)
def test_what_no_client_waits_for_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(Invalid, match=r"^messages\[1\]\."):
        check_appends(pb.AppendMessages(messages=[message(), message(**wrong)]))


def test_queues_are_listed_and_counted(net: Any, client: Client) -> None:
    node = net.node
    connecting = sessions_pb2.ConnectSessions(
        broker="north", broker_epoch=net.epochs["north"], connections=[client("ada"), client("ben")]
    )
    run(node.propose(connecting, BatchReply))
    messages = [message(b"1"), message(b"2"), message(b"3", "ada")]
    run(node.propose(pb.AppendMessages(messages=messages), BatchReply))
    service = node.servicer("quorate_mqtt.v1.QueuedMessageService")

    page = run(service.List(pb.ListQueuedMessagesRequest(tenant="acme", client_id="ben"), None))

    assert [each.payload for each in page.messages] == [b"1", b"2"]
    assert run(service.Count(pb.ListQueuedMessagesRequest(tenant="acme"), None)).count == 3
