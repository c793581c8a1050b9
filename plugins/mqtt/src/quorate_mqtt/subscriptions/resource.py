"""What subscriptions declare."""

from typing import Final

from quorate.plugin import Command, DataRoute

from quorate_mqtt.batches import Batch
from quorate_mqtt.resource import Resource
from quorate_mqtt.sessions.validation import alone
from quorate_mqtt.shards import GROUP, client_shard, client_shard_of
from quorate_mqtt.subscriptions import apply, tables, validation
from quorate_mqtt.subscriptions.families import FAMILY, subscription_key
from quorate_mqtt.subscriptions.service import SERVICE
from quorate_mqtt.v1.subscriptions_pb2 import (
    RETAIN_HANDLING_ON_NEW_SUBSCRIBE,
    DeleteSubscription,
    DeleteSubscriptions,
    SetSubscription,
    SetSubscriptions,
)

_ALARMS: Final = SetSubscription(
    tenant="acme",
    client_id="ada",
    filter="alarms/#",
    qos=1,
    retain_handling=RETAIN_HANDLING_ON_NEW_SUBSCRIBE,
    identifier=4,
)
_JOBS: Final = SetSubscription(tenant="acme", client_id="ben", filter="$share/workers/jobs/+")
_NO_ALARMS: Final = DeleteSubscription(tenant="acme", client_id="ada", filter="alarms/#")
_NO_JOBS: Final = DeleteSubscription(tenant="acme", client_id="ben", filter="$share/workers/jobs/+")

_SETTING: Final = Batch[SetSubscription](message=SetSubscriptions, field="subscriptions")
_DELETION: Final = Batch[DeleteSubscription](message=DeleteSubscriptions, field="subscriptions")


def _key(item: SetSubscription | DeleteSubscription) -> bytes:
    return subscription_key(item.tenant, item.client_id, item.filter)


def _client(item: SetSubscription | DeleteSubscription) -> bytes:
    return client_shard(item.tenant, item.client_id)


#: A session that ends takes its subscriptions along: nothing is held when there is no session.
RESOURCE: Final = Resource(
    families=(FAMILY,),
    commands=(
        Command(
            message=SetSubscription,
            group=GROUP,
            shard_key=_client,
            validate=alone(validation.check_set),
            public=True,
            examples=(_ALARMS,),
        ),
        _SETTING.command(
            key=_key,
            shard_of=client_shard_of,
            check=validation.check_set,
            public=True,
            examples=([_JOBS, _ALARMS],),
        ),
        Command(
            message=DeleteSubscription,
            group=GROUP,
            shard_key=_client,
            validate=alone(validation.check_delete),
            public=True,
            examples=(_NO_ALARMS,),
        ),
        _DELETION.command(
            key=_key,
            shard_of=client_shard_of,
            check=validation.check_delete,
            public=True,
            examples=([_NO_JOBS, _NO_ALARMS],),
        ),
    ),
    routes=(
        DataRoute(message=SetSubscription, apply=apply.set_subscription),
        DataRoute(message=SetSubscriptions, apply=apply.set_subscriptions),
        DataRoute(message=DeleteSubscription, apply=apply.delete_subscription),
        DataRoute(message=DeleteSubscriptions, apply=apply.delete_subscriptions),
    ),
    services=(SERVICE,),
    extensions=(tables.EXTENSION,),
)
