"""What the plugin declares: every hook that it implements, and nothing else."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Any

from quorate.plugin import (
    Cache,
    CliCommand,
    ColumnFamily,
    ConfigSection,
    ConsoleAction,
    ConsolePage,
    Controller,
    Extension,
    ExtensionPoint,
    Metric,
    NodeApi,
    Query,
    RaftGroup,
    Resource,
    Timer,
    hookimpl,
)

from quorate_name_server import families, metrics, resources
from quorate_name_server.brokers.confirming import confirming
from quorate_name_server.config import NameServerConfig
from quorate_name_server.remoting.role_notifying import NOTIFYING
from quorate_name_server.remoting.server import serving
from quorate_name_server.replication import known, resource as replication
from quorate_name_server.replication.rows import FAMILY as REPLICA_STATES
from quorate_name_server.routes.known import CACHE
from quorate_name_server.topics.sweeping import SWEEPING


@hookimpl
def quorate_config_sections() -> Sequence[ConfigSection]:
    return [ConfigSection(model=NameServerConfig)]


@hookimpl
def quorate_raft_groups() -> Sequence[RaftGroup]:
    return [RaftGroup(name=families.GROUP)]


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    return [*families.FAMILIES, REPLICA_STATES]


@hookimpl
def quorate_resources() -> Sequence[Resource[Any]]:
    return [*resources.RESOURCES, replication.REPLICA_SET]


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return resources.QUERIES


@hookimpl
def quorate_controllers() -> Sequence[Controller | Timer]:
    return [resources.LIFE, replication.LIFE, SWEEPING, NOTIFYING]


@hookimpl
def quorate_caches() -> Sequence[Cache]:
    return [CACHE, known.CACHE]


@hookimpl
def quorate_metrics() -> Sequence[Metric]:
    return metrics.METRICS


@hookimpl
def quorate_cli_commands() -> Sequence[CliCommand]:
    return [
        CliCommand(
            name="name-server",
            help="Show routes of topics, and manage brokers.",
            load=lambda: import_module("quorate_name_server.cli.name_server").name_server,
        ),
        CliCommand(
            name="rocketmq",
            help="Move from RocketMQ to Quorate.",
            load=lambda: import_module("quorate_name_server.cli.rocketmq").rocketmq,
        ),
    ]


@hookimpl
def quorate_extensions() -> Sequence[ExtensionPoint | Extension]:
    page = ConsolePage(
        title="RocketMQ",
        tables={"Brokers": ("name-server", "brokers"), "Topics": ("name-server", "topics")},
        actions={
            f"{verb}-writes": ConsoleAction(
                title=title,
                command=("name-server", f"{verb}-write-permission", "{broker}"),
                plan=("name-server", "brokers", "{broker}"),
            )
            for verb, title in (
                ("wipe", "Have clients write to a broker no more"),
                ("add", "Let clients write to a broker again"),
            )
        },
    )
    return [Extension(point="cluster.console_pages", name="name_server", value=page)]


@hookimpl
@asynccontextmanager
async def quorate_lifespan(node: NodeApi) -> AsyncIterator[None]:
    async with confirming(node), serving(node):
        yield
