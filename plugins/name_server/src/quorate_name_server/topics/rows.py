"""The rows of a broker's topics: queues, mappings, and the index by which they are found again."""

from collections.abc import Iterable, Iterator, Mapping

from quorate.plugin import Reader, Txn, keys, read_range, read_values

from quorate_name_server.families import (
    MAPPINGS,
    QUEUES,
    TOPICS_OF_BROKERS,
    queues_key,
    topic_of_broker_key,
)
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows


def topics_of(reader: Reader, broker: str) -> Iterator[str]:
    """Yield the topics that a broker has rows of."""
    for row in read_range(reader, TOPICS_OF_BROKERS, *keys.prefix(broker)):
        yield str(keys.unpack(row.key)[1])


def put_queues(
    txn: Txn, broker: rows.Broker, queues: Mapping[str, bytes], *, overwrite: bool
) -> bool:
    """Write the queues of topics on a broker, and count them; return whether any was written.

    Equal ones are not. Without `overwrite` topics that the broker has stay as they are.
    """
    named = [queues_key(topic, broker.name) for topic in queues]
    written: dict[bytes, bytes] = {}
    added: dict[bytes, bytes] = {}
    stored = read_values(txn, QUEUES, named)
    for (topic, value), key, found in zip(queues.items(), named, stored, strict=True):
        if found is None:
            added[topic_of_broker_key(broker.name, topic)] = b""
        elif not overwrite or found == value:
            continue
        written[key] = value
    txn.put_each(QUEUES, written)
    txn.put_each(TOPICS_OF_BROKERS, added)
    broker.topics += len(added)
    return bool(written)


def put_mappings(txn: Txn, broker: str, mappings: Iterable[pb.TopicQueueMapping]) -> None:
    """Write the mappings of topics on a broker; equal ones are not written."""
    for each in mappings:
        key = queues_key(each.topic, broker)
        value = each.mapping.SerializeToString(deterministic=True)
        if txn.get(MAPPINGS, key) != value:
            txn.put(MAPPINGS, key, value)
            txn.put(TOPICS_OF_BROKERS, topic_of_broker_key(broker, each.topic), b"")


def drop_topics(txn: Txn, broker: str, topics: Iterable[str]) -> int:
    """Delete topics of a broker; return the number of those that had queues."""
    dropped = 0
    for topic in topics:
        key = queues_key(topic, broker)
        dropped += txn.get(QUEUES, key) is not None
        txn.delete(QUEUES, key)
        txn.delete(MAPPINGS, key)
        txn.delete(TOPICS_OF_BROKERS, topic_of_broker_key(broker, topic))
    return dropped
