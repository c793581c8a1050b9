"""The gRPC service for operators: it reports on a node, and carries out operations."""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

from quorate.node.admin_rights import ACCESS, SERVICE
from quorate.node.leader_tasks import LeaderTasks
from quorate.node.members import Members
from quorate.node.placing import Placing
from quorate.node.status import NodeReports
from quorate.node.topology_feed import TopologyFeed
from quorate.node.upkeep import Backups, Upkeep
from quorate.observe.recorder import Recorder
from quorate.plugin import Invalid, Rejected
from quorate.plugin.access import OPERATIONS, denied, needed
from quorate.plugin.needs import needs_of_core
from quorate.rpc import callers, deadline
from quorate.rpc.command_service import LONGEST_FENCE
from quorate.rpc.forward_serving import parsed_shard
from quorate.rpc.server import RpcServer
from quorate.shards.routing.query_router import QueryRouter
from quorate.shards.routing.quotas import Quotas
from quorate.shards.snapshots.parts import BackupError
from quorate.topology.reshaping import Reshaping
from quorate.v1 import admin_pb2 as pb

T = TypeVar("T")

#: The longest name of a node or a controller, and the longest address.
_LONGEST_TEXT: Final = 512
#: Maximum number of records of the flight recorder in a message.
_RECORDS: Final = 1_000
#: Timeout of a transfer whose caller sets no deadline.
_TRANSFER_S: Final = 10.0


@dataclass(eq=False)
class AdminService:
    """Checks the requests, and passes them to the parts of the node."""

    _reports: NodeReports
    _leader_tasks: LeaderTasks
    _backups: Backups
    _members: Members
    _placing: Placing
    _splitting: Reshaping
    _upkeep: Upkeep
    #: Asks every node now, and returns the replicas of the nodes that answer.
    _ask_nodes: Callable[[], Awaitable[Mapping[str, int]]]
    _quotas: Quotas
    _feed: TopologyFeed
    _reads: QueryRouter
    #: Returns a filter for the rows of a family that the caller may read; None: all of them.
    _readable: Callable[[str], object | None]
    _recorder: Recorder | None

    def add_to(self, server: RpcServer) -> None:
        """Add the service to a server."""
        server.add(SERVICE, self, needs_of_core(SERVICE, ACCESS, OPERATIONS))

    async def Topology(self, request: pb.TopologyRequest, context: object) -> pb.TopologyResponse:
        """Return the places of the shards, as far as this node knows."""
        return self._reports.topology()

    def WatchTopology(
        self, request: pb.TopologyRequest, context: object
    ) -> AsyncIterator[pb.TopologyResponse]:
        """Yield the places of the shards, and then their changes."""
        return self._feed.follow()

    async def Status(self, request: pb.NodeStatusRequest, context: object) -> pb.NodeStatusResponse:
        """Return the status of this node."""
        return self._reports.status(replicas=not request.without_replicas)

    async def QuotaUsage(
        self, request: pb.QuotaUsageRequest, context: object
    ) -> pb.QuotaUsageResponse:
        """Return the usage of quotas by tenants and callers on this node."""
        uses = self._quotas.uses()
        return pb.QuotaUsageResponse(
            uses=(
                pb.QuotaUse(
                    kind=subject.kind,
                    name=subject.name,
                    quota=quota,
                    limit=most,
                    used=used,
                    refused=refused,
                )
                for subject, quota, most, used, refused in uses
                if request.kind in ("", subject.kind) and request.name in ("", subject.name)
            )
        )

    async def TransferLeader(
        self, request: pb.TransferLeaderRequest, context: object
    ) -> pb.TransferLeaderResponse:
        """Transfer a shard's leadership to a node, and answer once that node leads."""
        shard = parsed_shard(request.shard)
        _demand("node", request.node)
        within_s = deadline.within_s(_TRANSFER_S)
        await self._leader_tasks.transfer(shard, request.node, within_s)
        return pb.TransferLeaderResponse()

    async def MeetMember(
        self, request: pb.MeetMemberRequest, context: object
    ) -> pb.MeetMemberResponse:
        """Return the node that would replace a member."""
        _demand("node", request.node)
        _demand("address", request.address)
        return await self._members.look(request.node, request.address)

    def AddMember(
        self, request: pb.AddMemberRequest, context: object
    ) -> AsyncIterator[pb.MemberProgress]:
        """Add a node, and report each step."""
        _demand("node", request.node)
        _demand("address", request.address)
        return self._members.add(request.node, request.address)

    def RemoveMember(
        self, request: pb.RemoveMemberRequest, context: object
    ) -> AsyncIterator[pb.MemberProgress]:
        """Remove a node, and report each step."""
        _demand("node", request.node)
        return self._members.remove(request.node, force=request.force)

    async def DrainNode(
        self, request: pb.DrainNodeRequest, context: object
    ) -> pb.DrainNodeResponse:
        """Drain a node of replicas, or undo that."""
        _demand("node", request.node)
        return await self._placing.drain(request)

    async def MoveReplica(
        self, request: pb.MoveReplicaRequest, context: object
    ) -> pb.MoveReplicaResponse:
        """Begin to move a replica of a shard."""
        shard = parsed_shard(request.shard)
        _demand("source", request.source)
        _demand("target", request.target)
        await self._placing.move(request, shard)
        return pb.MoveReplicaResponse()

    async def SplitShard(
        self, request: pb.SplitShardRequest, context: object
    ) -> pb.SplitShardResponse:
        """Begin to split a shard."""
        shard = parsed_shard(request.shard)
        return await self._splitting.split(shard, request.into, check_only=request.check_only)

    async def CancelSplit(
        self, request: pb.CancelSplitRequest, context: object
    ) -> pb.CancelSplitResponse:
        """Cancel a split that has not cut its shard yet."""
        await self._splitting.cancel(parsed_shard(request.shard))
        return pb.CancelSplitResponse()

    async def MergeShards(
        self, request: pb.MergeShardsRequest, context: object
    ) -> pb.MergeShardsResponse:
        """Begin to merge two shards."""
        one, other = parsed_shard(request.shard), parsed_shard(request.other)
        return await self._splitting.merge(one, other, check_only=request.check_only)

    async def CancelMerge(
        self, request: pb.CancelMergeRequest, context: object
    ) -> pb.CancelMergeResponse:
        """Cancel a merge."""
        await self._splitting.cancel_merge(parsed_shard(request.shard))
        return pb.CancelMergeResponse()

    async def Placement(
        self, request: pb.PlacementRequest, context: object
    ) -> pb.PlacementResponse:
        """Return the places of replicas and the planned moves, as far as this node knows."""
        return await self._placing.show()

    async def RecoverShard(
        self, request: pb.RecoverShardRequest, context: object
    ) -> pb.RecoverShardResponse:
        """Recover a shard: record its new origin, from which its nodes rebuild it."""
        shard = parsed_shard(request.shard)
        _demand("node", request.node)
        return pb.RecoverShardResponse(epoch=await self._upkeep.recover(shard, request))

    def PurgePlugin(
        self, request: pb.PurgePluginRequest, context: object
    ) -> AsyncIterator[pb.PurgedRows]:
        """Delete or count the rows of a plugin that is not served, and yield their numbers."""
        _demand("plugin", request.plugin)
        return self._upkeep.purge(request.plugin, request.count_only)

    async def Levels(self, request: pb.LevelsRequest, context: object) -> pb.LevelsResponse:
        """Return the releases of the nodes, and the levels in force."""
        return self._reports.levels(await self._ask_nodes())

    async def FinishUpgrade(
        self, request: pb.FinishUpgradeRequest, context: object
    ) -> pb.FinishUpgradeResponse:
        """Raise the levels to the highest that all nodes can."""
        return pb.FinishUpgradeResponse(raised=await self._upkeep.finish_upgrade())

    async def ResetFences(
        self, request: pb.ResetFencesRequest, context: object
    ) -> pb.ResetFencesResponse:
        """Forget tokens of fences above a bound, such as ones larger than any that was issued."""
        if not 0 < len(request.prefix) <= LONGEST_FENCE:
            raise Invalid("prefix", f"must have 1 to {LONGEST_FENCE} bytes")
        forgotten = await self._upkeep.reset_fences(request.prefix, request.above)
        return pb.ResetFencesResponse(forgotten=forgotten)

    async def PauseController(
        self, request: pb.PauseControllerRequest, context: object
    ) -> pb.PauseControllerResponse:
        """Pause a controller on this node."""
        _demand("name", request.name)
        _act_on(self._leader_tasks.runner.pause, request.name)
        return pb.PauseControllerResponse()

    async def ResumeController(
        self, request: pb.ResumeControllerRequest, context: object
    ) -> pb.ResumeControllerResponse:
        """Resume a controller on this node."""
        _demand("name", request.name)
        _act_on(self._leader_tasks.runner.resume, request.name)
        return pb.ResumeControllerResponse()

    def Backup(self, request: pb.BackupRequest, context: object) -> AsyncIterator[pb.BackupPart]:
        """Send a copy of every shard of the cluster, or of some with a replica here."""
        only = []
        for position, each in enumerate(request.shards):
            try:
                only.append(parsed_shard(each))
            except Invalid as invalid:
                raise Invalid(f"shards[{position}]", invalid.reason) from None
        return _refusing(self._backups.back_up(only))

    def Entries(self, request: pb.EntriesRequest, context: object) -> AsyncIterator[pb.EntriesPart]:
        """Stream the applied entries of a replica on this node, and new ones."""
        return _refusing(self._backups.entries(parsed_shard(request.shard), request.after))

    async def ExplainKey(
        self, request: pb.ExplainKeyRequest, context: object
    ) -> pb.ExplainKeyResponse:
        """Return the stored state and history of a key."""
        try:
            may_not = self._readable(request.family) is not None
        except LookupError:
            may_not = False
        if may_not:
            raise denied(callers.caller().name, needed("read", request.family))
        try:
            found = await self._reads.read(
                request, pb.ExplainKeyResponse, timeout_s=deadline.remaining_s()
            )
        except LookupError as error:
            raise Invalid("family", str(error)) from None
        # Without a slot every shard of the group was asked.
        return max(found.rows, key=lambda each: (each.revision, len(each.changes)))

    async def Recorded(
        self, request: pb.RecordedRequest, context: object
    ) -> AsyncIterator[pb.RecordedPart]:
        """Send the records of the flight recorder that match."""
        if self._recorder is None:
            raise Rejected(
                "FAILED_PRECONDITION", "this node has no flight recorder; set recorder.bytes"
            )
        _limit("shard", request.shard)
        _limit("request", request.request)
        read = partial(
            self._recorder.read,
            kinds=request.kinds,
            shard=request.shard,
            request=request.request,
            index=request.index,
            last=request.last,
        )
        # Some hundred thousand records take a while.
        records = await asyncio.get_running_loop().run_in_executor(None, read)
        for first in range(0, max(1, len(records)), _RECORDS):
            part = records[first : first + _RECORDS]
            yield pb.RecordedPart(records=[json.dumps(each) for each in part])


async def _refusing(parts: AsyncGenerator[T, None]) -> AsyncGenerator[T, None]:
    """Yield the parts of a backup; its failure is a refusal."""
    try:
        async with aclosing(parts):
            async for part in parts:
                yield part
    except BackupError as error:
        raise Rejected("FAILED_PRECONDITION", str(error)) from error


def _demand(field: str, value: str) -> None:
    if not value:
        raise Invalid(field, "must not be empty")
    _limit(field, value)


def _limit(field: str, value: str) -> None:
    if len(value) > _LONGEST_TEXT:
        raise Invalid(field, f"must have at most {_LONGEST_TEXT} characters, not {len(value)}")


def _act_on(act: Callable[[str], None], name: str) -> None:
    try:
        act(name)
    except LookupError as error:
        raise Invalid("name", str(error)) from None
