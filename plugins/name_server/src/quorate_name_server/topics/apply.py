"""The verbs of topics, and the sweep of topics of removed brokers."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from quorate.plugin import Reader, Rejected, Txn, keys
from quorate.v1.batch_pb2 import BatchReply

from quorate_name_server.brokers.rows import clusters_of, find_broker, put_broker
from quorate_name_server.families import (
    DEPARTED,
    MAPPINGS,
    QUEUES,
    TOPICS_OF_BROKERS,
    queues_key,
    topic_of_broker_key,
)
from quorate_name_server.v1 import commands_pb2 as pb, rows_pb2 as rows


def topics_of(reader: Reader, broker: str) -> Iterator[str]:
    """Yield the topics with rows of a broker."""
    for row in reader.scan(TOPICS_OF_BROKERS, *keys.prefix(broker)):
        yield str(keys.unpack(row.key)[1])


def put_queues(
    txn: Txn, broker: rows.Broker, queues: Mapping[str, bytes], *, overwrite: bool
) -> bool:
    """Write the queues of topics on a broker, and count them; return whether any was written.

    Equal queues are not written. Without `overwrite`, existing topics of the broker stay unchanged.
    """
    named = [queues_key(topic, broker.name) for topic in queues]
    written: dict[bytes, bytes] = {}
    added: dict[bytes, bytes] = {}
    stored = txn.get_values(QUEUES, named)
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
    """Write the changed mappings of topics on a broker."""
    for each in mappings:
        key = queues_key(each.topic, broker)
        value = each.mapping.SerializeToString(deterministic=True)
        if txn.get(MAPPINGS, key) != value:
            txn.put(MAPPINGS, key, value)
            txn.put(TOPICS_OF_BROKERS, topic_of_broker_key(broker, each.topic), b"")


def drop_topics(txn: Txn, broker: str, topics: Iterable[str]) -> int:
    """Delete topics of a broker; return the number of topics that had queues."""
    dropped = 0
    for topic in topics:
        key = queues_key(topic, broker)
        dropped += txn.get(QUEUES, key) is not None
        txn.delete(QUEUES, key)
        txn.delete(MAPPINGS, key)
        txn.delete(TOPICS_OF_BROKERS, topic_of_broker_key(broker, topic))
    return dropped


#: The most topics that one command sweeps.
SWEPT: Final = 1_000


def put(txn: Txn, item: pb.BrokerQueues) -> pb.BrokerQueues:
    """Write the queues of a topic on a broker."""
    broker = find_broker(txn, item.broker)
    if broker is None:
        raise Rejected("NOT_FOUND", f"there is no broker {item.broker}; it must register first")
    before = broker.SerializeToString(deterministic=True)
    value = item.queues.SerializeToString(deterministic=True)
    put_queues(txn, broker, {item.topic: value}, overwrite=True)
    put_broker(txn, broker, before)
    return item


def delete(txn: Txn, item: pb.TopicDeletion) -> pb.DeletedTopic:
    """Delete a topic on all brokers, or on those of a cluster."""
    dropped = 0
    for row in list(txn.scan(QUEUES, *keys.prefix(item.topic))):
        name = str(keys.unpack(row.key)[1])
        broker = find_broker(txn, name)
        if item.cluster and (broker is None or item.cluster not in clusters_of(broker)):
            continue
        dropped += drop_topics(txn, name, [item.topic])
        if broker is not None:
            broker.topics -= 1
            put_broker(txn, broker)
    return pb.DeletedTopic(brokers=dropped)


def sweep(txn: Txn, command: pb.SweepTopics) -> BatchReply:
    """Delete some topics of removed brokers; later commands delete the rest."""
    left = SWEPT
    for name in command.names:
        if txn.get(DEPARTED, keys.pack(name)) is None:
            continue
        found = list(txn.scan(TOPICS_OF_BROKERS, *keys.prefix(name), limit=left + 1))
        drop_topics(txn, name, [str(keys.unpack(row.key)[1]) for row in found[:left]])
        if len(found) > left:
            break
        left -= len(found)
        txn.delete(DEPARTED, keys.pack(name))
    return BatchReply(items=len(command.names))
