"""What the plugin declares: every hook that it implements, and nothing else."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from quorate.plugin import (
    CliCommand,
    ColumnFamily,
    Command,
    ConfigSection,
    ConsoleAction,
    ConsolePage,
    Controller,
    DataRoute,
    Extension,
    ExtensionPoint,
    Metric,
    Query,
    RaftGroup,
    Resource,
    Timer,
    hookimpl,
)

from quorate_connector import families, resources
from quorate_connector.api import TYPES, ConnectorType
from quorate_connector.config import ConnectorConfig
from quorate_connector.scheduling.controllers import METRICS
from quorate_connector.types.shipped import SHIPPED


@hookimpl
def quorate_raft_groups() -> Sequence[RaftGroup]:
    return [RaftGroup(name=families.GROUP)]


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    return families.FAMILIES


@hookimpl
def quorate_resources() -> Sequence[Resource[Any]]:
    return resources.RESOURCES


@hookimpl
def quorate_commands() -> Sequence[Command[Any]]:
    return [resources.REPORT]


@hookimpl
def quorate_data_routes() -> Sequence[DataRoute[Any]]:
    return [resources.REPORTING]


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return resources.QUERIES


@hookimpl
def quorate_controllers() -> Sequence[Controller | Timer]:
    return resources.CONTROLLERS


@hookimpl
def quorate_metrics() -> Sequence[Metric]:
    return METRICS


@hookimpl
def quorate_config_sections() -> Sequence[ConfigSection]:
    return [ConfigSection(model=ConnectorConfig)]


@hookimpl
def quorate_cli_commands() -> Sequence[CliCommand]:
    return [
        CliCommand(
            name="connector",
            help="Define connectors, and see the states of their tasks.",
            load=lambda: import_module("quorate_connector.cli").connector,
        )
    ]


@hookimpl
def quorate_extensions() -> Sequence[ExtensionPoint | Extension]:
    page = ConsolePage(
        title="Tasks of connectors",
        tables={
            "Failed tasks": ("connector", "status", "--state", "failed", "--limit", "200"),
            "Tasks without a worker": (
                *("connector", "status", "--state", "unassigned", "--limit", "200"),
            ),
            "Workers": ("connector", "workers"),
        },
        actions={
            **{verb: _of_connector(verb) for verb in ("pause", "resume", "stop", "restart")},
            "drain": ConsoleAction(
                title="Drain a worker", command=("connector", "drain", "{worker}")
            ),
            "undrain": ConsoleAction(
                title="Let a worker have tasks again", command=("connector", "undrain", "{worker}")
            ),
        },
    )
    types = (each.extension for each in SHIPPED)
    return [
        ExtensionPoint(name=TYPES, type=ConnectorType),
        *types,
        Extension(point="cluster.console_pages", name="connector", value=page),
    ]


def _of_connector(verb: str) -> ConsoleAction:
    return ConsoleAction(
        title=f"{verb.capitalize()} a connector",
        command=("connector", verb, "{tenant}", "{connector}"),
        plan=("connector", "status", "{tenant}", "{connector}"),
    )
