"""The read that tells the controller where there is something to collect."""

from collections.abc import Iterator

from quorate.plugin import Reader

from quorate_mqtt.activity.counts import counted
from quorate_mqtt.session_shares.room import seat_of
from quorate_mqtt.v1.activity_pb2 import Activity, ListActivity


def list_activity(reader: Reader, _: ListActivity) -> Iterator[Activity]:
    """Yield what this shard has counted, once it knows a key that leads to it."""
    probe, counts = seat_of(reader).probe, counted(reader)
    if probe and any(counts):
        yield Activity(probe=probe, **counts._asdict())


def order(activity: Activity) -> bytes:
    """Return the key by which the activities of several shards are merged."""
    return activity.probe
