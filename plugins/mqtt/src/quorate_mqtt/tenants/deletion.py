"""The plugin's part in the deletion of a tenant: whatever it holds of the tenant is erased."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.builtin.tenant.api import waiting_tenants
from quorate.plugin import NodeApi, ShardRef
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import FinishTenantCascade, Tenant

from quorate_mqtt.resource import Holding
from quorate_mqtt.rows.reading import keys_of
from quorate_mqtt.v1.tenants_pb2 import GetTenantMarkQuery, TenantMark

#: The plugin's name in the rows of tenants that are being deleted.
CASCADE: Final = "mqtt"


@dataclass(frozen=True, slots=True)
class TenantDeletion:
    """Erases what is held of tenants that are being deleted."""

    holdings: Sequence[Holding]

    async def holds(self, node: NodeApi, tenant: str) -> bool:
        """Tell whether there is any row of the tenant."""
        for holding in self.holdings:
            async for _ in keys_of(node, holding.family, tenant):
                return True
        return False

    async def run_once(self, node: NodeApi, shard: ShardRef) -> None:
        """Erase the rows of every tenant that waits for it, and say when nothing is left."""
        async for tenant in waiting_tenants(node, CASCADE):
            if not await _is_known(node, tenant):
                # A shard whose copy lags would still take something new.
                continue
            for holding in self.holdings:
                async for page in keys_of(node, holding.family, tenant.name):
                    erasure = holding.erase(page)
                    if holding.complete is not None:
                        holding.complete(node, erasure)
                    await node.propose(erasure, BatchReply, if_leader=shard)
            if not await self.holds(node, tenant.name):
                done = FinishTenantCascade(name=tenant.name, id=tenant.id, cascade=CASCADE)
                await node.propose(done, Empty, if_leader=shard)


async def _is_known(node: NodeApi, tenant: Tenant) -> bool:
    query = GetTenantMarkQuery(tenant=tenant.name)
    return all([mark.id == tenant.id async for mark in node.query(query, TenantMark)])
