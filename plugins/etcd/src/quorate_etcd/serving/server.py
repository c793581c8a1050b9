"""Opens the ports of the stores that this node serves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from quorate.plugin import NodeApi
from quorate.plugin.advanced import ServicePort

from quorate_etcd.config import EtcdConfig
from quorate_etcd.serving.around import Around
from quorate_etcd.serving.auth import Auth
from quorate_etcd.serving.cluster import Cluster, announce_forever, url_of
from quorate_etcd.serving.election import Election, Lock
from quorate_etcd.serving.gatekeeper import Gatekeeper
from quorate_etcd.serving.http import routes
from quorate_etcd.serving.http.figures import Figures
from quorate_etcd.serving.http.gateway import Gateway
from quorate_etcd.serving.http.pages import Pages
from quorate_etcd.serving.identity import Identity
from quorate_etcd.serving.kv import KV
from quorate_etcd.serving.leadership import Leadership
from quorate_etcd.serving.lease import Lease
from quorate_etcd.serving.maintenance import Maintenance
from quorate_etcd.serving.recipes import Recipes
from quorate_etcd.serving.statuses import status_of
from quorate_etcd.serving.store import Store
from quorate_etcd.serving.stores import Open, listed
from quorate_etcd.serving.tally import Tally
from quorate_etcd.serving.watch import Watch
from quorate_etcd.serving.watching import Watches


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
    identity = Identity(node, name)
    store = Store(node, config, name, identity.header)
    watches = Watches(store)
    members = Cluster(node, identity)
    gatekeeper, leadership, tally = Gatekeeper(node, name), Leadership(identity), Tally()
    kv, watch, lease = KV(store), Watch(store, watches, gatekeeper), Lease(store)
    maintenance = Maintenance(node, identity, members)
    recipes = Recipes(kv, watch, lease)
    servicers = {
        routes.KV: kv,
        routes.WATCH: watch,
        routes.LEASE: lease,
        routes.CLUSTER: members,
        routes.MAINTENANCE: maintenance,
        routes.AUTH: Auth(node, identity, gatekeeper),
        routes.LOCK: Lock(kv, recipes),
        routes.ELECTION: Election(recipes),
    }
    services = {
        service: Around(service, each, tally, leadership, gatekeeper)
        for service, each in servicers.items()
    }
    figures = Figures(node, identity, maintenance, watches, tally)
    tls = node.tls("h2", "http/1.1")
    served = ServicePort(
        host=config.host,
        port=port,
        services=list(services.items()),
        http=Pages(Gateway(services), maintenance.health, figures.text),
        tls=tls,
        insecure=config.insecure,
        message_bytes=config.request_bytes + (512 << 10),
        status=status_of,
    )
    running = [asyncio.create_task(each.run()) for each in (watches, gatekeeper, leadership)]
    try:
        async with node.serve(served) as opened:
            url = config.client_urls.get(name) or url_of(node, config.host, opened.port, tls)
            running.append(asyncio.create_task(announce_forever(node, name, url)))
            with listed(Open(store, identity, watches, opened.port)):
                yield
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
