"""The gRPC service: each call becomes a command or a read.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from collections.abc import AsyncIterator, Callable
from typing import Final

from quorate.plugin import GrpcService, Invalid, NodeApi, Rejected, keys, propose_fitting
from quorate.plugin.checking import check_name
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.names import check_identity
from quorate_mqtt.rows.reading import Range, Shelf, check_lookups
from quorate_mqtt.shards import tenant_shard_of
from quorate_mqtt.shared_groups import validation
from quorate_mqtt.shared_groups.families import GROUPS, MEMBERS, group_key
from quorate_mqtt.v1 import shared_groups_pb2
from quorate_mqtt.v1.rows_pb2 import StoredRow
from quorate_mqtt.v1.shared_groups_pb2 import (
    CreateSharedGroup,
    CreateSharedGroups,
    DeleteSharedGroup,
    DeleteSharedGroupReply,
    DeleteSharedGroups,
    GetSharedGroupRequest,
    GetSharedGroupsRequest,
    JoinSharedGroup,
    JoinSharedGroups,
    KeyedSharedGroup,
    KeyedSharedGroupMember,
    LeaveSharedGroup,
    LeaveSharedGroupReply,
    LeaveSharedGroups,
    ListSharedGroupMembersRequest,
    ListSharedGroupMembersResponse,
    ListSharedGroupsRequest,
    ListSharedGroupsResponse,
    SharedGroup,
    SharedGroupLookup,
    SharedGroupLookups,
    SharedGroupMember,
    UpdateSharedGroup,
    UpdateSharedGroups,
)


def _shown_group(row: StoredRow) -> KeyedSharedGroup:
    tenant, name = keys.unpack(row.key)
    return KeyedSharedGroup(
        tenant=str(tenant),
        name=str(name),
        group=SharedGroup.FromString(row.value),
        revision=row.revision,
    )


def _shown_member(row: StoredRow) -> KeyedSharedGroupMember:
    tenant, group, client_id, topic_filter = keys.unpack(row.key)
    return KeyedSharedGroupMember(
        tenant=str(tenant),
        group=str(group),
        client_id=str(client_id),
        filter=str(topic_filter),
        member=SharedGroupMember.FromString(row.value),
    )


_GROUPS: Final = Shelf(family=GROUPS, shard_of=tenant_shard_of, show=_shown_group)
_MEMBERS: Final = Shelf(family=MEMBERS, shard_of=tenant_shard_of, show=_shown_member)


class SharedGroupServicer:
    """Serves groups on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Create(self, request: CreateSharedGroup, context: object) -> SharedGroup:
        """Make one group."""
        return await self._node.propose(request, SharedGroup)

    async def CreateBatch(self, request: CreateSharedGroups, context: object) -> BatchReply:
        """Make many groups in one proposal a shard."""
        return await propose_fitting(self._node, request, "groups", validation.check_group)

    async def Update(self, request: UpdateSharedGroup, context: object) -> SharedGroup:
        """Replace the parameters of one group."""
        return await self._node.propose(request, SharedGroup)

    async def UpdateBatch(self, request: UpdateSharedGroups, context: object) -> BatchReply:
        """Replace the parameters of many groups in one proposal a shard."""
        return await propose_fitting(self._node, request, "groups", validation.check_group)

    async def Delete(self, request: DeleteSharedGroup, context: object) -> DeleteSharedGroupReply:
        """Delete one group."""
        return await self._node.propose(request, DeleteSharedGroupReply)

    async def DeleteBatch(self, request: DeleteSharedGroups, context: object) -> BatchReply:
        """Delete many groups in one proposal a shard."""
        return await propose_fitting(self._node, request, "groups", validation.check_named)

    async def Join(self, request: JoinSharedGroup, context: object) -> SharedGroup:
        """Make one client a member."""
        return await self._node.propose(request, SharedGroup)

    async def JoinBatch(self, request: JoinSharedGroups, context: object) -> BatchReply:
        """Make many clients members in one proposal a shard."""
        return await propose_fitting(self._node, request, "members", validation.check_join)

    async def Leave(self, request: LeaveSharedGroup, context: object) -> LeaveSharedGroupReply:
        """Let one member leave."""
        return await self._node.propose(request, LeaveSharedGroupReply)

    async def LeaveBatch(self, request: LeaveSharedGroups, context: object) -> BatchReply:
        """Let many members leave in one proposal a shard."""
        return await propose_fitting(self._node, request, "members", validation.check_leave)

    async def Get(self, request: GetSharedGroupRequest, context: object) -> KeyedSharedGroup:
        """Read one group."""
        validation.check_named(request)
        group = await _GROUPS.get(self._node, group_key(request.tenant, request.name))
        if group is None:
            raise Rejected(
                "NOT_FOUND", f"tenant {request.tenant} has no shared group {request.name}"
            )
        return group

    async def GetBatch(
        self, request: GetSharedGroupsRequest, context: object
    ) -> SharedGroupLookups:
        """Read many groups, in the order of the request."""
        check_lookups("groups", request.groups, validation.check_named)
        wanted = [group_key(each.tenant, each.name) for each in request.groups]
        found = await _GROUPS.get_each(self._node, wanted)
        return SharedGroupLookups(lookups=[SharedGroupLookup(group=each) for each in found])

    async def List(
        self, request: ListSharedGroupsRequest, context: object
    ) -> ListSharedGroupsResponse:
        """List a page of groups."""
        groups, token = await _GROUPS.page(self._node, *_wanted(request))
        return ListSharedGroupsResponse(groups=groups, next_page_token=token)

    async def StreamList(
        self, request: ListSharedGroupsRequest, context: object
    ) -> AsyncIterator[ListSharedGroupsResponse]:
        """List page by page, to the end."""
        async for groups, token in _GROUPS.pages(self._node, *_wanted(request)):
            yield ListSharedGroupsResponse(groups=groups, next_page_token=token)

    async def ListMembers(
        self, request: ListSharedGroupMembersRequest, context: object
    ) -> ListSharedGroupMembersResponse:
        """List a page of members."""
        if request.tenant:
            check_name("tenant", request.tenant)
        elif request.group:
            raise Invalid("group", "must be empty when no tenant is given")
        if request.group:
            validation.check_share_name(request.group, "group")
        if request.broker:
            check_identity("broker", request.broker)
        members, token = await _MEMBERS.page(
            self._node,
            Range.below(request, request.tenant, request.group),
            lambda each: request.broker in ("", each.member.broker),
        )
        return ListSharedGroupMembersResponse(members=members, next_page_token=token)


def _wanted(
    request: ListSharedGroupsRequest,
) -> tuple[Range, Callable[[KeyedSharedGroup], bool] | None]:
    if request.tenant:
        check_name("tenant", request.tenant)
    if not request.leader:
        return Range.below(request, request.tenant), None
    check_identity("leader", request.leader)
    return Range.below(request, request.tenant), lambda each: each.group.leader == request.leader


SERVICE: Final = GrpcService(
    service=shared_groups_pb2.DESCRIPTOR.services_by_name["SharedGroupService"],
    servicer=SharedGroupServicer,
)
