"""Where the subscriptions are: behind the key of their client's session."""

from typing import Final

from quorate.plugin import ColumnFamily, Txn, keys, read_range

from quorate_mqtt.shards import GROUP, client_shard_of
from quorate_mqtt.v1.subscriptions_pb2 import Subscription

SUBSCRIPTIONS: Final = "mqtt.subscriptions"


FAMILY: Final = ColumnFamily(
    name=SUBSCRIPTIONS, group=GROUP, row=Subscription, shard_key=client_shard_of
)


def subscription_key(tenant: str, client_id: str, topic_filter: str) -> bytes:
    """Return the key of a subscription."""
    return keys.pack(tenant, client_id, topic_filter)


def delete_all(txn: Txn, client: bytes) -> None:
    """Delete the subscriptions of the client of a session's key."""
    for row in read_range(txn, SUBSCRIPTIONS, client, client + b"\xff"):
        txn.delete(SUBSCRIPTIONS, row.key)
