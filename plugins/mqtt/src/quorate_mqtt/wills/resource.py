"""Last wills: stored with their session, assigned to a broker when due, and acknowledged."""

from typing import Any, Final

from quorate.builtin.cluster.api import BROKERS
from quorate.plugin import Invalid, Item, Life, Resource, Serving, Timer, Txn, Verb, keys
from quorate.plugin.advanced import still_due
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.activity import Counts, count
from quorate_mqtt.brokers import LiveBrokers
from quorate_mqtt.names import check_identity, when_given
from quorate_mqtt.sessions.families import DELAY, DELIVERIES, WILLS
from quorate_mqtt.shards import GROUP, client_shard
from quorate_mqtt.v1 import wills_pb2 as pb
from quorate_mqtt.wills import delivering

_SERVICE: Final = pb.DESCRIPTOR.services_by_name["WillService"]


def acknowledge_will(txn: Txn, command: pb.AcknowledgeWill) -> pb.AcknowledgeWillReply:
    """Delete a will that one of its assignees has published."""
    key = keys.pack(command.tenant, command.client_id, command.id)
    acknowledged = delivering.finish(txn, key)
    count(txn, Counts(wills_published=int(acknowledged)))
    return pb.AcknowledgeWillReply(acknowledged=acknowledged)


def deliver_wills(txn: Txn, command: pb.DeliverWills) -> BatchReply:
    """Deliver the wills with a deadline that is still due: a connect may have cancelled it."""
    live_brokers = LiveBrokers(txn)
    for client in still_due(txn, DELAY, command.keys):
        delivering.deliver(txn, client, live_brokers)
        txn.schedule(DELAY, client, None)
    return BatchReply(items=len(command.keys))


def erase_will_deliveries(txn: Txn, command: pb.EraseWillDeliveries) -> BatchReply:
    """Delete deliveries, whichever broker they are assigned to."""
    for key in command.keys:
        delivering.finish(txn, key)
    return BatchReply(items=len(command.keys))


def _check_acknowledgement(command: pb.AcknowledgeWill, path: str) -> None:
    if command.id == 0:
        raise Invalid(f"{path}id", "must be the id of the delivery")


_ADA: Final[dict[str, Any]] = {"tenant": "acme", "client_id": "ada"}

#: A will is deleted with its session: a tenant without sessions has no wills.
WILL: Final[Resource[pb.Will]] = Resource(
    family=WILLS,
    group=GROUP,
    row=pb.Will,
    service=_SERVICE,
    serving=Serving(methods=("Get", "GetBatch")),
    key=("tenant", "client_id"),
    check_key={"client_id": check_identity},
    shard_by=("tenant", "client_id"),
    verbs={
        "Deliver": Verb(
            apply_all=deliver_wills,
            message=pb.DeliverWills,
            reads=(BROKERS,),
            examples=(client_shard("acme", "ada"),),
        )
    },
)
WILL_DELAY: Final = Timer(
    name=DELAY, group=GROUP, due=lambda due: pb.DeliverWills(keys=due), batch=500
)

WILL_DELIVERY: Final[Resource[pb.WillDelivery]] = Resource(
    family=DELIVERIES,
    group=GROUP,
    row=pb.WillDelivery,
    serving=Serving(
        answer=pb.KeyedWillDelivery,
        methods=("ListDeliveries", "Acknowledge", "AcknowledgeBatch"),
        keep=when_given(assignee=check_identity),
    ),
    service=_SERVICE,
    key=("tenant", "client_id", "id"),
    check_key={"client_id": check_identity},
    shard_by=("tenant", "client_id"),
    tenant="tenant",
    life=Life(cascade=lambda _, found: pb.EraseWillDeliveries(keys=found)),
    verbs={
        "Acknowledge": Verb(
            apply=acknowledge_will,
            check=_check_acknowledgement,
            item=Item(reply=pb.AcknowledgeWillReply),
            examples=(pb.AcknowledgeWill(**_ADA, id=1),),
        ),
        "Erase": Verb(
            apply_all=erase_will_deliveries,
            message=pb.EraseWillDeliveries,
            examples=(keys.pack("acme", "ada", 1),),
        ),
    },
)
