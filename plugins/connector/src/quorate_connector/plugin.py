"""What the plugin declares: every hook that it implements, and nothing else."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from quorate.plugin import (
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

from quorate_connector import metrics
from quorate_connector.config import ConnectorConfig
from quorate_connector.resources import RESOURCES
from quorate_connector.shard import GROUP


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
def quorate_controllers() -> Sequence[Controller | Timer]:
    return [each for resource in RESOURCES for each in resource.controllers]


@hookimpl
def quorate_metrics() -> Sequence[Metric]:
    return metrics.METRICS


@hookimpl
def quorate_grpc_services() -> Sequence[GrpcService]:
    return [service for resource in RESOURCES for service in resource.services]


@hookimpl
def quorate_config_sections() -> Sequence[ConfigSection]:
    return [ConfigSection(model=ConnectorConfig)]


@hookimpl
def quorate_cli_commands() -> Sequence[CliCommand]:
    return [
        CliCommand(
            name="connector",
            help="Define connectors, and see what becomes of their tasks.",
            load=lambda: import_module("quorate_connector.cli").connector,
        )
    ]


@hookimpl
def quorate_extensions() -> Sequence[ExtensionPoint | Extension]:
    return [each for resource in RESOURCES for each in resource.extensions]
