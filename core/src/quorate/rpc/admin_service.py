"""What operators ask of a node, and what they have it do."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Final, Protocol

from quorate.groups.snapshots.parts import BackupError, FilePart
from quorate.plugin import Invalid, Rejected
from quorate.plugin.shard_id import ShardId
from quorate.rpc import deadline
from quorate.rpc.server import RpcServer
from quorate.v1 import admin_pb2

SERVICE: Final = admin_pb2.DESCRIPTOR.services_by_name["AdminService"]
#: What is answered whatever the node is doing.
ALWAYS: Final = (f"{SERVICE.full_name}/Topology", f"{SERVICE.full_name}/Status")

#: No name of a node or a controller is longer, nor is an address.
_LONGEST_TEXT: Final = 512
#: How long a transfer may take whose caller sets no deadline.
_TRANSFER_S: Final = 10.0


class Reports(Protocol):
    """Says what the node knows and does."""

    def topology(self) -> admin_pb2.TopologyResponse:
        """Return where the shards of the cluster are."""

    def status(self) -> admin_pb2.NodeStatusResponse:
        """Return what this node is doing."""


class Controllers(Protocol):
    """The controllers of this node; raises `LookupError` for others."""

    def pause(self, name: str) -> None:
        """Begin no run any more."""

    def resume(self, name: str) -> None:
        """Run again."""


class Members(Protocol):
    """Changes who belongs to the cluster; either goes on with what was begun before."""

    def add(self, node: str, address: str) -> AsyncIterator[admin_pb2.MemberProgress]:
        """Make a node that is running a member of every shard."""

    def remove(self, node: str, *, force: bool = False) -> AsyncIterator[admin_pb2.MemberProgress]:
        """Take a node out of every shard."""


#: Hands a shard that this node leads to a node; raises what it is refused with.
Transfer = Callable[[ShardId, str, float], Awaitable[None]]
#: Begins a shard anew, and returns how often that was done with it.
Recover = Callable[[ShardId, admin_pb2.RecoverShardRequest], Awaitable[int]]


class Purge(Protocol):
    """Deletes or counts the rows of a plugin; raises what it is refused with."""

    def __call__(self, plugin: str, *, count_only: bool) -> AsyncIterator[admin_pb2.PurgedRows]:
        """Yield what was deleted, or counted, step by step."""


#: Yields a backup of this node.
BackUp = Callable[[], AsyncGenerator[FilePart, None]]


class AdminService:
    """Reads the requests, and asks the parts of the node for what they say."""

    def __init__(
        self,
        reports: Reports,
        controllers: Controllers,
        transfer: Transfer,
        back_up: BackUp,
        members: Members,
        recover: Recover,
        purge: Purge,
    ) -> None:
        self._reports: Final = reports
        self._controllers: Final = controllers
        self._transfer: Final = transfer
        self._back_up: Final = back_up
        self._members: Final = members
        self._recover: Final = recover
        self._purge: Final = purge

    def add_to(self, server: RpcServer) -> None:
        """Serve it."""
        server.add(SERVICE, self)

    async def Topology(
        self, request: admin_pb2.TopologyRequest, context: object
    ) -> admin_pb2.TopologyResponse:
        """Return where the shards are, as far as this node knows."""
        return self._reports.topology()

    async def Status(
        self, request: admin_pb2.NodeStatusRequest, context: object
    ) -> admin_pb2.NodeStatusResponse:
        """Return what this node is doing."""
        return self._reports.status()

    async def TransferLeader(
        self, request: admin_pb2.TransferLeaderRequest, context: object
    ) -> admin_pb2.TransferLeaderResponse:
        """Answer once the node that was named leads the shard."""
        shard = _shard(request.shard)
        _demand("node", request.node)
        remaining_s = deadline.remaining_s()
        timeout_s = _TRANSFER_S if remaining_s is None else remaining_s
        await self._transfer(shard, request.node, timeout_s)
        return admin_pb2.TransferLeaderResponse()

    async def AddMember(
        self, request: admin_pb2.AddMemberRequest, context: object
    ) -> AsyncIterator[admin_pb2.MemberProgress]:
        """Add a node, and report each step."""
        _demand("node", request.node)
        _demand("address", request.address)
        async for progress in self._members.add(request.node, request.address):
            yield progress

    async def RemoveMember(
        self, request: admin_pb2.RemoveMemberRequest, context: object
    ) -> AsyncIterator[admin_pb2.MemberProgress]:
        """Remove a node, and report each step."""
        _demand("node", request.node)
        async for progress in self._members.remove(request.node, force=request.force):
            yield progress

    async def RecoverShard(
        self, request: admin_pb2.RecoverShardRequest, context: object
    ) -> admin_pb2.RecoverShardResponse:
        """Begin a shard anew; its nodes do so by themselves."""
        shard = _shard(request.shard)
        _demand("node", request.node)
        return admin_pb2.RecoverShardResponse(epoch=await self._recover(shard, request))

    async def PurgePlugin(
        self, request: admin_pb2.PurgePluginRequest, context: object
    ) -> AsyncIterator[admin_pb2.PurgedRows]:
        """Delete the rows of a plugin that is not served, or count them, and return how many."""
        _demand("plugin", request.plugin)
        async for rows in self._purge(request.plugin, count_only=request.count_only):
            yield rows

    async def PauseController(
        self, request: admin_pb2.PauseControllerRequest, context: object
    ) -> admin_pb2.PauseControllerResponse:
        """Keep a controller from running here."""
        _demand("name", request.name)
        _act_on(self._controllers.pause, request.name)
        return admin_pb2.PauseControllerResponse()

    async def ResumeController(
        self, request: admin_pb2.ResumeControllerRequest, context: object
    ) -> admin_pb2.ResumeControllerResponse:
        """Let a controller run here again."""
        _demand("name", request.name)
        _act_on(self._controllers.resume, request.name)
        return admin_pb2.ResumeControllerResponse()

    async def Backup(
        self, request: admin_pb2.BackupRequest, context: object
    ) -> AsyncIterator[admin_pb2.BackupPart]:
        """Send a copy of every shard of this node."""
        try:
            async with aclosing(self._back_up()) as parts:
                async for part in parts:
                    yield admin_pb2.BackupPart(
                        path=part.path, offset=part.offset, content=part.content, size=part.size
                    )
        except BackupError as error:
            raise Rejected("FAILED_PRECONDITION", str(error)) from error


def _shard(text: str) -> ShardId:
    try:
        return ShardId.parse(text)
    except ValueError as error:
        raise Invalid("shard", str(error)) from None


def _demand(field: str, value: str) -> None:
    if not value:
        raise Invalid(field, "it is missing")
    if len(value) > _LONGEST_TEXT:
        raise Invalid(field, f"must have at most {_LONGEST_TEXT} characters, not {len(value)}")


def _act_on(act: Callable[[str], None], name: str) -> None:
    try:
        act(name)
    except LookupError as error:
        raise Invalid("name", str(error)) from None
