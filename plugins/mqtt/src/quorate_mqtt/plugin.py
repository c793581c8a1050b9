"""The declarations of the plugin."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

from quorate.plugin import CliCommand, Declaration, Extension, RaftGroup, hookimpl
from quorate.plugin.advanced import Demo

from quorate_mqtt import activity, resources
from quorate_mqtt.authorisation import service as authorisation
from quorate_mqtt.duties import apply as duties, index
from quorate_mqtt.queues.keeping import HEAD_ROWS
from quorate_mqtt.retained_messages import RETAINED_EXPIRY
from quorate_mqtt.rules import BLACKLIST_END
from quorate_mqtt.session_quota import resource as quotas
from quorate_mqtt.session_quota.controllers import QUOTA_BALANCE
from quorate_mqtt.session_quota.quota import FAMILIES as QUOTAS
from quorate_mqtt.sessions import controllers as sessions, resource as session
from quorate_mqtt.sessions.families import CONNECTION_COUNTS
from quorate_mqtt.shards import GROUP
from quorate_mqtt.shared_groups.leading import LEADERSHIPS
from quorate_mqtt.subscriptions.gathering import FIND_SUBSCRIPTIONS
from quorate_mqtt.topics import deletion
from quorate_mqtt.topics.resource import DELETIONS, FINALIZERS
from quorate_mqtt.users.resource import CREDENTIALS, FIND_LOGINS
from quorate_mqtt.users.service import LOGINS
from quorate_mqtt.wills.resource import WILL_DELAY


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        RaftGroup(name=GROUP),
        *resources.RESOURCES,
        *(CREDENTIALS, DELETIONS, LEADERSHIPS, CONNECTION_COUNTS, HEAD_ROWS),
        *(index.FAMILY, activity.FAMILY, *QUOTAS),
        *(duties.HAND_OVER_DUTIES, *quotas.COMMANDS, activity.COLLECT_ACTIVITY),
        *(authorisation.CHECK_ACCESS, FIND_LOGINS, deletion.FIND_DELETIONS, *session.QUERIES),
        *(FIND_SUBSCRIPTIONS, index.FIND_DUTIES, *quotas.QUERIES, activity.LIST_ACTIVITY),
        *(BLACKLIST_END, RETAINED_EXPIRY, WILL_DELAY, sessions.EXPIRY),
        *(sessions.ORPHANS, deletion.DELETION, duties.HAND_OVER, QUOTA_BALANCE),
        activity.COLLECTING,
        *(LOGINS, authorisation.DECISIONS, *activity.METRICS),
        authorisation.AUTHORISATION,
        CliCommand(
            name="mqtt",
            help="Show and change the metadata of MQTT brokers.",
            load=lambda: import_module("quorate_mqtt.cli").mqtt,
        ),
        *(FINALIZERS, deletion.RETAINED),
        Extension(
            point="cluster.demos",
            name="mqtt",
            value=Demo(load=lambda: import_module("quorate_mqtt.client.demo").demo),
        ),
        Extension(point="cluster.console_groups", name="mqtt", value="Messaging"),
        Extension(point="cluster.console_groups", name="mqtt.users", value="Access"),
        Extension(point="cluster.console_groups", name="mqtt.acl_rules", value="Access"),
        Extension(point="cluster.console_groups", name="mqtt.blacklist_entries", value="Access"),
    ]
