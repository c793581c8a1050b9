"""What wills declare."""

from typing import Final

from quorate.plugin import Command, DataRoute, Timer

from quorate_mqtt.batches import Batch
from quorate_mqtt.brokers import BROKERS
from quorate_mqtt.resource import Holding, Resource
from quorate_mqtt.sessions.validation import alone
from quorate_mqtt.shards import GROUP, client_shard, client_shard_of
from quorate_mqtt.v1.wills_pb2 import (
    AcknowledgeWill,
    AcknowledgeWills,
    DeliverWills,
    EraseWillDeliveries,
)
from quorate_mqtt.wills import apply
from quorate_mqtt.wills.families import DELAY, DELIVERIES, FAMILIES, delivery_key
from quorate_mqtt.wills.service import SERVICE
from quorate_mqtt.wills.validation import check_acknowledgement

_PUBLISHED: Final = AcknowledgeWill(tenant="acme", client_id="ada", id=1)

_ACKNOWLEDGEMENT: Final = Batch[AcknowledgeWill](message=AcknowledgeWills, field="wills")
_DUE: Final = Batch[bytes](message=DeliverWills, field="keys")
_ERASURE: Final = Batch[bytes](message=EraseWillDeliveries, field="keys")

RESOURCE: Final = Resource(
    families=FAMILIES,
    commands=(
        _DUE.command(
            key=lambda key: key,
            shard_of=client_shard_of,
            examples=([client_shard("acme", "ada")],),
        ),
        Command(
            message=AcknowledgeWill,
            group=GROUP,
            shard_key=lambda command: client_shard(command.tenant, command.client_id),
            validate=alone(check_acknowledgement),
            public=True,
            examples=(_PUBLISHED,),
        ),
        _ACKNOWLEDGEMENT.command(
            key=lambda each: delivery_key(each.tenant, each.client_id, each.id),
            shard_of=client_shard_of,
            check=check_acknowledgement,
            public=True,
            examples=([_PUBLISHED],),
        ),
        _ERASURE.command(
            key=lambda key: key,
            shard_of=client_shard_of,
            examples=([delivery_key("acme", "ada", 1)],),
        ),
    ),
    routes=(
        DataRoute(message=DeliverWills, apply=apply.deliver_wills, reads=(BROKERS,)),
        DataRoute(message=AcknowledgeWill, apply=apply.acknowledge_will),
        DataRoute(message=AcknowledgeWills, apply=apply.acknowledge_wills),
        DataRoute(message=EraseWillDeliveries, apply=apply.erase_will_deliveries),
    ),
    controllers=(Timer(name=DELAY, group=GROUP, due=_DUE.of, batch=500),),
    services=(SERVICE,),
    holdings=(Holding(family=DELIVERIES, erase=_ERASURE.of),),
)
