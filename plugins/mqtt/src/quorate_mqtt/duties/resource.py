"""What the duties of brokers declare."""

from typing import Final

from quorate.plugin import DataRoute, Query, keys

from quorate_mqtt.batches import Batch
from quorate_mqtt.brokers import BROKERS
from quorate_mqtt.duties import apply, controllers, index, queries
from quorate_mqtt.resource import Resource
from quorate_mqtt.sessions.families import DELIVERIES
from quorate_mqtt.shards import GROUP, client_shard_of, tenant_shard_of
from quorate_mqtt.v1.duties_pb2 import Duty, FindDuties, HandOverDuties

_PUBLISHING: Final = Duty(broker_epoch=1, family=DELIVERIES, key=keys.pack("acme", "ada", 1))
_HAND_OVER: Final = Batch[Duty](message=HandOverDuties, field="duties")


def _shard_of(duty: bytes) -> bytes:
    _, family, key = keys.unpack(duty)
    assert isinstance(key, bytes)
    return client_shard_of(key) if family == DELIVERIES else tenant_shard_of(key)


RESOURCE: Final = Resource(
    families=(index.FAMILY,),
    commands=(
        _HAND_OVER.command(key=queries.order, shard_of=_shard_of, examples=([_PUBLISHING],)),
    ),
    routes=(DataRoute(message=HandOverDuties, apply=apply.hand_over_duties, reads=(BROKERS,)),),
    queries=(
        Query(
            message=FindDuties,
            group=GROUP,
            run=queries.find_duties,
            order=queries.order,
            reads=(BROKERS,),
        ),
    ),
    controllers=(controllers.HAND_OVER,),
)
