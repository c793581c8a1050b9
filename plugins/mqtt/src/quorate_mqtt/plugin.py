"""What the plugin declares: every hook that it implements, and nothing else."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from quorate.plugin import (
    Cache,
    CliCommand,
    ColumnFamily,
    Command,
    ConfigSection,
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

from quorate_mqtt.resources import DELETION, PARTS, RESOURCES
from quorate_mqtt.retained_messages import RETAINED_EXPIRY
from quorate_mqtt.rules import BLACKLIST_END
from quorate_mqtt.sessions.controllers import EXPIRY, ORPHANS
from quorate_mqtt.sessions.families import CONNECTION_COUNTS
from quorate_mqtt.sessions.resource import QUERIES
from quorate_mqtt.shards import GROUP
from quorate_mqtt.shared_groups.leading import LEADERSHIPS
from quorate_mqtt.topics.deletion import (
    DELETION as TOPIC_DELETION,
    FIND_DELETIONS,
    RETAINED,
)
from quorate_mqtt.topics.resource import DELETIONS, FINALIZERS
from quorate_mqtt.users.resource import CREDENTIALS, FIND_LOGINS
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
        *(family for part in PARTS for family in part.families),
    ]


@hookimpl
def quorate_resources() -> Sequence[Resource[Any]]:
    return RESOURCES


@hookimpl
def quorate_commands() -> Sequence[Command[Any]]:
    return [command for part in PARTS for command in part.commands]


@hookimpl
def quorate_data_routes() -> Sequence[DataRoute[Any]]:
    return [route for part in PARTS for route in part.routes]


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return [
        FIND_LOGINS,
        FIND_DELETIONS,
        *QUERIES,
        *DELETION.queries,
        *(query for part in PARTS for query in part.queries),
    ]


@hookimpl
def quorate_caches() -> Sequence[Cache]:
    return [cache for part in PARTS for cache in part.caches]


@hookimpl
def quorate_controllers() -> Sequence[Controller | Timer]:
    own = [each for part in PARTS for each in part.controllers]
    timers = (BLACKLIST_END, RETAINED_EXPIRY, EXPIRY, WILL_DELAY)
    return [*timers, TOPIC_DELETION, ORPHANS, *DELETION.controllers, *own]


@hookimpl
def quorate_metrics() -> Sequence[Metric]:
    return [LOGINS, *(metric for part in PARTS for metric in part.metrics)]


@hookimpl
def quorate_grpc_services() -> Sequence[GrpcService]:
    return [service for part in PARTS for service in part.services]


@hookimpl
def quorate_config_sections() -> Sequence[ConfigSection]:
    return [section for part in PARTS for section in part.config]


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
    return [
        FINALIZERS,
        RETAINED,
        *DELETION.extensions,
        *(each for part in PARTS for each in part.extensions),
    ]
