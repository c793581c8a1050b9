"""How many topics each tenant has, those that are being deleted among them."""

from quorate.plugin import Reader, Txn, keys

from quorate_mqtt.topics.families import COUNTS
from quorate_mqtt.v1.topics_pb2 import TopicCount


def read(reader: Reader, tenant: str) -> int:
    """Return how many topics a tenant has."""
    return TopicCount.FromString(reader.get(COUNTS, keys.pack(tenant)) or b"").topics


def write(txn: Txn, tenant: str, topics: int) -> None:
    """Note how many topics a tenant has; of one without any there is no row."""
    if topics:
        count = TopicCount(topics=topics)
        txn.put(COUNTS, keys.pack(tenant), count.SerializeToString(deterministic=True))
    else:
        txn.delete(COUNTS, keys.pack(tenant))
