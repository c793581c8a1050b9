"""Opens the ports of the stores that this node serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress

from google.protobuf.descriptor import ServiceDescriptor
from quorate.plugin import NodeApi, ServicePort

from quorate_etcd.config import EtcdConfig
from quorate_etcd.serving.identity import Identity
from quorate_etcd.serving.kv import KV
from quorate_etcd.serving.lease import Lease
from quorate_etcd.serving.statuses import status_of
from quorate_etcd.serving.store import Store
from quorate_etcd.serving.watch import Watch
from quorate_etcd.serving.watching import Watches
from quorate_etcd.wire import rpc_pb2 as rpc


@asynccontextmanager
async def serving(node: NodeApi) -> AsyncIterator[None]:
    """Serve the clients of etcd within a block, at the ports that are configured."""
    config = node.config(EtcdConfig)
    async with AsyncExitStack() as opened:
        for name, port in config.served():
            await opened.enter_async_context(_open(node, config, name, port))
        yield


@asynccontextmanager
async def _open(node: NodeApi, config: EtcdConfig, name: str, port: int) -> AsyncIterator[None]:
    store = Store(node, config, name, Identity(node, name).header)
    watches = Watches(store)
    running = asyncio.create_task(watches.run())
    served = ServicePort(
        host=config.host,
        port=port,
        services=[
            (_service("KV"), KV(store)),
            (_service("Watch"), Watch(store, watches)),
            (_service("Lease"), Lease(store)),
        ],
        insecure=config.insecure,
        message_bytes=config.request_bytes + (512 << 10),
        status=status_of,
    )
    try:
        async with node.serve(served):
            yield
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


def _service(name: str) -> ServiceDescriptor:
    found: ServiceDescriptor = rpc.DESCRIPTOR.services_by_name[name]
    return found
