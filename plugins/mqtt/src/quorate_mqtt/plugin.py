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
    Timer,
    hookimpl,
)

from quorate_mqtt.resources import RESOURCES
from quorate_mqtt.shards import GROUP


@hookimpl
def quorate_raft_groups() -> Sequence[RaftGroup]:
    return [RaftGroup(name=GROUP)]


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    return [family for resource in RESOURCES for family in resource.families]


@hookimpl
def quorate_commands() -> Sequence[Command[Any]]:
    return [command for resource in RESOURCES for command in resource.commands]


@hookimpl
def quorate_data_routes() -> Sequence[DataRoute[Any]]:
    return [route for resource in RESOURCES for route in resource.routes]


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return [query for resource in RESOURCES for query in resource.queries]


@hookimpl
def quorate_caches() -> Sequence[Cache]:
    return [cache for resource in RESOURCES for cache in resource.caches]


@hookimpl
def quorate_controllers() -> Sequence[Controller | Timer]:
    return [each for resource in RESOURCES for each in resource.controllers]


@hookimpl
def quorate_metrics() -> Sequence[Metric]:
    return [metric for resource in RESOURCES for metric in resource.metrics]


@hookimpl
def quorate_grpc_services() -> Sequence[GrpcService]:
    return [service for resource in RESOURCES for service in resource.services]


@hookimpl
def quorate_config_sections() -> Sequence[ConfigSection]:
    return [section for resource in RESOURCES for section in resource.config]


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
    return [each for resource in RESOURCES for each in resource.extensions]
