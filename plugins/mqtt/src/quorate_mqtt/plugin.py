"""What the plugin declares: every hook that it implements, and nothing else."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from quorate.plugin import (
    CliCommand,
    ColumnFamily,
    Command,
    Controller,
    DataRoute,
    Extension,
    ExtensionPoint,
    GrpcService,
    Metric,
    Query,
    RaftGroup,
    Resource,
    Timer,
    hookimpl,
)

from quorate_mqtt import activity, resources
from quorate_mqtt.authorisation.service import AUTHORISATION, DECISIONS
from quorate_mqtt.duties import apply as duties, index
from quorate_mqtt.queues.keeping import HEAD_ROWS
from quorate_mqtt.retained_messages import RETAINED_EXPIRY
from quorate_mqtt.rules import BLACKLIST_END
from quorate_mqtt.session_quota import controllers as shares
from quorate_mqtt.session_quota.quota import FAMILIES as SHARES
from quorate_mqtt.sessions import controllers as sessions
from quorate_mqtt.sessions.families import CONNECTION_COUNTS
from quorate_mqtt.shards import GROUP
from quorate_mqtt.shared_groups.leading import LEADERSHIPS
from quorate_mqtt.topics import deletion
from quorate_mqtt.topics.resource import DELETIONS, FINALIZERS
from quorate_mqtt.users.resource import CREDENTIALS
from quorate_mqtt.users.service import LOGINS
from quorate_mqtt.wills.resource import WILL_DELAY


@hookimpl
def quorate_raft_groups() -> Sequence[RaftGroup]:
    return [RaftGroup(name=GROUP)]


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    return [
        CREDENTIALS,
        DELETIONS,
        LEADERSHIPS,
        CONNECTION_COUNTS,
        HEAD_ROWS,
        index.FAMILY,
        activity.FAMILY,
        *SHARES,
    ]


@hookimpl
def quorate_resources() -> Sequence[Resource[Any]]:
    return resources.RESOURCES


@hookimpl
def quorate_commands() -> Sequence[Command[Any]]:
    return resources.COMMANDS


@hookimpl
def quorate_data_routes() -> Sequence[DataRoute[Any]]:
    return resources.ROUTES


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return resources.QUERIES


@hookimpl
def quorate_controllers() -> Sequence[Controller | Timer]:
    return [
        BLACKLIST_END,
        RETAINED_EXPIRY,
        WILL_DELAY,
        sessions.EXPIRY,
        sessions.ORPHANS,
        deletion.DELETION,
        duties.HAND_OVER,
        shares.QUOTA_BALANCE,
        activity.COLLECTING,
    ]


@hookimpl
def quorate_metrics() -> Sequence[Metric]:
    return [LOGINS, DECISIONS, *activity.METRICS]


@hookimpl
def quorate_grpc_services() -> Sequence[GrpcService]:
    return [AUTHORISATION]


@hookimpl
def quorate_cli_commands() -> Sequence[CliCommand]:
    return [
        CliCommand(
            name="mqtt",
            help="See and change what the cluster keeps for MQTT brokers.",
            load=lambda: import_module("quorate_mqtt.cli").mqtt,
        )
    ]


@hookimpl
def quorate_extensions() -> Sequence[ExtensionPoint | Extension]:
    return [FINALIZERS, deletion.RETAINED]
