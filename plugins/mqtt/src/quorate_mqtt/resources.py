"""The resources of the plugin, and what it declares beside them."""

from typing import Any, Final

from quorate.plugin import Resource

from quorate_mqtt import activity
from quorate_mqtt.authorisation.service import CHECK_ACCESS
from quorate_mqtt.duties import apply as handing_over
from quorate_mqtt.duties.index import FIND_DUTIES
from quorate_mqtt.queues.resource import QUEUED_MESSAGE
from quorate_mqtt.retained_messages import RETAINED_MESSAGE
from quorate_mqtt.rules import ACL_RULE, AUTO_SUBSCRIPTION, BLACKLIST_ENTRY, REWRITE_RULE
from quorate_mqtt.session_quota import resource as shares
from quorate_mqtt.sessions import resource as sessions
from quorate_mqtt.shared_groups.resource import SHARED_GROUP, SHARED_GROUP_MEMBER
from quorate_mqtt.subscriptions.gathering import FIND_SUBSCRIPTIONS
from quorate_mqtt.subscriptions.resource import SUBSCRIPTION
from quorate_mqtt.topics.deletion import FIND_DELETIONS
from quorate_mqtt.topics.resource import TOPIC
from quorate_mqtt.users.resource import FIND_LOGINS, USER
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
COMMANDS: Final = (
    handing_over.HAND_OVER_DUTIES,
    *shares.COMMANDS,
    activity.COLLECT_ACTIVITY,
)
ROUTES: Final = (handing_over.ROUTE, *shares.ROUTES, activity.ROUTE)
QUERIES: Final = (
    CHECK_ACCESS,
    FIND_LOGINS,
    FIND_DELETIONS,
    *sessions.QUERIES,
    FIND_SUBSCRIPTIONS,
    FIND_DUTIES,
    *shares.QUERIES,
    activity.LIST_ACTIVITY,
)
