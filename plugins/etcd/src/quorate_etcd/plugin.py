"""The declarations of the plugin."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from quorate.plugin import ConfigSection, Declaration, NodeApi, RaftGroup, hookimpl

from quorate_etcd import commands, families, metrics
from quorate_etcd.auth import rows as guards
from quorate_etcd.config import EtcdConfig
from quorate_etcd.serving.server import serving


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        RaftGroup(name=families.GROUP),
        *families.FAMILIES,
        *guards.FAMILIES,
        *commands.COMMANDS,
        *commands.QUERIES,
        *commands.TIMERS,
        *metrics.METRICS,
        ConfigSection(model=EtcdConfig),
    ]


@hookimpl
@asynccontextmanager
async def quorate_lifespan(node: NodeApi) -> AsyncIterator[None]:
    async with serving(node):
        yield
