"""The queries of routes, brokers and topics, which run on the shard that holds the rows."""

from collections.abc import Iterator
from typing import Final

from quorate.plugin import Reader, keys
from quorate.plugin.checking import LARGEST_PAGE

from quorate_name_server.brokers.rows import clusters_of, find_broker
from quorate_name_server.families import BROKERS, DEPARTED, KV_CONFIGS, MAPPINGS, QUEUES
from quorate_name_server.routes.making import ORDER_TOPICS, has_flags, is_asked_for, make_route
from quorate_name_server.v1 import (
    queries_pb2 as asked,
    rows_pb2 as rows,
    service_pb2 as answers,
)

#: The most topics examined for one page, whether they match or not.
MOST_LOOKED_AT: Final = 2_000
#: Maximum number of removed brokers with queues that one query returns.
DEPARTED_FOUND: Final = 100


def read_routes(reader: Reader, query: asked.ReadRoutes) -> Iterator[answers.Route]:
    """Yield the routes of topics, without topics that have none."""
    for topic in query.topics:
        queues = {
            str(keys.unpack(row.key)[1]): rows.Queues.FromString(row.value)
            for row in reader.scan(QUEUES, *keys.prefix(topic))
        }
        if not queues:
            continue
        mappings = {
            str(keys.unpack(row.key)[1]): rows.QueueMapping.FromString(row.value)
            for row in reader.scan(MAPPINGS, *keys.prefix(topic))
        }
        stored = reader.get(KV_CONFIGS, keys.pack(ORDER_TOPICS, topic))
        order = "" if stored is None else rows.KvConfig.FromString(stored).value
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
        every = reader.scan(BROKERS, *keys.prefix())
        brokers = (rows.Broker.FromString(row.value) for row in every)
    yield from (broker for broker in brokers if is_asked_for(broker, query))


def read_topics(reader: Reader, query: asked.ReadTopics) -> Iterator[asked.FoundTopic]:
    """Yield a page of the topics with routes, reading only the queues and brokers of each."""
    brokers: dict[str, bool] = {}

    def lives(name: str) -> bool:
        if name not in brokers:
            broker = find_broker(reader, name)
            brokers[name] = broker is not None and query.cluster in ("", *clusters_of(broker))
        return brokers[name]

    start, end = keys.prefix()
    topic = query.after
    limit = min(query.limit or LARGEST_PAGE, LARGEST_PAGE)
    given = looked_at = 0
    while True:
        if topic:
            _, start = keys.prefix(topic)
        row = next(iter(reader.scan(QUEUES, start, end, limit=1)), None)
        if row is None:
            return
        if given == limit or looked_at == MOST_LOOKED_AT:
            yield asked.FoundTopic(topic=topic, more=True)
            return
        topic = str(keys.unpack(row.key)[0])
        looked_at += 1
        queues = {
            name: rows.Queues.FromString(each.value)
            for each in reader.scan(QUEUES, *keys.prefix(topic))
            if lives(name := str(keys.unpack(each.key)[1]))
        }
        if queues and has_flags(queues, queues, query):
            given += 1
            yield asked.FoundTopic(topic=topic)


def find_departed(reader: Reader, query: asked.FindDeparted) -> Iterator[asked.Departed]:
    """Yield removed brokers that still have queues."""
    for row in reader.scan(DEPARTED, *keys.prefix(), limit=DEPARTED_FOUND):
        yield asked.Departed(name=str(keys.unpack(row.key)[0]))
