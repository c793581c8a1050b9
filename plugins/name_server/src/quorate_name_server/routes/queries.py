"""Routes, brokers and topics as the rows have them."""

from collections.abc import Iterator
from typing import Final

from quorate.plugin import Reader, keys, read_range

from quorate_name_server.brokers.rows import clusters_of, find_broker
from quorate_name_server.families import BROKERS, KV_CONFIGS, MAPPINGS, QUEUES
from quorate_name_server.routes.making import ORDER_TOPICS, make_route
from quorate_name_server.v1 import (
    queries_pb2 as asked,
    rows_pb2 as rows,
    service_pb2 as answers,
)

#: Topics of one page at most.
LARGEST_PAGE: Final = 1_000
#: Topics that are looked at for one page, whether they are wanted or not.
MOST_LOOKED_AT: Final = 2_000


def read_routes(reader: Reader, query: asked.ReadRoutes) -> Iterator[answers.Route]:
    """Yield the routes of topics that have one."""
    for topic in query.topics:
        queues = {
            str(keys.unpack(row.key)[1]): rows.Queues.FromString(row.value)
            for row in read_range(reader, QUEUES, *keys.prefix(topic))
        }
        if not queues:
            continue
        mappings = {
            str(keys.unpack(row.key)[1]): rows.QueueMapping.FromString(row.value)
            for row in read_range(reader, MAPPINGS, *keys.prefix(topic))
        }
        order = reader.get(KV_CONFIGS, keys.pack(ORDER_TOPICS, topic))
        brokers = {name: found for name in queues if (found := find_broker(reader, name))}
        route = make_route(topic, queues, brokers, mappings, order)
        if route is not None:
            yield route


def read_brokers(reader: Reader, query: asked.ReadBrokers) -> Iterator[rows.Broker]:
    """Yield brokers by name."""
    if query.names:
        found = (find_broker(reader, name) for name in sorted(set(query.names)))
        brokers = (broker for broker in found if broker is not None)
    else:
        every = read_range(reader, BROKERS, *keys.prefix())
        brokers = (rows.Broker.FromString(row.value) for row in every)
    for broker in brokers:
        if not query.cluster or query.cluster in clusters_of(broker):
            yield broker
