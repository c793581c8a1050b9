"""The resources of the plugin."""

from typing import Any, Final

from quorate.plugin import Resource

from quorate_mqtt.queues.resource import QUEUED_MESSAGE
from quorate_mqtt.retained_messages import RETAINED_MESSAGE
from quorate_mqtt.rules import ACL_RULE, AUTO_SUBSCRIPTION, BLACKLIST_ENTRY, REWRITE_RULE
from quorate_mqtt.sessions import resource as sessions
from quorate_mqtt.shared_groups.resource import SHARED_GROUP, SHARED_GROUP_MEMBER
from quorate_mqtt.subscriptions.resource import SUBSCRIPTION
from quorate_mqtt.topics.resource import TOPIC
from quorate_mqtt.users.resource import USER
from quorate_mqtt.wills.resource import WILL, WILL_DELIVERY

RESOURCES: Final[tuple[Resource[Any], ...]] = (
    USER,
    ACL_RULE,
    BLACKLIST_ENTRY,
    REWRITE_RULE,
    AUTO_SUBSCRIPTION,
    TOPIC,
    RETAINED_MESSAGE,
    SHARED_GROUP,
    SHARED_GROUP_MEMBER,
    sessions.SESSION,
    SUBSCRIPTION,
    QUEUED_MESSAGE,
    WILL,
    WILL_DELIVERY,
)
