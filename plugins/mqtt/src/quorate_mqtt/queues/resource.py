"""Queued messages: brokers append messages for clients that are offline, and read them later."""

from functools import partial
from typing import Any, Final

from quorate.plugin import Checks, Invalid, Item, Rejected, Resource, Txn, Verb
from quorate.plugin.advanced import answer_each
from quorate.plugin.checking import check_each, check_most
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.names import check_identity, check_topic_name
from quorate_mqtt.queues import keeping
from quorate_mqtt.queues.keeping import MESSAGES
from quorate_mqtt.retained_messages import LARGEST_MESSAGE
from quorate_mqtt.sessions.families import SESSIONS
from quorate_mqtt.sessions.validation import check_client
from quorate_mqtt.shards import GROUP, client_shard
from quorate_mqtt.v1 import queued_messages_pb2 as pb
from quorate_mqtt.v1.sessions_pb2 import Session

#: Limits of a queue where the command sets none.
MOST_MESSAGES: Final = 10_000
MOST_BYTES: Final = 64 << 20
#: All messages of a session are deleted by the command that ends it.
MOST_MESSAGES_EVER: Final = 100_000


def append_messages(txn: Txn, command: pb.AppendMessages) -> BatchReply:
    """Add messages to the ends of queues, in their order."""
    most_messages = command.most_messages or MOST_MESSAGES
    most_bytes = command.most_bytes or MOST_BYTES
    return answer_each(
        txn, command.messages, partial(_append, most_messages=most_messages, most_bytes=most_bytes)
    )


def delete_message(txn: Txn, name: pb.QueuedMessageName) -> None:
    """Delete a message, if it exists."""
    client = client_shard(name.tenant, name.client_id)
    row = txn.get_row(MESSAGES, keeping.key_of(client, name.number))
    if row is not None:
        head = keeping.head_of(txn, client)
        keeping.take_out(txn, row, head)
        keeping.put_head(txn, client, head)


def _append(
    txn: Txn, item: pb.AppendMessage, *, most_messages: int, most_bytes: int
) -> pb.AppendReply:
    client = client_shard(item.tenant, item.client_id)
    session = Session.FromString(txn.get(SESSIONS, client) or b"")
    if not session.generation or item.session_created_at_ms not in (0, session.created_at_ms):
        raise Rejected("NOT_FOUND", f"client {item.client_id} has no such session")
    size = keeping.size_of(item)
    if size > most_bytes:
        raise Rejected(
            "QUEUE_FULL", f"a message of {size} bytes is larger than a queue may be: {most_bytes}"
        )
    broker_epoch = 0 if session.disconnected_at_ms else session.broker_epoch
    head, dropped = keeping.head_of(txn, client), 0
    if item.number:
        old = txn.get_row(MESSAGES, keeping.key_of(client, item.number))
        if old is None:
            return pb.AppendReply(broker_epoch=broker_epoch)
        keeping.take_out(txn, old, head)
    while head.messages and (head.messages >= most_messages or head.bytes + size > most_bytes):
        dropped += keeping.drop_oldest(txn, client, head)
    if not item.number:
        head.last += 1
    head.messages += 1
    head.bytes += size
    number = item.number or head.last
    keeping.put_head(txn, client, head)
    row = _row_of(item, number, txn.proposed_at_ms)
    txn.put(MESSAGES, keeping.key_of(client, number), row.SerializeToString(deterministic=True))
    return pb.AppendReply(number=number, broker_epoch=broker_epoch, dropped=dropped)


def _row_of(item: pb.AppendMessage, number: int, queued_at_ms: int) -> pb.QueuedMessage:
    return pb.QueuedMessage(
        tenant=item.tenant,
        client_id=item.client_id,
        number=number,
        topic=item.topic,
        payload=item.payload,
        qos=item.qos,
        retain=item.retain,
        properties=item.properties,
        expires_at_ms=item.expires_at_ms,
        packet_id=item.packet_id,
        received=item.received,
        origin_epoch=item.origin_epoch,
        origin_number=item.origin_number,
        queued_at_ms=queued_at_ms,
    )


def check_append(item: pb.AppendMessage, path: str) -> None:
    """Reject a message that cannot be queued."""
    check_client(item.tenant, item.client_id, path)
    check_topic_name(f"{path}topic", item.topic)
    if item.qos not in (1, 2):
        raise Invalid(f"{path}qos", f"must be 1 or 2, not {item.qos}: others do not wait")
    size = len(item.payload) + len(item.properties)
    if size > LARGEST_MESSAGE:
        reason = f"must have at most {LARGEST_MESSAGE} bytes with the properties, not {size}"
        raise Invalid(f"{path}payload", reason)
    check_most(f"{path}packet_id", item.packet_id, 0xFFFF)


def check_appends(command: pb.AppendMessages) -> None:
    """Reject a batch with an invalid message, or a queue that is too long to delete at once."""
    check_most("most_messages", command.most_messages, MOST_MESSAGES_EVER)
    check_each("messages", command.messages, check_append)


def _key(item: Any) -> bytes:
    return keeping.key_of(client_shard(item.tenant, item.client_id), item.number)


_ADA: Final[dict[str, Any]] = {"tenant": "acme", "client_id": "ada"}

#: A queue is deleted with its session: a tenant without sessions has no queue.
QUEUED_MESSAGE: Final[Resource[pb.QueuedMessage]] = Resource(
    family=MESSAGES,
    group=GROUP,
    row=pb.QueuedMessage,
    service=pb.DESCRIPTOR.services_by_name["QueuedMessageService"],
    key=("tenant", "client_id", "number"),
    check_key={"client_id": check_identity},
    shard_by=("tenant", "client_id"),
    verbs={
        "Append": Verb(
            apply_all=append_messages,
            item=Item(key=_key, repeats=True, reply=pb.AppendReply),
            check=Checks(command=check_appends, item=check_append),
            examples=(
                pb.AppendMessages(
                    most_messages=2,
                    most_bytes=1_000,
                    messages=[
                        pb.AppendMessage(**_ADA, topic="alarms/a", payload=b"1", qos=1),
                        pb.AppendMessage(**_ADA, topic="alarms/b", payload=b"2", qos=2),
                        pb.AppendMessage(tenant="acme", client_id="ben", topic="jobs/a", qos=1),
                    ],
                ),
            ),
        ),
        "Delete": Verb(apply=delete_message, examples=(pb.QueuedMessageName(**_ADA, number=1),)),
    },
)
