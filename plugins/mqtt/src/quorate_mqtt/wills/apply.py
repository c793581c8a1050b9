"""The handlers: pure functions of a transaction and a command, run on every replica."""

from quorate.plugin import Txn, answer_each, still_due
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.activity.counts import Counts, count
from quorate_mqtt.brokers import Roster
from quorate_mqtt.v1.wills_pb2 import (
    AcknowledgeWill,
    AcknowledgeWillReply,
    AcknowledgeWills,
    DeliverWills,
    EraseWillDeliveries,
)
from quorate_mqtt.wills import delivering
from quorate_mqtt.wills.families import DELAY, delivery_key


def acknowledge_will(txn: Txn, command: AcknowledgeWill) -> AcknowledgeWillReply:
    """Forget a will that was published, by whichever of its assignees."""
    key = delivery_key(command.tenant, command.client_id, command.id)
    acknowledged = delivering.finish(txn, key)
    count(txn, Counts(wills_published=int(acknowledged)))
    return AcknowledgeWillReply(acknowledged=acknowledged)


def acknowledge_wills(txn: Txn, command: AcknowledgeWills) -> BatchReply:
    """Forget many wills that were published."""
    return answer_each(txn, command.wills, acknowledge_will)


def deliver_wills(txn: Txn, command: DeliverWills) -> BatchReply:
    """Deliver the wills whose deadline stands and has come: a connect has cancelled its own."""
    roster = Roster(txn)
    for client in still_due(txn, DELAY, command.keys):
        delivering.deliver(txn, client, roster)
        txn.schedule(DELAY, client, None)
    return BatchReply(items=len(command.keys))


def erase_will_deliveries(txn: Txn, command: EraseWillDeliveries) -> BatchReply:
    """Forget deliveries, whoever has them."""
    for key in command.keys:
        delivering.finish(txn, key)
    return BatchReply(items=len(command.keys))
