"""What topics declare."""

from typing import Final

from quorate.plugin import DataRoute, keys

from quorate_mqtt.resource import Resource
from quorate_mqtt.shards import tenant_shard_of
from quorate_mqtt.tenants.rows import TENANTS
from quorate_mqtt.topics import apply, tables
from quorate_mqtt.topics.deletion import DELETION
from quorate_mqtt.topics.families import (
    CHANGE,
    CREATION,
    FAMILIES,
    FINALIZERS,
    FINISH,
    GROWTH,
    MARK,
    PUT,
    key_of,
)
from quorate_mqtt.topics.marking import HOLDING, RETAINED
from quorate_mqtt.topics.service import SERVICE
from quorate_mqtt.topics.validation import check_growth, check_named, check_topic, check_update
from quorate_mqtt.v1.topics_pb2 import (
    CreateTopics,
    FinishTopics,
    GrowTopicRequest,
    GrowTopics,
    MarkTopics,
    PutTopics,
    Topic,
    TopicConfig,
    TopicFinish,
    TopicMark,
    UpdateTopicRequest,
    UpdateTopics,
)

_ORDERS: Final = Topic(tenant="acme", name="orders/new", partitions=2, replication=1)
_PARCELS: Final = Topic(
    tenant="globex", name="parcels", partitions=1, replication=3, config=TopicConfig(records=9)
)
_UPDATE: Final = UpdateTopicRequest(
    tenant="acme", name="orders/new", config=TopicConfig(retention_s=60)
)
_GROWTH: Final = GrowTopicRequest(tenant="acme", name="orders/new", partitions=4)
_MARK: Final = TopicMark(tenant="acme", name="orders/new", finalizers=["one", "two"])
_MARK_OTHER: Final = TopicMark(tenant="globex", name="parcels")
_FINISHES: Final = [
    TopicFinish(tenant="acme", name="orders/new", id=number, finalizer=finalizer)
    for number, finalizer in ((1, "two"), (2, "one"))
]

RESOURCE: Final = Resource(
    families=FAMILIES,
    commands=(
        CREATION.command(
            key=key_of,
            shard_of=tenant_shard_of,
            check=check_topic,
            public=True,
            examples=([_PARCELS, _ORDERS],),
        ),
        CHANGE.command(
            key=key_of,
            shard_of=tenant_shard_of,
            check=check_update,
            public=True,
            examples=([_UPDATE],),
        ),
        PUT.command(
            key=key_of,
            shard_of=tenant_shard_of,
            check=check_topic,
            public=True,
            examples=([_PARCELS, _ORDERS],),
        ),
        GROWTH.command(
            key=key_of,
            shard_of=tenant_shard_of,
            check=check_growth,
            public=True,
            examples=([_GROWTH],),
        ),
        MARK.command(
            key=key_of,
            shard_of=tenant_shard_of,
            check=check_named,
            examples=([_MARK_OTHER, _MARK],),
        ),
        FINISH.command(
            key=lambda finish: keys.pack(finish.tenant, finish.name, finish.finalizer),
            shard_of=tenant_shard_of,
            check=check_named,
            examples=(_FINISHES,),
        ),
    ),
    routes=(
        DataRoute(message=CreateTopics, apply=apply.create_topics, reads=(TENANTS,)),
        DataRoute(message=UpdateTopics, apply=apply.update_topics),
        DataRoute(message=PutTopics, apply=apply.put_topics, reads=(TENANTS,)),
        DataRoute(message=GrowTopics, apply=apply.grow_topics),
        DataRoute(message=MarkTopics, apply=apply.mark_topics),
        DataRoute(message=FinishTopics, apply=apply.finish_topics),
    ),
    controllers=(DELETION,),
    services=(SERVICE,),
    extensions=(FINALIZERS, RETAINED, tables.EXTENSION),
    holdings=(HOLDING,),
)
