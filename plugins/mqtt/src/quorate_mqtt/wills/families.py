"""Where the wills are: those of the living, and those that brokers have to publish."""

from typing import Final

from quorate.plugin import ColumnFamily, keys

from quorate_mqtt.shards import GROUP, client_shard_of
from quorate_mqtt.v1.wills_pb2 import Will, WillDelivery

#: The will of a client, under the key of its session.
WILLS: Final = "mqtt.wills"
#: Wills that are due, until they are acknowledged.
DELIVERIES: Final = "mqtt.will_deliveries"
#: The timer of the wills that wait for their client: its deadlines have the keys of the sessions.
DELAY: Final = "mqtt.will_delay"
#: The sequence of the deliveries.
IDS: Final = "mqtt.will_deliveries"


def delivery_key(tenant: str, client_id: str, number: int) -> bytes:
    """Return the key of a delivery."""
    return keys.pack(tenant, client_id, number)


FAMILIES: Final = (
    ColumnFamily(name=WILLS, group=GROUP, row=Will, shard_key=client_shard_of),
    ColumnFamily(name=DELIVERIES, group=GROUP, row=WillDelivery, shard_key=client_shard_of),
)
