"""What other plugins take part with in the deletion of a tenant."""

from collections.abc import Awaitable, Callable

from google.protobuf.empty_pb2 import Empty
from google.protobuf.message import Message

from quorate.plugin import NodeApi, ShardRef
from quorate.plugin.resource import TenantCascade, waiting_tenants
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import FinishTenantCascade

__all__ = ["TenantCascade", "erase_waiting", "waiting_tenants"]


async def erase_waiting(
    node: NodeApi,
    shard: ShardRef,
    cascade: str,
    erasure: Callable[[NodeApi, str], Awaitable[Message | None]],
) -> None:
    """Delete what a plugin holds of every tenant that waits for it, and finish its cascade.

    `erasure` returns the next batch command that deletes rows of the tenant of that name; None:
    nothing is left. It fits rows that lie in the shard of the tenants, where no copy lags.
    """
    async for tenant in waiting_tenants(node, cascade):
        while (command := await erasure(node, tenant.name)) is not None:
            await node.propose(command, BatchReply, if_leader=shard)
        done = FinishTenantCascade(name=tenant.name, id=tenant.id, cascade=cascade)
        await node.propose(done, Empty, if_leader=shard)
