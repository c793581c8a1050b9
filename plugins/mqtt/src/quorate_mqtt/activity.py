"""Activity counters of the brokers: shards count, and the leader of a shard collects."""

from __future__ import annotations

from collections.abc import Iterator
from operator import add
from struct import Struct
from typing import Final, NamedTuple

from quorate.plugin import (
    ColumnFamily,
    Command,
    Controller,
    Items,
    Metric,
    NodeApi,
    Query,
    Reader,
    ShardRef,
    Txn,
    keys,
)
from quorate.plugin.advanced import answer_each
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.session_quota.quota import place_of
from quorate_mqtt.shards import GROUP
from quorate_mqtt.v1.activity_pb2 import Activity, CollectActivity, ListActivity

#: Private: one row of each shard.
ACTIVITY: Final = "mqtt.activity"
_KEY: Final = keys.pack("activity")


class Counts(NamedTuple):
    """Numbers of events, in the order of the row."""

    connects: int = 0
    take_overs: int = 0
    sessions_expired: int = 0
    wills_due: int = 0
    wills_reassigned: int = 0
    wills_published: int = 0


_NOTHING: Final = Counts()
_ROW: Final = Struct(f">{len(Counts._fields)}Q")


def join_activity(_: bytes, own: bytes, other: bytes) -> bytes:
    """Return the sums of the counters of two shards that merge."""
    return _ROW.pack(*map(add, _ROW.unpack(own), _ROW.unpack(other)))


# No shard key: each shard counts its own.
FAMILY: Final = ColumnFamily(name=ACTIVITY, group=GROUP, joins=join_activity)


def counted(reader: Reader) -> Counts:
    """Return the counters of this shard."""
    value = reader.get(ACTIVITY, _KEY)
    return Counts() if value is None else Counts._make(_ROW.unpack(value))


def count(txn: Txn, more: Counts) -> None:
    """Add the events of a command to the counters; write nothing if there were no events."""
    if more == _NOTHING:
        return
    value = txn.get(ACTIVITY, _KEY)
    sums = more if value is None else map(add, _ROW.unpack(value), more)
    txn.put(ACTIVITY, _KEY, _ROW.pack(*sums))


def collect(txn: Txn) -> Counts:
    """Return the counters, and reset them."""
    found = counted(txn)
    txn.delete(ACTIVITY, _KEY)
    return found


CONNECTS: Final = Metric(
    name="quorate_mqtt_connects_total",
    kind="counter",
    help="Completed connects of clients.",
)
TAKE_OVERS: Final = Metric(
    name="quorate_mqtt_take_overs_total",
    kind="counter",
    help="Connects of clients that another broker served before.",
)
EXPIRED: Final = Metric(
    name="quorate_mqtt_sessions_expired_total",
    kind="counter",
    help="Sessions that ended because their expiry interval elapsed.",
)
WILLS: Final = Metric(
    name="quorate_mqtt_wills_total",
    kind="counter",
    help="Wills that became `due`, were `reassigned` to another broker, or were `published`.",
    labels=("event",),
)
METRICS: Final = (CONNECTS, TAKE_OVERS, EXPIRED, WILLS)


def collect_activity(txn: Txn, command: CollectActivity) -> BatchReply:
    """Answer with the counters of this shard, and reset them."""

    def collected(txn: Txn, probe: bytes) -> Activity:
        return Activity(probe=probe, **collect(txn)._asdict())

    return answer_each(txn, command.probes, collected)


def list_activity(reader: Reader, _: ListActivity) -> Iterator[Activity]:
    """Yield the counters of this shard, once it knows a key that routes to it."""
    probe, counts = place_of(reader).probe, counted(reader)
    if probe and any(counts):
        yield Activity(probe=probe, **counts._asdict())


async def tell_activity(node: NodeApi, shard: ShardRef) -> None:
    """Collect the counters of shards, and add them to the metrics of this node, each event once."""
    probes = [each.probe async for each in node.query(ListActivity(), Activity)]
    if not probes:
        return
    reply = await node.propose(CollectActivity(probes=probes), BatchReply, if_leader=shard)
    # A later run collects from the shards that refused.
    for activity in map(Activity.FromString, reply.replies):
        node.count(CONNECTS.name, activity.connects)
        node.count(TAKE_OVERS.name, activity.take_overs)
        node.count(EXPIRED.name, activity.sessions_expired)
        node.count(WILLS.name, activity.wills_due, event="due")
        node.count(WILLS.name, activity.wills_reassigned, event="reassigned")
        node.count(WILLS.name, activity.wills_published, event="published")


COLLECTING: Final = Controller(
    name="mqtt.activity_collecting",
    group=GROUP,
    run_once=tell_activity,
    interval_s=5.0,
)
COLLECT_ACTIVITY: Final = Command(
    message=CollectActivity,
    group=GROUP,
    apply=collect_activity,
    items=Items.of("probes", shard_key=bytes, key=bytes),
    examples=(CollectActivity(probes=[b"probe 1"]),),
)
LIST_ACTIVITY: Final = Query(
    message=ListActivity, group=GROUP, run=list_activity, order=lambda activity: activity.probe
)
