"""The reads: they run where the rows are."""

from collections.abc import Iterator
from itertools import islice
from typing import Final

from quorate.builtin.cluster.families import BROKERS, broker_key
from quorate.plugin import Reader, keys, read_range
from quorate.v1.cluster_pb2 import Broker, GetBroker, ListBrokers

#: Brokers that a list yields at most: a largest page, and one that tells that there are more.
LONGEST_LIST: Final = 1_001


def get_broker(reader: Reader, query: GetBroker) -> Iterator[Broker]:
    """Yield the broker of that name, if there is one."""
    row = reader.get(BROKERS, broker_key(query.name))
    if row is not None:
        yield Broker.FromString(row)


def list_brokers(reader: Reader, query: ListBrokers) -> Iterator[Broker]:
    """Yield the brokers that fit, as many as are wanted."""
    wanted = min(query.limit or LONGEST_LIST, LONGEST_LIST)
    start, end = keys.prefix()
    if query.after_name:
        start = keys.behind(broker_key(query.after_name))
    brokers = (Broker.FromString(row.value) for row in read_range(reader, BROKERS, start, end))
    yield from islice((broker for broker in brokers if _fits(broker, query)), wanted)


def _fits(broker: Broker, query: ListBrokers) -> bool:
    return (
        query.cluster_name in ("", broker.cluster_name)
        and (not query.role or query.role in broker.roles)
        and all(broker.labels.get(label) == value for label, value in query.labels.items())
    )
