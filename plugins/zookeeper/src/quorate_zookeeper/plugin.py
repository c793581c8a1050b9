"""What the plugin declares: every hook that it implements, and nothing else."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from quorate.plugin import (
    CliCommand,
    ColumnFamily,
    Command,
    ConfigSection,
    Controller,
    DataRoute,
    Metric,
    NodeApi,
    Query,
    RaftGroup,
    Timer,
    hookimpl,
)

from quorate_zookeeper import commands, families, metrics
from quorate_zookeeper.config import ZooKeeperConfig
from quorate_zookeeper.serving.server import serving


@hookimpl
def quorate_config_sections() -> Sequence[ConfigSection]:
    return [ConfigSection(model=ZooKeeperConfig)]


@hookimpl
def quorate_raft_groups() -> Sequence[RaftGroup]:
    return [RaftGroup(name=families.GROUP)]


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    return families.FAMILIES


@hookimpl
def quorate_commands() -> Sequence[Command[Any]]:
    return commands.COMMANDS


@hookimpl
def quorate_data_routes() -> Sequence[DataRoute[Any]]:
    return commands.ROUTES


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return commands.QUERIES


@hookimpl
def quorate_controllers() -> Sequence[Controller | Timer]:
    return commands.TIMERS


@hookimpl
def quorate_metrics() -> Sequence[Metric]:
    return metrics.METRICS


@hookimpl
def quorate_cli_commands() -> Sequence[CliCommand]:
    return [
        CliCommand(
            name="zookeeper",
            help="Move between ZooKeeper and Quorate.",
            load=lambda: import_module("quorate_zookeeper.cli.zookeeper").zookeeper,
        )
    ]


@hookimpl
@asynccontextmanager
async def quorate_lifespan(node: NodeApi) -> AsyncIterator[None]:
    async with serving(node):
        yield
