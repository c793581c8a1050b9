"""The resources of the plugin, each of which declares its part."""

from typing import Final

from quorate_mqtt.acl_rules.resource import RESOURCE as ACL_RULES
from quorate_mqtt.activity.resource import RESOURCE as ACTIVITY
from quorate_mqtt.authorisation.resource import RESOURCE as AUTHORISATION
from quorate_mqtt.auto_subscriptions.resource import RESOURCE as AUTO_SUBSCRIPTIONS
from quorate_mqtt.blacklist.resource import RESOURCE as BLACKLIST
from quorate_mqtt.duties.resource import RESOURCE as DUTIES
from quorate_mqtt.resource import Resource
from quorate_mqtt.retained_messages.resource import RESOURCE as RETAINED_MESSAGES
from quorate_mqtt.rewrite_rules.resource import RESOURCE as REWRITE_RULES
from quorate_mqtt.rows.resource import RESOURCE as ROWS
from quorate_mqtt.session_shares.resource import RESOURCE as SESSION_SHARES
from quorate_mqtt.sessions.resource import RESOURCE as SESSIONS
from quorate_mqtt.shared_groups.resource import RESOURCE as SHARED_GROUPS
from quorate_mqtt.subscriptions.resource import RESOURCE as SUBSCRIPTIONS
from quorate_mqtt.tenants.resource import resource as tenant_deletion
from quorate_mqtt.topics.resource import RESOURCE as TOPICS
from quorate_mqtt.users.resource import RESOURCE as USERS
from quorate_mqtt.wills.resource import RESOURCE as WILLS

_HOLDERS: Final[tuple[Resource, ...]] = (
    ROWS,
    TOPICS,
    RETAINED_MESSAGES,
    USERS,
    ACL_RULES,
    BLACKLIST,
    AUTHORISATION,
    REWRITE_RULES,
    AUTO_SUBSCRIPTIONS,
    SESSIONS,
    SUBSCRIPTIONS,
    WILLS,
    SHARED_GROUPS,
    DUTIES,
    SESSION_SHARES,
    ACTIVITY,
)

RESOURCES: Final[tuple[Resource, ...]] = (*_HOLDERS, tenant_deletion(_HOLDERS))
