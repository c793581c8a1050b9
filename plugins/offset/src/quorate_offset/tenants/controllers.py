"""The plugin's part in the deletion of a tenant: its groups are deleted, of both kinds."""

from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.builtin.tenant.api import TenantCascade, waiting_tenants
from quorate.plugin import Controller, Extension, NodeApi, ShardRef
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import FinishTenantCascade

from quorate_offset.families import GROUP
from quorate_offset.names import TENANTS
from quorate_offset.v1.commands_pb2 import (
    DeleteOffsetsCommand,
    DeleteSubscriptionGroupsCommand,
    OffsetDeletion,
    SubscriptionGroupDeletion,
)
from quorate_offset.v1.queries_pb2 import (
    GetKnownTenantQuery,
    GroupState,
    KnownTenant,
    ListGroupStatesQuery,
    ListSubscriptionGroupsQuery,
)
from quorate_offset.v1.rows_pb2 import SubscriptionGroup

#: The plugin's name in the rows of tenants that are being deleted.
CASCADE: Final = "offset"
#: Groups of one command: each may have many offsets.
TOGETHER: Final = 100
#: Looks for groups in one run; what is left waits for the next.
MOST_LOOKS: Final = 100
#: A wake that was lost costs no more than this.
INTERVAL_S: Final = 10.0


async def holds(node: NodeApi, tenant: str) -> bool:
    """Tell whether a tenant has groups of either kind."""
    return bool(await _consumed(node, tenant, limit=1) or await _subscribed(node, tenant, limit=1))


async def delete_tenants(node: NodeApi, shard: ShardRef) -> None:
    """Delete the groups of every tenant that waits for it, and say when none are left."""
    async for tenant in waiting_tenants(node, CASCADE):
        known = node.query(GetKnownTenantQuery(tenant=tenant.name), KnownTenant)
        if not all([each.deleting_id == tenant.id async for each in known]):
            # A shard whose copy lags would still take something new.
            continue
        if await _delete_groups(node, shard, tenant.name):
            done = FinishTenantCascade(name=tenant.name, id=tenant.id, cascade=CASCADE)
            await node.propose(done, Empty, if_leader=shard)


async def _delete_groups(node: NodeApi, shard: ShardRef, tenant: str) -> bool:
    """Delete groups of a tenant, and return whether none are left."""
    for _ in range(MOST_LOOKS):
        consumed = await _consumed(node, tenant, limit=TOGETHER)
        subscribed = await _subscribed(node, tenant, limit=TOGETHER)
        if consumed:
            deletions = [OffsetDeletion(tenant=tenant, group=group) for group in consumed]
            command = DeleteOffsetsCommand(deletions=deletions)
            await node.propose(command, BatchReply, if_leader=shard)
        if subscribed:
            dropped = [SubscriptionGroupDeletion(tenant=tenant, group=each) for each in subscribed]
            gone = DeleteSubscriptionGroupsCommand(deletions=dropped)
            await node.propose(gone, BatchReply, if_leader=shard)
        if not consumed and not subscribed:
            return True
    return False


async def _consumed(node: NodeApi, tenant: str, *, limit: int) -> list[str]:
    found = node.query(ListGroupStatesQuery(tenant=tenant, limit=limit), GroupState)
    return [each.group async for each in found][:limit]


async def _subscribed(node: NodeApi, tenant: str, *, limit: int) -> list[str]:
    found = node.query(ListSubscriptionGroupsQuery(tenant=tenant, limit=limit), SubscriptionGroup)
    return [each.group async for each in found][:limit]


DELETION: Final = Controller(
    name="offset.tenant_deletion",
    group=GROUP,
    run_once=delete_tenants,
    interval_s=INTERVAL_S,
    wake_on=(TENANTS,),
)
TAKES_PART: Final = Extension(
    point="tenant.cascades", name=CASCADE, value=TenantCascade(holds=holds)
)
