"""All metadata and business key-values of an MQTT broker, as a plugin for Quorate.

`from quorate_mqtt import TOPICS`: the resources, for `records` of a client.
"""

from quorate_mqtt.queues.resource import QUEUED_MESSAGE as QUEUED_MESSAGES
from quorate_mqtt.retained_messages import RETAINED_MESSAGE as RETAINED_MESSAGES
from quorate_mqtt.rules import (
    ACL_RULE as ACL_RULES,
    AUTO_SUBSCRIPTION as AUTO_SUBSCRIPTIONS,
    BLACKLIST_ENTRY as BLACKLIST,
    REWRITE_RULE as REWRITE_RULES,
)
from quorate_mqtt.sessions.resource import SESSION as SESSIONS
from quorate_mqtt.shared_groups.resource import SHARED_GROUP as SHARED_GROUPS
from quorate_mqtt.subscriptions.resource import SUBSCRIPTION as SUBSCRIPTIONS
from quorate_mqtt.topics.resource import TOPIC as TOPICS
from quorate_mqtt.users.resource import USER as USERS
from quorate_mqtt.wills.resource import WILL as WILLS

__all__ = [
    "ACL_RULES",
    "AUTO_SUBSCRIPTIONS",
    "BLACKLIST",
    "QUEUED_MESSAGES",
    "RETAINED_MESSAGES",
    "REWRITE_RULES",
    "SESSIONS",
    "SHARED_GROUPS",
    "SUBSCRIPTIONS",
    "TOPICS",
    "USERS",
    "WILLS",
]
