"""The queue of a session: its messages by number, and its size."""

from typing import Final

from quorate.plugin import ColumnFamily, Reader, Row, Txn, keys

from quorate_mqtt.shards import GROUP, client_shard_of
from quorate_mqtt.v1.queued_messages_pb2 import AppendMessage, QueuedMessage, QueueHead

#: Under the key of their client's session and their number.
MESSAGES: Final = "mqtt.queued_messages"
#: Private: under the key of the session, from the first message on.
HEADS: Final = "mqtt.queues"
HEAD_ROWS: Final = ColumnFamily(name=HEADS, group=GROUP, shard_key=client_shard_of)


def size_of(message: AppendMessage | QueuedMessage) -> int:
    """Return the size of a message for the limit of its queue."""
    return len(message.payload) + len(message.topic) + len(message.properties)


def head_of(reader: Reader, client: bytes) -> QueueHead:
    """Return the head of a session's queue; empty if it has none."""
    return QueueHead.FromString(reader.get(HEADS, client) or b"")


def waiting_in(head: bytes | None) -> int:
    """Return the number of messages in the queue with this head."""
    return QueueHead.FromString(head).messages if head else 0


def put_head(txn: Txn, client: bytes, head: QueueHead) -> None:
    """Store the head of a queue; an empty queue keeps it, so that the numbers continue."""
    txn.put(HEADS, client, head.SerializeToString(deterministic=True))


def take_out(txn: Txn, row: Row, head: QueueHead) -> None:
    """Delete a message of a queue with this head."""
    txn.delete(MESSAGES, row.key)
    head.messages -= 1
    head.bytes -= size_of(QueuedMessage.FromString(row.value))


def drop_oldest(txn: Txn, client: bytes, head: QueueHead) -> bool:
    """Delete the oldest message; return whether there was one."""
    for row in txn.scan(MESSAGES, client, client + b"\xff", limit=1):
        take_out(txn, row, head)
        return True
    return False


def end(txn: Txn, client: bytes) -> None:
    """Delete the queue of a session that ends."""
    if txn.get(HEADS, client) is None:
        return
    for row in txn.scan(MESSAGES, client, client + b"\xff"):
        txn.delete(MESSAGES, row.key)
    txn.delete(HEADS, client)


def key_of(client: bytes, number: int) -> bytes:
    """Return the key of a message of a session."""
    return client + keys.pack(number)
