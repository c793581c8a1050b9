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

from quorate_etcd import commands, families
from quorate_etcd.auth import rows as guards
from quorate_etcd.config import EtcdConfig
from quorate_etcd.serving import stores, watching
from quorate_etcd.serving.server import serving

_PAGE: Final = ConsolePage(title="Stores of etcd", tables={"Stores": ("etcd", "store", "list")})


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        RaftGroup(name=families.GROUP),
        *families.FAMILIES,
        *guards.FAMILIES,
        *commands.COMMANDS,
        *commands.QUERIES,
        *commands.TIMERS,
        *(watching.WATCHES, watching.WATCHES_REFUSED),
        stores.SERVICE,
        ConfigSection(model=EtcdConfig),
        CliCommand(
            name="etcd",
            help="Show stores of etcd's keys, and move between etcd and Quorate.",
            load=lambda: import_module("quorate_etcd.cli.etcd").etcd,
            former={"etcd status": "etcd store list"},
        ),
        Extension(point="cluster.console_pages", name="etcd", value=_PAGE),
        Extension(point="cluster.console_groups", name="etcd", value="Coordination"),
    ]


@hookimpl
@asynccontextmanager
async def quorate_lifespan(node: NodeApi) -> AsyncIterator[None]:
    async with serving(node):
        yield
