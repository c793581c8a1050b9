"""Builds routes, from rows or from memory."""

from collections.abc import Container, Mapping
from typing import Final

from quorate_name_server.brokers.rows import MASTER, clusters_of
from quorate_name_server.v1 import (
    commands_pb2 as pb,
    queries_pb2 as asks,
    rows_pb2 as rows,
    service_pb2 as answers,
)

#: The namespace of the settings that define the order of topics' queues.
ORDER_TOPICS: Final = "ORDER_TOPIC_CONFIG"
WRITE: Final = 2

FlagsAsked = answers.ListTopicsRequest | asks.ReadTopics


def make_route(
    topic: str,
    queues: Mapping[str, rows.Queues],
    brokers: Mapping[str, rows.Broker],
    mappings: Mapping[str, rows.QueueMapping],
    order: str,
) -> answers.Route | None:
    """Return the route of a topic on the registered brokers, or None."""
    route = answers.Route(topic=topic, order_config=order)
    for name in sorted(queues):
        broker = brokers.get(name)
        if broker is None:
            continue
        permit(route.queues.add(topic=topic, broker=name, queues=queues[name]), broker)
        route.brokers.append(broker)
        if name in mappings:
            route.mappings.add(topic=topic, broker=name, mapping=mappings[name])
    if not route.brokers:
        return None
    return route


def permit(queues: pb.BrokerQueues, broker: rows.Broker) -> None:
    """Remove the write permission from the queues of a read-only broker."""
    if read_only(broker):
        queues.queues.perm &= ~WRITE


def read_only(broker: rows.Broker) -> bool:
    """Return whether writes to a broker are forbidden, regardless of its queues."""
    if broker.write_wiped:
        return True
    return broker.enable_acting_master and all(each.id != MASTER for each in broker.members)


def is_asked_for(broker: rows.Broker, query: asks.ReadBrokers) -> bool:
    """Return whether a broker matches the names and the cluster of a query, where given."""
    named = not query.names or broker.name in query.names
    return named and (not query.cluster or query.cluster in clusters_of(broker))


def has_flags(
    queues: Mapping[str, rows.Queues], brokers: Container[str], asked: FlagsAsked
) -> bool:
    """Return whether the flags of a topic on its first broker match a request."""
    if not asked.flags and not asked.without_flags:
        return True
    first = min((name for name in queues if name in brokers), default=None)
    return first is not None and flags_fit(queues[first].topic_sys_flag, asked)


def flags_fit(flags: int, asked: FlagsAsked) -> bool:
    """Return whether flags have all required bits, and no excluded one."""
    return flags & asked.flags == asked.flags and not flags & asked.without_flags
