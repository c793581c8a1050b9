"""What the plugin declares: every hook that it implements, and nothing else."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from quorate.plugin import (
    CliCommand,
    ColumnFamily,
    Command,
    ConfigSection,
    ConsolePage,
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

from quorate_offset import expiry, families, resources, tenants
from quorate_offset.config import OffsetConfig
from quorate_offset.offsets import service, tables


@hookimpl
def quorate_raft_groups() -> Sequence[RaftGroup]:
    return [RaftGroup(name=families.GROUP)]


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    return families.FAMILIES


@hookimpl
def quorate_resources() -> Sequence[Resource[Any]]:
    return [resources.SUBSCRIPTION_GROUP]


@hookimpl
def quorate_commands() -> Sequence[Command[Any]]:
    return resources.COMMANDS


@hookimpl
def quorate_data_routes() -> Sequence[DataRoute[Any]]:
    return resources.ROUTES


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return [*resources.QUERIES, *tenants.DELETION.queries]


@hookimpl
def quorate_controllers() -> Sequence[Controller | Timer]:
    return [expiry.EXPIRY, *tenants.DELETION.controllers]


@hookimpl
def quorate_grpc_services() -> Sequence[GrpcService]:
    return [service.OFFSET]


@hookimpl
def quorate_metrics() -> Sequence[Metric]:
    return [service.COMMITTED, service.ROWS_READ, service.GROUPS_LISTED, expiry.EXPIRED]


@hookimpl
def quorate_config_sections() -> Sequence[ConfigSection]:
    return [ConfigSection(model=OffsetConfig)]


@hookimpl
def quorate_cli_commands() -> Sequence[CliCommand]:
    return [
        CliCommand(
            name="offset",
            help="See, reset and delete the offsets of groups of consumers.",
            load=lambda: import_module("quorate_offset.cli").offset,
        )
    ]


@hookimpl
def quorate_extensions() -> Sequence[ExtensionPoint | Extension]:
    page = ConsolePage(
        title="Groups of consumers",
        tables={
            "Groups": ("offset", "groups", "--limit", "200"),
            "Offsets": ("offset", "show", "{tenant}", "{group}"),
            # Where partitions end is known to brokers.
            "Lag": ("offset", "lag", "--end={end}", "{tenant}", "{group}"),
        },
    )
    return [
        *tenants.DELETION.extensions,
        tables.EXTENSION,
        Extension(point="cluster.console_pages", name="offset", value=page),
    ]
