"""The declarations of the plugin."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib import import_module

from quorate.plugin import CliCommand, ConfigSection, Declaration, NodeApi, RaftGroup, hookimpl

from quorate_zookeeper import commands, families, metrics
from quorate_zookeeper.config import ZooKeeperConfig
from quorate_zookeeper.serving.server import serving


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        RaftGroup(name=families.GROUP),
        *families.FAMILIES,
        *commands.COMMANDS,
        *commands.QUERIES,
        *commands.TIMERS,
        *metrics.METRICS,
        ConfigSection(model=ZooKeeperConfig),
        CliCommand(
            name="zookeeper",
            help="Move between ZooKeeper and Quorate.",
            load=lambda: import_module("quorate_zookeeper.cli.zookeeper").zookeeper,
        ),
    ]


@hookimpl
@asynccontextmanager
async def quorate_lifespan(node: NodeApi) -> AsyncIterator[None]:
    async with serving(node):
        yield
