"""The column families, their keys, and the private indexes."""

from typing import Final

from quorate.plugin import ColumnFamily, keys

from quorate_name_server.v1 import rows_pb2 as rows

GROUP: Final = "name_server"
#: By name; declared by its resource, like the two below.
BROKERS: Final = "name_server.brokers"
#: By topic and broker, so that a look-up of a route is one scan.
QUEUES: Final = "name_server.queues"
#: By namespace and key.
KV_CONFIGS: Final = "name_server.kv_configs"
#: By topic and broker.
MAPPINGS: Final = "name_server.mappings"

# Private indexes; values are empty unless documented.

#: Broker and topic of each row of queues or mappings.
TOPICS_OF_BROKERS: Final = "name_server.topics_of_brokers"
#: By address: the name of the broker.
ADDRESSES: Final = "name_server.addresses"
#: By name: removed brokers whose queues are not deleted yet.
DEPARTED: Final = "name_server.departures"

#: The timer of the members' lives; a deadline has the key that `member_key` returns.
LIVENESS: Final = "name_server.liveness"
#: The most extensions of the life of a member or a replica within its timeout.
RENEWALS: Final = 4
#: The sequence of the registrations.
REGISTRATIONS: Final = "name_server.registrations"

FAMILIES: Final = (
    ColumnFamily(name=MAPPINGS, group=GROUP, row=rows.QueueMapping),
    ColumnFamily(name=TOPICS_OF_BROKERS, group=GROUP),
    ColumnFamily(name=ADDRESSES, group=GROUP),
    ColumnFamily(name=DEPARTED, group=GROUP),
)


def queues_key(topic: str, broker: str) -> bytes:
    """Return the key of a topic's queues on a broker, and of their mapping."""
    return keys.pack(topic, broker)


def topic_of_broker_key(broker: str, topic: str) -> bytes:
    """Return the key of a topic in the index of brokers."""
    return keys.pack(broker, topic)


def member_key(broker: str, registration: int) -> bytes:
    """Return the key of a member's deadline, unique by registration."""
    return keys.pack(broker, registration)
