"""The index of the duties, by the registration of the broker; epoch 0 has the unassigned ones."""

from collections.abc import Iterator
from typing import Final

from quorate.builtin.cluster.api import BROKERS
from quorate.plugin import ColumnFamily, Query, Reader, Txn, keys

from quorate_mqtt.brokers import LiveBrokers
from quorate_mqtt.sessions.families import DELIVERIES
from quorate_mqtt.shards import GROUP, client_shard_of, tenant_shard_of
from quorate_mqtt.v1.duties_pb2 import Duty, FindDuties

#: Private: the epoch, the family of the row, and its key; epoch 0 if the duty is unassigned.
DUTIES: Final = "mqtt.duties"


def _shard_of(key: bytes) -> bytes:
    """Return the shard key of a duty: that of its row."""
    _, family, of_row = keys.unpack(key)
    assert isinstance(of_row, bytes)
    return client_shard_of(of_row) if family == DELIVERIES else tenant_shard_of(of_row)


FAMILY: Final = ColumnFamily(name=DUTIES, group=GROUP, shard_key=_shard_of)


def entrust(txn: Txn, epoch: int, family: str, key: bytes) -> None:
    """Record that a broker has a duty."""
    txn.put(DUTIES, keys.pack(epoch, family, key), b"")


def release(txn: Txn, epoch: int, family: str, key: bytes) -> None:
    """Record that a broker no longer has a duty."""
    txn.delete(DUTIES, keys.pack(epoch, family, key))


def stands(reader: Reader, duty: Duty) -> bool:
    """Return whether a broker still has a duty."""
    return reader.get(DUTIES, keys.pack(duty.broker_epoch, duty.family, duty.key)) is not None


def epochs(reader: Reader) -> Iterator[int]:
    """Yield the registrations that have duties, skipping over the duties of each."""
    start, end = keys.prefix()
    while rows := list(reader.scan(DUTIES, start, end, limit=1)):
        epoch = int(keys.unpack(rows[0].key)[0])
        yield epoch
        _, start = keys.prefix(epoch)


def of_epoch(reader: Reader, epoch: int, limit: int) -> Iterator[Duty]:
    """Yield the first duties of a registration."""
    for row in reader.scan(DUTIES, *keys.prefix(epoch), limit=limit):
        _, family, key = keys.unpack(row.key)
        assert isinstance(key, bytes)
        yield Duty(broker_epoch=epoch, family=str(family), key=key)


#: Maximum number of duties that one query finds in a shard.
MOST: Final = 1_000


def find_duties(reader: Reader, query: FindDuties) -> Iterator[Duty]:
    """Yield the duties of brokers that are gone, and unassigned duties if a broker serves."""
    live_brokers = LiveBrokers(reader)
    left = min(query.limit or MOST, MOST)
    for epoch in epochs(reader):
        if live_brokers.lives(epoch) if epoch else not live_brokers.serving():
            continue
        for duty in of_epoch(reader, epoch, left):
            yield duty
            left -= 1
        if left <= 0:
            return


def order(duty: Duty) -> bytes:
    """Return the key by which the duties of several shards are merged."""
    return keys.pack(duty.broker_epoch, duty.family, duty.key)


FIND_DUTIES: Final = Query(
    message=FindDuties, group=GROUP, run=find_duties, order=order, reads=(BROKERS,)
)
