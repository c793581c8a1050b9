"""The gRPC service: each call becomes a command or a query.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from collections.abc import Mapping
from typing import Final

from quorate.builtin.tenant.api import TenantCascade
from quorate.builtin.tenant.cascades import POINT
from quorate.builtin.tenant.validation import check_delete, check_deletes, check_get, check_list
from quorate.plugin import GrpcService, NodeApi, Rejected
from quorate.v1 import tenant_pb2_grpc
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.tenant_pb2 import (
    CreateTenant,
    CreateTenants,
    DeleteTenantRequest,
    DeleteTenantsRequest,
    GetTenantRequest,
    GetTenants,
    ListTenants,
    MarkTenant,
    MarkTenants,
    Tenant,
    TenantPage,
    UpdateTenant,
    UpdateTenants,
)


class TenantService(tenant_pb2_grpc.TenantServiceServicer):
    """Serves tenants on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node
        self._cascades: Final[Mapping[str, TenantCascade]] = node.extensions(
            POINT.name, TenantCascade
        )

    async def Create(self, request: CreateTenant, context: object) -> Tenant:
        """Make one tenant."""
        return await self._node.propose(request, Tenant)

    async def CreateBatch(self, request: CreateTenants, context: object) -> BatchReply:
        """Make many tenants in one proposal."""
        return await self._node.propose(request, BatchReply)

    async def Update(self, request: UpdateTenant, context: object) -> Tenant:
        """Replace what is said of one tenant."""
        return await self._node.propose(request, Tenant)

    async def UpdateBatch(self, request: UpdateTenants, context: object) -> BatchReply:
        """Replace what is said of many tenants in one proposal."""
        return await self._node.propose(request, BatchReply)

    async def Delete(self, request: DeleteTenantRequest, context: object) -> Tenant:
        """Mark one tenant for deletion, or refuse to while it holds something."""
        check_delete(request)
        return await self._node.propose(await self._mark(request), Tenant)

    async def DeleteBatch(self, request: DeleteTenantsRequest, context: object) -> BatchReply:
        """Mark many tenants for deletion in one proposal, but those that are refused."""
        check_deletes(request)
        refusals: dict[int, tuple[str, str]] = {}
        marks: dict[int, MarkTenant] = {}
        for position, deletion in enumerate(request.deletions):
            try:
                marks[position] = await self._mark(deletion)
            except Rejected as refusal:
                refusals[position] = (refusal.code, refusal.message)
        answer = BatchReply(items=len(request.deletions))
        replies = [b""] * answer.items
        if marks:
            marked = await self._node.propose(MarkTenants(tenants=marks.values()), BatchReply)
            positions = list(marks)
            for position, reply in zip(positions, marked.replies, strict=True):
                replies[position] = reply
            for each in marked.refusals:
                refusals[positions[each.item]] = (each.code, each.message)
            answer.revisions.extend(marked.revisions)
        for position, (code, message) in sorted(refusals.items()):
            answer.refusals.add(item=position, code=code, message=message)
        answer.replies.extend(replies)
        return answer

    async def Get(self, request: GetTenantRequest, context: object) -> Tenant:
        """Read one tenant."""
        check_get(request)
        query = GetTenants(names=[request.name])
        [found] = [page async for page in self._node.query(query, TenantPage)]
        if not found.tenants:
            raise Rejected("NOT_FOUND", f"there is no tenant {request.name}")
        return found.tenants[0]

    async def List(self, request: ListTenants, context: object) -> TenantPage:
        """List a page of tenants."""
        check_list(request)
        [page] = [page async for page in self._node.query(request, TenantPage)]
        return page

    async def _mark(self, request: DeleteTenantRequest) -> MarkTenant:
        """Return the mark, with every cascade: what comes in meanwhile is deleted as well."""
        names = sorted(self._cascades)
        if not request.cascade:
            holders = [
                name for name in names if await self._cascades[name].holds(self._node, request.name)
            ]
            if holders:
                raise Rejected(
                    "FAILED_PRECONDITION",
                    f"tenant {request.name} holds something in {', '.join(holders)}: "
                    "delete that first, or set cascade",
                )
        return MarkTenant(name=request.name, cascades=names)


TENANT: Final = GrpcService(
    full_name="quorate.v1.TenantService",
    add_to_server=tenant_pb2_grpc.add_TenantServiceServicer_to_server,
    servicer=TenantService,
)
