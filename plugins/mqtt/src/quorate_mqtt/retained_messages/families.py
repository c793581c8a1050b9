"""Where the rows are, and the deadlines at which they expire."""

from typing import Final

from quorate.plugin import ColumnFamily, keys

from quorate_mqtt.batches import Batch
from quorate_mqtt.rows.reading import Shelf, value_as
from quorate_mqtt.shards import GROUP, topic_shard
from quorate_mqtt.v1.retained_messages_pb2 import (
    DeleteRetainedMessages,
    PutRetainedMessageRequest,
    PutRetainedMessages,
    RetainedMessage,
    RetainedName,
)

RETAINED: Final = "mqtt.retained_messages"
#: The timer of the messages that expire: its deadlines have the keys of their rows.
EXPIRY: Final = "mqtt.retained_expiry"

PUT: Final = Batch[PutRetainedMessageRequest](message=PutRetainedMessages, field="messages")
DELETION: Final = Batch[RetainedName](message=DeleteRetainedMessages, field="names")


def retained_key(tenant: str, topic: str) -> bytes:
    """Return the key of a topic's retained message."""
    return keys.pack(tenant, topic)


def key_of(named: RetainedName | PutRetainedMessageRequest) -> bytes:
    """Return the key of the retained message that is named."""
    return retained_key(named.tenant, named.topic)


def shard_of(key: bytes) -> bytes:
    """Return the shard key of the retained message with this key."""
    tenant, topic = keys.unpack(key)
    return topic_shard(str(tenant), str(topic))


FAMILY: Final = ColumnFamily(name=RETAINED, group=GROUP, row=RetainedMessage, shard_key=shard_of)
SHELF: Final = Shelf(
    family=RETAINED, shard_of=shard_of, show=value_as(RetainedMessage), with_tenant=False
)
