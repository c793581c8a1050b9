"""Where the subscriptions are: behind the key of their client's session."""

from typing import Final

from quorate.plugin import ColumnFamily, Txn, keys

from quorate_mqtt.shards import GROUP, client_shard_of
from quorate_mqtt.v1.subscriptions_pb2 import Subscription

SUBSCRIPTIONS: Final = "mqtt.subscriptions"

#: Rows that are read at a time.
_CHUNK: Final = 100

FAMILY: Final = ColumnFamily(
    name=SUBSCRIPTIONS, group=GROUP, row=Subscription, shard_key=client_shard_of
)


def subscription_key(tenant: str, client_id: str, topic_filter: str) -> bytes:
    """Return the key of a subscription."""
    return keys.pack(tenant, client_id, topic_filter)


def delete_all(txn: Txn, client: bytes) -> None:
    """Delete the subscriptions of the client of a session's key."""
    start, end = client, client + b"\xff"
    while rows := list(txn.scan(SUBSCRIPTIONS, start, end, limit=_CHUNK)):
        for row in rows:
            txn.delete(SUBSCRIPTIONS, row.key)
        start = rows[-1].key + b"\x00"
