"""What runs on the leader of the first shard: it collects what all shards have counted."""

from typing import Final

from quorate.plugin import Controller, Metric, NodeApi, ShardRef
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.shards import GROUP
from quorate_mqtt.v1.activity_pb2 import Activity, CollectActivity, ListActivity

CONNECTS: Final = Metric(
    name="quorate_mqtt_connects_total",
    kind="counter",
    help="Connects of clients that were carried out.",
)
TAKE_OVERS: Final = Metric(
    name="quorate_mqtt_take_overs_total",
    kind="counter",
    help="Connects of clients that another broker served until then.",
)
EXPIRED: Final = Metric(
    name="quorate_mqtt_sessions_expired_total",
    kind="counter",
    help="Sessions that ended because their expiry interval was over.",
)
WILLS: Final = Metric(
    name="quorate_mqtt_wills_total",
    kind="counter",
    help="Wills that became `due`, were `reassigned` to another broker, or were `published`.",
    labels=("event",),
)
METRICS: Final = (CONNECTS, TAKE_OVERS, EXPIRED, WILLS)


async def collect_activity(node: NodeApi, shard: ShardRef) -> None:
    """Add to the counters of this node what shards have counted, each thing once."""
    probes = [each.probe async for each in node.query(ListActivity(), Activity)]
    if not probes:
        return
    reply = await node.propose(CollectActivity(probes=probes), BatchReply, if_leader=shard)
    # What was refused is collected by a later run.
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
    run_once=collect_activity,
    interval_s=5.0,
)
