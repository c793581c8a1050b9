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
from quorate.plugin.advanced import ConsolePage

from quorate_zookeeper import commands, families, metrics
from quorate_zookeeper.config import ZooKeeperConfig
from quorate_zookeeper.serving.server import serving
from quorate_zookeeper.tree import browsing

_PAGE: Final = ConsolePage(
    title="Znodes",
    tables={
        "The znode, below those above it": ("zookeeper", "stat", "--above", "{path=/}"),
        "Its children": (
            *("zookeeper", "ls", "--limit", "100"),
            *("--after={after=}", "{path=/}"),
        ),
    },
)


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        RaftGroup(name=families.GROUP),
        *families.FAMILIES,
        *commands.COMMANDS,
        *commands.QUERIES,
        *commands.TIMERS,
        *metrics.METRICS,
        browsing.SERVICE,
        ConfigSection(model=ZooKeeperConfig),
        CliCommand(
            name="zookeeper",
            help="Show znodes, and move between ZooKeeper and Quorate.",
            load=lambda: import_module("quorate_zookeeper.cli.zookeeper").zookeeper,
        ),
        Extension(point="cluster.console_pages", name="zookeeper", value=_PAGE),
        Extension(point="cluster.console_groups", name="zookeeper", value="Coordination"),
    ]


@hookimpl
@asynccontextmanager
async def quorate_lifespan(node: NodeApi) -> AsyncIterator[None]:
    async with serving(node):
        yield
