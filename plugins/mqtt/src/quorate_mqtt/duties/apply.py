"""The command that hands duties over, and the controller that proposes it."""

from typing import Final

from quorate.builtin.cluster.api import BROKERS
from quorate.plugin import Command, Controller, Items, NodeApi, Rejected, ShardRef, Txn, keys
from quorate.plugin.advanced import answer_each
from quorate.plugin.batches import in_parts
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.activity import Counts, count
from quorate_mqtt.brokers import LiveBrokers
from quorate_mqtt.duties import index
from quorate_mqtt.duties.index import order
from quorate_mqtt.sessions.families import DELIVERIES
from quorate_mqtt.shards import GROUP, client_shard_of, tenant_shard_of
from quorate_mqtt.shared_groups import leading
from quorate_mqtt.shared_groups.leading import GROUPS, MEMBERS
from quorate_mqtt.v1.duties_pb2 import Duty, FindDuties, HandOverDuties
from quorate_mqtt.v1.wills_pb2 import WillDelivery
from quorate_mqtt.wills import delivering

#: The families whose rows are duties of brokers.
_FAMILIES: Final = (DELIVERIES, GROUPS, MEMBERS)


def hand_over_duties(txn: Txn, command: HandOverDuties) -> BatchReply:
    """Give each duty of a broker that is gone to another; skip a duty that has changed since."""
    live_brokers = LiveBrokers(txn)

    def hand_over(txn: Txn, duty: Duty) -> None:
        gone = duty.broker_epoch == 0 or not live_brokers.lives(duty.broker_epoch)
        if gone and index.stands(txn, duty):
            _hand_over(txn, duty, live_brokers)

    return answer_each(txn, command.duties, hand_over)


def _hand_over(txn: Txn, duty: Duty, live_brokers: LiveBrokers) -> None:
    value = txn.get(duty.family, duty.key) if duty.family in _FAMILIES else None
    if value is None:
        raise Rejected("NOT_FOUND", f"{duty.family} has no row {duty.key.hex()}")
    if duty.family == DELIVERIES:
        delivery = WillDelivery.FromString(value)
        delivering.assign(txn, duty.key, delivery, live_brokers)
        # The first assignment of a delivery that has waited for a broker is no reassignment.
        count(txn, Counts(wills_reassigned=int(delivery.assignments > 1)))
    elif duty.family == GROUPS:
        leading.elect(txn, duty.key, leading.group_of(value), live_brokers)
    else:
        leading.dismiss(txn, duty.key)


def _shard_of(duty: Duty) -> bytes:
    return client_shard_of(duty.key) if duty.family == DELIVERIES else tenant_shard_of(duty.key)


HAND_OVER_DUTIES: Final = Command(
    message=HandOverDuties,
    group=GROUP,
    apply=hand_over_duties,
    reads=(BROKERS,),
    items=Items.of("duties", shard_key=_shard_of, key=order),
    examples=(
        HandOverDuties(
            duties=[Duty(broker_epoch=1, family=DELIVERIES, key=keys.pack("acme", "ada", 1))]
        ),
    ),
)


#: Maximum number of duties that one command hands over.
BATCH: Final = 500


async def hand_over(node: NodeApi, shard: ShardRef) -> None:
    """Hand over the duties of brokers that are gone, until none is left."""
    while True:
        found = [duty async for duty in node.query(FindDuties(limit=BATCH), Duty)]
        if not found:
            return
        for part in in_parts(found, BATCH):
            await node.propose(HandOverDuties(duties=part), BatchReply, if_leader=shard)


#: The copies of the brokers' rows lag behind: a later run handles a change that this one misses.
HAND_OVER: Final = Controller(
    name="mqtt.handing_over",
    group=GROUP,
    run_once=hand_over,
    interval_s=1.0,
    wake_on=(BROKERS,),
)
