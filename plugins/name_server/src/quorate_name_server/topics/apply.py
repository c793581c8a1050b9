"""The verbs of topics, and the deletion of those of removed brokers."""

from typing import Final

from quorate.plugin import Rejected, Txn, keys, read_range
from quorate.v1.batch_pb2 import BatchReply

from quorate_name_server.brokers.rows import clusters_of, find_broker, put_broker
from quorate_name_server.families import DEPARTED, QUEUES, TOPICS_OF_BROKERS, broker_key
from quorate_name_server.topics.rows import drop_topics, put_queues
from quorate_name_server.v1 import commands_pb2 as pb

#: Topics of each broker that one command sweeps.
SWEPT: Final = 1_000


def put(txn: Txn, item: pb.BrokerQueues) -> pb.BrokerQueues:
    """Write the queues of a topic on a broker."""
    broker = find_broker(txn, item.broker)
    if broker is None:
        raise Rejected("NOT_FOUND", f"there is no broker {item.broker}; it registers first")
    before = broker.SerializeToString(deterministic=True)
    value = item.queues.SerializeToString(deterministic=True)
    put_queues(txn, broker, {item.topic: value}, overwrite=True)
    put_broker(txn, broker, before)
    return item


def delete(txn: Txn, item: pb.TopicDeletion) -> pb.DeletedTopic:
    """Delete a topic on all brokers, or on those of a cluster."""
    dropped = 0
    for row in list(read_range(txn, QUEUES, *keys.prefix(item.topic))):
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
        if txn.get(DEPARTED, broker_key(name)) is None:
            continue
        found = list(txn.scan(TOPICS_OF_BROKERS, *keys.prefix(name), limit=left + 1))
        drop_topics(txn, name, [str(keys.unpack(row.key)[1]) for row in found[:left]])
        if len(found) > left:
            break
        left -= len(found)
        txn.delete(DEPARTED, broker_key(name))
    return BatchReply(items=len(command.names))
