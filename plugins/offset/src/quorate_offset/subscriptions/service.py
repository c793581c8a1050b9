"""The gRPC service of subscription groups: each call becomes a command or a query.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from typing import Final

from quorate.plugin import GrpcService, NodeApi, Rejected
from quorate.v1.batch_pb2 import BatchReply

from quorate_offset.answers import PAGE_SIZE, consistency, each_reply
from quorate_offset.offsets.validation import after_token, check_group, check_page
from quorate_offset.pages import cut
from quorate_offset.v1 import subscription_group_service_pb2
from quorate_offset.v1.commands_pb2 import (
    DeleteSubscriptionGroupsCommand,
    PutSubscriptionGroupReply,
    PutSubscriptionGroupsCommand,
)
from quorate_offset.v1.queries_pb2 import GetSubscriptionGroupQuery, ListSubscriptionGroupsQuery
from quorate_offset.v1.rows_pb2 import SubscriptionGroup
from quorate_offset.v1.subscription_group_service_pb2 import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    GetGroupRequest,
    ListGroupsRequest,
    ListGroupsResponse,
    PutGroupsRequest,
    PutGroupsResponse,
)


class SubscriptionGroupService:
    """Serves subscription groups on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def PutGroups(self, request: PutGroupsRequest, context: object) -> PutGroupsResponse:
        """Make or change many groups."""
        command = PutSubscriptionGroupsCommand(groups=request.groups)
        reply = await self._node.propose(command, BatchReply)
        return PutGroupsResponse(
            groups=each_reply(reply, PutSubscriptionGroupReply),
            refusals=reply.refusals,
            revisions=reply.revisions,
        )

    async def DeleteGroups(
        self, request: DeleteGroupsRequest, context: object
    ) -> DeleteGroupsResponse:
        """Delete many groups."""
        command = DeleteSubscriptionGroupsCommand(deletions=request.deletions)
        reply = await self._node.propose(command, BatchReply)
        return DeleteGroupsResponse(refusals=reply.refusals, revisions=reply.revisions)

    async def GetGroup(self, request: GetGroupRequest, context: object) -> SubscriptionGroup:
        """Read one group."""
        check_group(request.tenant, request.group)
        found = await self._node.read(
            GetSubscriptionGroupQuery(tenant=request.tenant, group=request.group),
            SubscriptionGroup,
            consistency=consistency(stale=request.stale),
        )
        if not found.rows:
            raise Rejected(
                "NOT_FOUND",
                f"there is no subscription group {request.group} of tenant {request.tenant}",
            )
        return found.rows[0]

    async def ListGroups(self, request: ListGroupsRequest, context: object) -> ListGroupsResponse:
        """List a page of groups."""
        check_page(request.tenant, request.prefix, request.page_size)
        size = request.page_size or PAGE_SIZE
        query = ListSubscriptionGroupsQuery(
            tenant=request.tenant,
            prefix=request.prefix,
            after=after_token(request.page_token),
            limit=size + 1,
        )
        found = await self._node.read(
            query, SubscriptionGroup, consistency=consistency(stale=request.stale)
        )
        page, token = cut(list(found.rows), size)
        return ListGroupsResponse(groups=page, next_page_token=token, age_ms=found.age_ms)


SUBSCRIPTION_GROUP: Final = GrpcService(
    service=subscription_group_service_pb2.DESCRIPTOR.services_by_name["SubscriptionGroupService"],
    servicer=SubscriptionGroupService,
)
