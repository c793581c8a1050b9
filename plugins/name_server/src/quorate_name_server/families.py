"""Where the rows are: the column families, their keys, and the private indexes.

All of them lie in one shard: a registration and the look-up of a route each touch one.
"""

from typing import Final

from quorate.plugin import ColumnFamily, keys

from quorate_name_server.v1 import rows_pb2 as rows

GROUP: Final = "name_server"
#: By name; declared by its resource, as the two below are.
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
#: The broker that has an address, as text.
ADDRESSES: Final = "name_server.addresses"
#: Removed brokers whose queues are not deleted yet.
DEPARTED: Final = "name_server.departures"

#: The timer of the members' lives: its deadlines have the keys of `member_key`.
LIVENESS: Final = "name_server.liveness"
#: How often a node extends the life of a member or a replica within its timeout, at most.
RENEWALS: Final = 4
#: The sequence of the registrations.
REGISTRATIONS: Final = "name_server.registrations"

FAMILIES: Final = (
    ColumnFamily(name=MAPPINGS, group=GROUP, row=rows.QueueMapping),
    ColumnFamily(name=TOPICS_OF_BROKERS, group=GROUP),
    ColumnFamily(name=ADDRESSES, group=GROUP),
    ColumnFamily(name=DEPARTED, group=GROUP),
)


def broker_key(name: str) -> bytes:
    """Return the key of a broker's row."""
    return keys.pack(name)


def queues_key(topic: str, broker: str) -> bytes:
    """Return the key of a topic's queues on a broker, and of their mapping."""
    return keys.pack(topic, broker)


def topic_of_broker_key(broker: str, topic: str) -> bytes:
    """Return the key of a topic in the index of brokers."""
    return keys.pack(broker, topic)


def address_key(address: str) -> bytes:
    """Return the key of an address in the index of addresses."""
    return keys.pack(address)


def member_key(broker: str, registration: int) -> bytes:
    """Return the key of a member's deadline: that of another registration of it differs."""
    return keys.pack(broker, registration)
