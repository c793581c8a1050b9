"""Groups of shared subscriptions: who belongs to each, and which broker leads it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Any, Final

from quorate.client import AsyncClient, Blocking, Records, blocking, iterating
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.shared_groups.resource import SHARED_GROUP, SHARED_GROUP_MEMBER
from quorate_mqtt.v1 import shared_groups_pb2 as pb


class SharedGroups:
    """Writes and reads groups and their members.

    The reply to many items names those that were refused by their positions.
    """

    def __init__(self, q: AsyncClient) -> None:
        self._groups: Final[Records[Any]] = q.records(SHARED_GROUP)
        self._members: Final[Records[Any]] = q.records(SHARED_GROUP_MEMBER)

    async def create(self, tenant: str, name: str, *, parameters: bytes = b"") -> pb.SharedGroup:
        """Return a group, and create it first if there is none."""
        command = pb.CreateSharedGroup(tenant=tenant, name=name, parameters=parameters)
        group: pb.SharedGroup = await self._groups.do("Create", command)
        return group

    async def create_many(self, groups: Iterable[pb.CreateSharedGroup]) -> BatchReply:
        """Create those of many that are not there; each is answered with a `SharedGroup`."""
        reply: BatchReply = await self._groups.do("Create", groups)
        return reply

    async def update(self, tenant: str, name: str, parameters: bytes) -> pb.SharedGroup:
        """Replace what the brokers keep with a group; NOT_FOUND if there is none."""
        command = pb.UpdateSharedGroup(tenant=tenant, name=name, parameters=parameters)
        group: pb.SharedGroup = await self._groups.do("Update", command)
        return group

    async def update_many(self, groups: Iterable[pb.UpdateSharedGroup]) -> BatchReply:
        """Replace it of many; each is answered with a `SharedGroup`."""
        reply: BatchReply = await self._groups.do("Update", groups)
        return reply

    async def delete(self, tenant: str, name: str) -> bool:
        """Delete a group with its members; tell whether there was one."""
        reply: pb.DeleteSharedGroupReply | None = await self._groups.delete(tenant, name)
        return reply is not None and reply.deleted

    async def delete_many(self, groups: Iterable[pb.DeleteSharedGroup]) -> BatchReply:
        """Delete many; each is answered with a `DeleteSharedGroupReply`."""
        reply: BatchReply = await self._groups.do("Delete", groups)
        return reply

    async def join(self, member: pb.JoinSharedGroup) -> pb.SharedGroup:
        """Make a client a member, and return the group, which is created if there is none."""
        group: pb.SharedGroup = await self._members.do("Join", member)
        return group

    async def join_many(self, members: Iterable[pb.JoinSharedGroup]) -> BatchReply:
        """Make many clients members; each is answered with a `SharedGroup`."""
        reply: BatchReply = await self._members.do("Join", members)
        return reply

    async def leave(self, member: pb.LeaveSharedGroup) -> bool:
        """Let a member leave; tell whether it was one that this broker serves."""
        reply: pb.LeaveSharedGroupReply | None = await self._members.do("Leave", member)
        return reply is not None and reply.left

    async def leave_many(self, members: Iterable[pb.LeaveSharedGroup]) -> BatchReply:
        """Let many members leave; each is answered with a `LeaveSharedGroupReply`."""
        reply: BatchReply = await self._members.do("Leave", members)
        return reply

    async def get(self, *key: Any) -> Any:
        """Return the `KeyedSharedGroup` of a tenant and a name, or None; of a list a list."""
        return await self._groups.get(*key)

    async def list(self, /, **conditions: Any) -> AsyncGenerator[pb.KeyedSharedGroup, None]:
        """Yield groups in the order of tenants and names; `conditions` as in `Records.list`."""
        async for group in self._groups.list(**conditions):
            yield group

    async def members(
        self, /, **conditions: Any
    ) -> AsyncGenerator[pb.KeyedSharedGroupMember, None]:
        """Yield members in the order of tenants, groups, clients and filters, likewise."""
        async for member in self._members.list(**conditions):
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
