"""What a route says, whether it comes from rows or from memory."""

from collections.abc import Mapping
from typing import Final

from quorate_name_server.brokers.rows import MASTER
from quorate_name_server.v1 import rows_pb2 as rows, service_pb2 as answers

#: The namespace of the settings that say in which order the queues of topics are.
ORDER_TOPICS: Final = "ORDER_TOPIC_CONFIG"
WRITE: Final = 2


def make_route(
    topic: str,
    queues: Mapping[str, rows.Queues],
    brokers: Mapping[str, rows.Broker],
    mappings: Mapping[str, rows.QueueMapping],
    order: bytes | None,
) -> answers.Route | None:
    """Return the route of a topic, of the brokers that are there; None when there is none."""
    route = answers.Route(topic=topic)
    for name in sorted(queues):
        broker = brokers.get(name)
        if broker is None:
            continue
        held = route.queues.add(topic=topic, broker=name, queues=queues[name])
        if read_only(broker):
            held.queues.perm &= ~WRITE
        route.brokers.append(broker)
        if name in mappings:
            route.mappings.add(topic=topic, broker=name, mapping=mappings[name])
    if not route.brokers:
        return None
    if order is not None:
        route.order_config = rows.KvConfig.FromString(order).value
    return route


def read_only(broker: rows.Broker) -> bool:
    """Tell whether nobody may write to a broker, whatever its queues permit."""
    if broker.write_wiped:
        return True
    return broker.enable_acting_master and all(each.id != MASTER for each in broker.members)
