"""The groups of shared subscriptions: who belongs to each, and which broker leads it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Final

from quorate.client import AsyncClient, Blocking, blocking, iterating
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.batches import Batch
from quorate_mqtt.client import batching, reading
from quorate_mqtt.client.reading import Listing
from quorate_mqtt.shards import tenant_shard
from quorate_mqtt.v1.shared_groups_pb2 import (
    CreateSharedGroup,
    CreateSharedGroups,
    DeleteSharedGroup,
    DeleteSharedGroupReply,
    DeleteSharedGroups,
    GetSharedGroupRequest,
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
    UpdateSharedGroup,
    UpdateSharedGroups,
)

_SERVICE: Final = "/quorate_mqtt.v1.SharedGroupService/"
_CREATION: Final = Batch[CreateSharedGroup](message=CreateSharedGroups, field="groups")
_UPDATES: Final = Batch[UpdateSharedGroup](message=UpdateSharedGroups, field="groups")
_DELETION: Final = Batch[DeleteSharedGroup](message=DeleteSharedGroups, field="groups")
_JOINING: Final = Batch[JoinSharedGroup](message=JoinSharedGroups, field="members")
_LEAVING: Final = Batch[LeaveSharedGroup](message=LeaveSharedGroups, field="members")
_GROUPS: Final[Listing[ListSharedGroupsRequest, ListSharedGroupsResponse, KeyedSharedGroup]] = (
    Listing(
        method=f"{_SERVICE}List",
        page=ListSharedGroupsResponse,
        rows=lambda page: (page.groups, page.next_page_token),
    )
)
_MEMBERS: Final[
    Listing[ListSharedGroupMembersRequest, ListSharedGroupMembersResponse, KeyedSharedGroupMember]
] = Listing(
    method=f"{_SERVICE}ListMembers",
    page=ListSharedGroupMembersResponse,
    rows=lambda page: (page.members, page.next_page_token),
)


class SharedGroups:
    """Writes and reads groups and their members."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q

    async def create(self, tenant: str, name: str, *, parameters: bytes = b"") -> SharedGroup:
        """Return a group, and make it first if there is none."""
        command = CreateSharedGroup(tenant=tenant, name=name, parameters=parameters)
        return await self._q.execute(command, SharedGroup)

    async def create_many(self, groups: Iterable[CreateSharedGroup]) -> BatchReply:
        """Make those of many that are not there; each reply in the reply is a `SharedGroup`."""
        return await batching.execute(self._q, _CREATION.of, groups)

    async def update(self, tenant: str, name: str, parameters: bytes) -> SharedGroup:
        """Replace what the brokers keep with a group; NOT_FOUND if there is none."""
        command = UpdateSharedGroup(tenant=tenant, name=name, parameters=parameters)
        return await self._q.execute(command, SharedGroup)

    async def update_many(self, groups: Iterable[UpdateSharedGroup]) -> BatchReply:
        """Replace it of many; each reply in the reply is a `SharedGroup`."""
        return await batching.execute(self._q, _UPDATES.of, groups)

    async def delete(self, tenant: str, name: str) -> bool:
        """Delete a group with its members; tell whether there was one."""
        command = DeleteSharedGroup(tenant=tenant, name=name)
        return (await self._q.execute(command, DeleteSharedGroupReply)).deleted

    async def delete_many(self, groups: Iterable[DeleteSharedGroup]) -> BatchReply:
        """Delete many; each reply in the reply is a `DeleteSharedGroupReply`."""
        return await batching.execute(self._q, _DELETION.of, groups)

    async def join(self, member: JoinSharedGroup) -> SharedGroup:
        """Make a client a member, and return the group, which is made first if there is none."""
        return await self._q.execute(member, SharedGroup)

    async def join_many(self, members: Iterable[JoinSharedGroup]) -> BatchReply:
        """Make many clients members; each reply in the reply is a `SharedGroup`."""
        return await batching.execute(self._q, _JOINING.of, members)

    async def leave(self, member: LeaveSharedGroup) -> bool:
        """Let a member leave; tell whether it was one that this broker serves."""
        return (await self._q.execute(member, LeaveSharedGroupReply)).left

    async def leave_many(self, members: Iterable[LeaveSharedGroup]) -> BatchReply:
        """Let many members leave; each reply in the reply is a `LeaveSharedGroupReply`."""
        return await batching.execute(self._q, _LEAVING.of, members)

    async def get(self, tenant: str, name: str) -> KeyedSharedGroup | None:
        """Return a group; None if there is none."""
        return await reading.get(
            self._q,
            f"{_SERVICE}Get",
            GetSharedGroupRequest(tenant=tenant, name=name),
            KeyedSharedGroup,
            shard_key=tenant_shard(tenant),
        )

    async def list(
        self, request: ListSharedGroupsRequest
    ) -> AsyncGenerator[KeyedSharedGroup, None]:
        """Yield the groups that fit, in the order of tenants and names."""
        async for group in _GROUPS.read(self._q, request):
            yield group

    async def members(
        self, request: ListSharedGroupMembersRequest
    ) -> AsyncGenerator[KeyedSharedGroupMember, None]:
        """Yield the members that fit, in the order of tenants, groups, clients and filters."""
        async for member in _MEMBERS.read(self._q, request):
            yield member


class SyncSharedGroups(Blocking[SharedGroups]):
    """The same, without `await`."""

    create = blocking(SharedGroups.create)
    create_many = blocking(SharedGroups.create_many)
    update = blocking(SharedGroups.update)
    update_many = blocking(SharedGroups.update_many)
    delete = blocking(SharedGroups.delete)
    delete_many = blocking(SharedGroups.delete_many)
    join = blocking(SharedGroups.join)
    join_many = blocking(SharedGroups.join_many)
    leave = blocking(SharedGroups.leave)
    leave_many = blocking(SharedGroups.leave_many)
    get = blocking(SharedGroups.get)
    list = iterating(SharedGroups.list)
    members = iterating(SharedGroups.members)
