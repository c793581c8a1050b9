"""The resources of the plugin, and the parts of it that are none yet."""

from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any, Final

from google.protobuf.message import Message
from quorate.plugin import NodeApi, Resource as Kind
from quorate.plugin.resource import Holding, holding_of, tenant_deletion

from quorate_mqtt.activity.resource import RESOURCE as ACTIVITY
from quorate_mqtt.authorisation.resource import RESOURCE as AUTHORISATION
from quorate_mqtt.duties.resource import RESOURCE as DUTIES
from quorate_mqtt.resource import Holding as Held, Resource
from quorate_mqtt.retained_messages import RETAINED_MESSAGE
from quorate_mqtt.rows.reading import keys_of
from quorate_mqtt.rows.resource import RESOURCE as ROWS
from quorate_mqtt.rules import ACL_RULE, AUTO_SUBSCRIPTION, BLACKLIST_ENTRY, REWRITE_RULE
from quorate_mqtt.session_shares.resource import RESOURCE as SESSION_SHARES
from quorate_mqtt.sessions.resource import SESSION
from quorate_mqtt.shards import GROUP
from quorate_mqtt.shared_groups.resource import SHARED_GROUP, SHARED_GROUP_MEMBER
from quorate_mqtt.subscriptions.resource import SUBSCRIPTION
from quorate_mqtt.topics.resource import TOPIC
from quorate_mqtt.users.resource import USER
from quorate_mqtt.wills.resource import WILL, WILL_DELIVERY

_OWN: Final[tuple[Kind[Any], ...]] = (
    USER,
    ACL_RULE,
    BLACKLIST_ENTRY,
    REWRITE_RULE,
    AUTO_SUBSCRIPTION,
    TOPIC,
    RETAINED_MESSAGE,
    SHARED_GROUP,
    SHARED_GROUP_MEMBER,
    SESSION,
    SUBSCRIPTION,
    WILL,
    WILL_DELIVERY,
)

PARTS: Final[tuple[Resource, ...]] = (
    ROWS,
    AUTHORISATION,
    DUTIES,
    SESSION_SHARES,
    ACTIVITY,
)


def _held(held: Held) -> Holding:
    async def keys(node: NodeApi, tenant: str) -> AsyncIterator[Sequence[bytes]]:
        async for page in keys_of(node, held.family, tenant):
            yield page

    def erase(node: NodeApi, found: Sequence[bytes]) -> Message:
        erasure = held.erase(found)
        if held.complete is not None:
            held.complete(node, erasure)
        return erasure

    return Holding(keys_of=keys, erase=erase)


#: The families that hold something of tenants.
HELD: Final = (
    *(each.family for each in _OWN if each.tenant),
    *(held.family for part in PARTS for held in part.holdings),
)
#: One deletion erases what resources and parts hold.
RESOURCES: Final = tuple(replace(each, cascade=False) for each in _OWN)
DELETION: Final = tenant_deletion(
    "mqtt",
    (),
    more=[
        *(holding_of(each) for each in _OWN if each.tenant),
        *(_held(held) for part in PARTS for held in part.holdings),
    ],
    group=GROUP,
)
