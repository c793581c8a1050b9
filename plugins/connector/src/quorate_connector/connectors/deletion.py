"""The plugin's part in the deletion of a tenant: its connectors are deleted."""

from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.builtin.tenant.api import waiting_tenants
from quorate.plugin import NodeApi, ShardRef, keys
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import FinishTenantCascade, Tenant

from quorate_connector.connectors.parts import AT_A_TIME
from quorate_connector.v1.connector_queries_pb2 import (
    ConnectorPage,
    GetTenantMarkQuery,
    ListConnectorsQuery,
    TenantMark,
)
from quorate_connector.v1.connectors_pb2 import DeleteConnector, DeleteConnectors

#: The plugin's name in the rows of tenants that are being deleted.
CASCADE: Final = "connector"


async def holds(node: NodeApi, tenant: str) -> bool:
    """Tell whether the tenant has connectors."""
    return bool((await _page(node, tenant, limit=1)).connectors)


async def run_once(node: NodeApi, shard: ShardRef) -> None:
    """Delete the connectors of every tenant that waits for it, and say when none is left."""
    async for tenant in waiting_tenants(node, CASCADE):
        if not await _is_known(node, tenant):
            # The shard's copy lags: it would still take a new connector.
            continue
        while connectors := (await _page(node, tenant.name, limit=AT_A_TIME)).connectors:
            named = [
                DeleteConnector(tenant=each.tenant, name=each.name, missing_ok=True)
                for each in connectors
            ]
            await node.propose(DeleteConnectors(connectors=named), BatchReply, if_leader=shard)
        done = FinishTenantCascade(name=tenant.name, id=tenant.id, cascade=CASCADE)
        await node.propose(done, Empty, if_leader=shard)


async def _page(node: NodeApi, tenant: str, *, limit: int) -> ConnectorPage:
    start, end = keys.prefix(tenant)
    query = ListConnectorsQuery(start=start, end=end, limit=limit)
    [page] = [page async for page in node.query(query, ConnectorPage)]
    return page


async def _is_known(node: NodeApi, tenant: Tenant) -> bool:
    query = GetTenantMarkQuery(tenant=tenant.name)
    [mark] = [mark async for mark in node.query(query, TenantMark)]
    return mark.id == tenant.id
