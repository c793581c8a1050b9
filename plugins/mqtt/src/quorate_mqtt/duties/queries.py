"""The read of the duties that are to be handed over."""

from collections.abc import Iterator
from typing import Final

from quorate.plugin import Query, Reader, keys

from quorate_mqtt.brokers import BROKERS, Roster
from quorate_mqtt.duties import index
from quorate_mqtt.shards import GROUP
from quorate_mqtt.v1.duties_pb2 import Duty, FindDuties

#: Duties of a shard that are found at a time.
MOST: Final = 1_000


def find_duties(reader: Reader, query: FindDuties) -> Iterator[Duty]:
    """Yield the duties of brokers that are gone, and what waits for one when there is one."""
    roster = Roster(reader)
    left = min(query.limit or MOST, MOST)
    for epoch in index.epochs(reader):
        if roster.lives(epoch) if epoch else not roster.serving():
            continue
        for duty in index.of_epoch(reader, epoch, left):
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
