"""What retained messages declare."""

from collections.abc import Sequence
from typing import Final

from google.protobuf.message import Message
from quorate.plugin import DataRoute, Timer, keys

from quorate_mqtt.batches import Batch
from quorate_mqtt.resource import Holding, Resource
from quorate_mqtt.retained_messages import apply
from quorate_mqtt.retained_messages.families import (
    DELETION,
    EXPIRY,
    FAMILY,
    PUT,
    RETAINED,
    key_of,
    retained_key,
    shard_of,
)
from quorate_mqtt.retained_messages.service import SERVICE
from quorate_mqtt.retained_messages.validation import check_named, check_put
from quorate_mqtt.shards import GROUP
from quorate_mqtt.tenants.rows import TENANTS
from quorate_mqtt.v1.retained_messages_pb2 import (
    DeleteRetainedMessages,
    ExpireRetainedMessages,
    PutRetainedMessageRequest,
    PutRetainedMessages,
    RetainedName,
)

_DUE: Final = Batch[bytes](message=ExpireRetainedMessages, field="keys")
_PUT_ONE: Final = PutRetainedMessageRequest(
    tenant="acme", topic="weather/oslo", payload=b"rain", qos=1, expiry_ms=5_000
)
_PUT_OTHER: Final = PutRetainedMessageRequest(tenant="globex", topic="weather/bern", payload=b"sun")


def _erase(rows: Sequence[bytes]) -> Message:
    named = map(keys.unpack, rows)
    return DELETION.of(
        [RetainedName(tenant=str(tenant), topic=str(topic)) for tenant, topic in named]
    )


RESOURCE: Final = Resource(
    families=(FAMILY,),
    commands=(
        PUT.command(
            key=key_of,
            shard_of=shard_of,
            check=check_put,
            public=True,
            examples=([_PUT_OTHER, _PUT_ONE],),
        ),
        DELETION.command(
            key=key_of,
            shard_of=shard_of,
            check=check_named,
            public=True,
            examples=([RetainedName(tenant="globex", topic="weather/bern")],),
        ),
        _DUE.command(
            key=lambda key: key,
            shard_of=shard_of,
            examples=([retained_key("acme", "weather/oslo")],),
        ),
    ),
    routes=(
        DataRoute(message=PutRetainedMessages, apply=apply.put_retained_messages, reads=(TENANTS,)),
        DataRoute(message=DeleteRetainedMessages, apply=apply.delete_retained_messages),
        DataRoute(message=ExpireRetainedMessages, apply=apply.expire_retained_messages),
    ),
    controllers=(Timer(name=EXPIRY, group=GROUP, due=_DUE.of),),
    services=(SERVICE,),
    holdings=(Holding(family=RETAINED, erase=_erase),),
)
