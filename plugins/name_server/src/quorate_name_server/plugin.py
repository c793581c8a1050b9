"""The declarations of the plugin."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module
from typing import Final

from quorate.plugin import (
    CliCommand,
    ConfigSection,
    Declaration,
    Extension,
    NodeApi,
    RaftGroup,
    hookimpl,
)
from quorate.plugin.advanced import ConsoleAction, ConsolePage

from quorate_name_server import families, metrics, resources
from quorate_name_server.brokers.confirming import confirming
from quorate_name_server.config import NameServerConfig
from quorate_name_server.remoting.role_notifying import NOTIFYING
from quorate_name_server.remoting.server import serving
from quorate_name_server.replication import known, resource as replication
from quorate_name_server.replication.rows import FAMILY as REPLICA_STATES
from quorate_name_server.routes.known import CACHE

_PAGE: Final = ConsolePage(
    title="RocketMQ",
    tables={
        "Brokers": ("name-server", "broker", "list"),
        "Topics": ("name-server", "topic", "list"),
    },
    actions={
        f"{verb}-writes": ConsoleAction(
            title=title,
            command=("name-server", "broker", f"{verb}-write-permission", "{broker}"),
            plan=("name-server", "broker", "list", "{broker}"),
        )
        for verb, title in (
            ("wipe", "Revoke the write permission of a broker"),
            ("add", "Restore the write permission of a broker"),
        )
    },
)


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        RaftGroup(name=families.GROUP),
        *(*families.FAMILIES, REPLICA_STATES),
        *(*resources.RESOURCES, replication.REPLICA_SET),
        *resources.QUERIES,
        *(resources.LIFE, replication.LIFE, resources.SWEEPING, NOTIFYING),
        *(CACHE, known.CACHE),
        *metrics.METRICS,
        ConfigSection(model=NameServerConfig),
        CliCommand(
            name="name-server",
            help="Show routes of topics, and manage brokers.",
            load=lambda: import_module("quorate_name_server.cli.name_server").name_server,
            former={
                "name-server routes": "name-server route get",
                "name-server watch": "name-server route watch",
                "name-server brokers": "name-server broker list",
                "name-server topics": "name-server topic list",
                "name-server delete-topic": "name-server topic delete",
                "name-server unregister": "name-server broker unregister",
                "name-server wipe-write-permission": "name-server broker wipe-write-permission",
                "name-server add-write-permission": "name-server broker add-write-permission",
                "rocketmq import": "name-server import",
            },
        ),
        Extension(point="cluster.console_pages", name="name_server", value=_PAGE),
        Extension(point="cluster.console_groups", name="name_server", value="Brokers"),
    ]


@hookimpl
@asynccontextmanager
async def quorate_lifespan(node: NodeApi) -> AsyncIterator[None]:
    async with confirming(node), serving(node):
        yield
