"""The gRPC service of offsets, which turns each call into a command or a query.

`Invalid` and `Rejected` propagate: the host answers them with the status of their code.
"""

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Final, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Access, GrpcService, Metric, NodeApi, Rejected
from quorate.plugin.access import Place
from quorate.plugin.advanced import Answers
from quorate.plugin.singles import only_reply
from quorate.v1.batch_pb2 import BatchReply

from quorate_offset.answers import (
    PAGE_SIZE,
    after_token,
    consistency,
    cut,
    each_reply,
    oldest,
    read_groups,
)
from quorate_offset.families import of_group
from quorate_offset.offsets import validation
from quorate_offset.offsets.resets import read_sources, reset_of
from quorate_offset.v1 import commands_pb2 as pb, queries_pb2 as asked, service_pb2 as requests

M = TypeVar("M", bound=Message)

COMMITTED: Final = Metric(
    name="quorate_offset_commits_total",
    kind="counter",
    help="Offset commits through this node, by outcome.",
    labels=("outcome",),
)
ROWS_READ: Final = Metric(
    name="quorate_offset_sync_rows_read_total",
    kind="counter",
    help="Rows that shards read to answer ListChanges calls of this node.",
)
GROUPS_LISTED: Final = Metric(
    name="quorate_offset_sync_groups_total",
    kind="counter",
    help="Changed groups in the answers to ListChanges calls of this node.",
)


class OffsetService:
    """Serves offsets on every node, with or without a replica of the shard."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def CommitOffset(
        self, request: requests.CommitOffsetRequest, context: object
    ) -> requests.CommitOffsetResponse:
        """Commit one offset."""
        validation.check_commit(request)
        item = pb.GroupCommit(
            tenant=request.tenant,
            group=request.group,
            commits=[request.commit],
            mode=request.mode,
            generation=request.generation if request.HasField("generation") else None,
        )
        reply = await self._commit(requests.CommitOffsetsRequest(groups=[item]))
        for refusal in pb.GroupCommitReply.FromString(only_reply(reply)).refusals:
            raise Rejected(refusal.code, refusal.message)
        return requests.CommitOffsetResponse(revision=reply.revisions[0])

    async def CommitOffsets(
        self, request: requests.CommitOffsetsRequest, context: object
    ) -> requests.CommitOffsetsResponse:
        """Commit offsets of many groups, with one proposal per shard."""
        reply = await self._commit(request)
        response = requests.CommitOffsetsResponse(revisions=reply.revisions)
        for position, encoded in enumerate(reply.replies):
            # Most replies are empty: nothing was refused.
            for each in pb.GroupCommitReply.FromString(encoded).refusals if encoded else ():
                response.refusals.add(
                    group=position, commit=each.commit, code=each.code, message=each.message
                )
        for refusal in reply.refusals:
            response.refusals.add(group=refusal.item, code=refusal.code, message=refusal.message)
        if reply.refusals:
            response.refusals.sort(key=lambda refusal: (refusal.group, refusal.commit))
        return response

    async def FenceGroup(
        self, request: requests.FenceGroupRequest, context: object
    ) -> requests.FenceGroupResponse:
        """Fence one group."""
        validation.check_fence(request)
        fence = pb.GroupFence(
            tenant=request.tenant, group=request.group, generation=request.generation
        )
        reply = await self._node.propose(requests.FenceGroupsRequest(fences=[fence]), BatchReply)
        only_reply(reply)
        return requests.FenceGroupResponse(revision=reply.revisions[0])

    async def FenceGroups(
        self, request: requests.FenceGroupsRequest, context: object
    ) -> requests.FenceGroupsResponse:
        """Fence many groups."""
        reply = await self._node.propose(request, BatchReply)
        return requests.FenceGroupsResponse(refusals=reply.refusals, revisions=reply.revisions)

    async def ResetOffsets(
        self, request: requests.ResetOffsetsRequest, context: object
    ) -> requests.ResetOffsetsResponse:
        """Set offsets of many groups; offsets to copy from another group are read first."""
        validation.check_count("resets", request.resets)
        answer = BatchReply(items=len(request.resets))
        sources = await read_sources(self._node, request.resets)
        resets: dict[int, pb.OffsetReset] = {}
        refusals: dict[int, tuple[str, str]] = {}
        for position, each in enumerate(request.resets):
            try:
                resets[position] = reset_of(each, sources)
            except Rejected as refusal:
                refusals[position] = (refusal.code, refusal.message)
        changed = [0] * len(request.resets)
        if resets:
            command = pb.SetOffsets(resets=resets.values())
            answer = await self._node.propose(command, BatchReply)
            positions = list(resets)
            for position, reply in zip(
                positions, each_reply(answer, pb.OffsetsChanged), strict=True
            ):
                changed[position] = reply.offsets
            for refused in answer.refusals:
                refusals[positions[refused.item]] = (refused.code, refused.message)
        response = requests.ResetOffsetsResponse(offsets=changed, revisions=answer.revisions)
        for position, (code, message) in sorted(refusals.items()):
            response.refusals.add(item=position, code=code, message=message)
        return response

    async def DeleteOffsets(
        self, request: requests.DeleteOffsetsRequest, context: object
    ) -> requests.DeleteOffsetsResponse:
        """Delete offsets of many groups."""
        reply = await self._node.propose(request, BatchReply)
        return requests.DeleteOffsetsResponse(
            offsets=[each.offsets for each in each_reply(reply, pb.OffsetsChanged)],
            refusals=reply.refusals,
            revisions=reply.revisions,
        )

    async def FetchOffsets(
        self, request: requests.FetchOffsetsRequest, context: object
    ) -> requests.FetchOffsetsResponse:
        """Read offsets of one group."""
        validation.check_fetch(request)
        query = asked.FetchGroupQuery(
            tenant=request.tenant,
            group=request.group,
            partitions=request.partitions,
            topic=request.topic,
        )
        found = await self._read(
            query, asked.GroupOffsets, stale=request.stale, min_revision=request.min_revision
        )
        group = _joined(request.tenant, request.group, found.rows)
        return requests.FetchOffsetsResponse(group=group, age_ms=found.age_ms)

    async def FetchGroups(
        self, request: requests.FetchGroupsRequest, context: object
    ) -> requests.FetchGroupsResponse:
        """Read the offsets of many groups."""
        validation.check_fetch_groups(request)
        found = await read_groups(self._node, request.groups, stale=request.stale)
        response = requests.FetchGroupsResponse(age_ms=oldest(found.ages_ms))
        joined = {name: _joined(*name, parts) for name, parts in found.parts.items()}
        for position, each in enumerate(request.groups):
            name = (each.tenant, each.group)
            response.groups.append(joined.get(name) or _joined(*name, []))
            if (why := found.failures.get(position)) is not None:
                response.refusals.add(item=position, code=why.code, message=why.message)
        return response

    async def Lag(self, request: requests.LagRequest, context: object) -> requests.LagResponse:
        """Return the lag of a group behind the ends of partitions in the request."""
        validation.check_lag(request)
        query = asked.FetchGroupQuery(
            tenant=request.tenant,
            group=request.group,
            partitions=[
                asked.TopicPartition(topic=end.topic, partition=end.partition)
                for end in request.ends
            ],
        )
        found = await self._read(query, asked.GroupOffsets, stale=request.stale)
        stands = {
            (each.topic, each.partition): each.offset
            for part in found.rows
            for each in part.offsets
        }
        response = requests.LagResponse(age_ms=found.age_ms)
        for end in request.ends:
            offset = stands.get((end.topic, end.partition))
            lag = requests.PartitionLag(
                topic=end.topic,
                partition=end.partition,
                offset=offset,
                end_offset=end.offset,
                lag=max(0, end.offset - (offset or 0)),
            )
            response.partitions.append(lag)
            response.lag += lag.lag
        return response

    async def GetGroupState(
        self, request: requests.GetGroupStateRequest, context: object
    ) -> asked.GroupState:
        """Read the state of one group."""
        validation.check_group(request.tenant, request.group)
        query = asked.GetGroupStateQuery(tenant=request.tenant, group=request.group)
        found = await self._read(query, asked.GroupState, stale=request.stale)
        if not found.rows:
            raise Rejected("NOT_FOUND", f"tenant {request.tenant} has no group {request.group}")
        return found.rows[0]

    async def ListGroupStates(
        self, request: requests.ListGroupStatesRequest, context: object
    ) -> requests.ListGroupStatesResponse:
        """List a page of the states of groups."""
        validation.check_states(request)
        size = request.page_size or PAGE_SIZE
        query = asked.ListGroupStatesQuery(
            tenant=request.tenant,
            prefix=request.prefix,
            after=after_token(request.page_token),
            limit=size + 1,
        )
        found = await self._read(query, asked.GroupState, stale=request.stale)
        page, token = cut(found.rows, size)
        return requests.ListGroupStatesResponse(
            groups=page, next_page_token=token, age_ms=found.age_ms
        )

    async def ListChanges(
        self, request: requests.ListChangesRequest, context: object
    ) -> AsyncIterator[asked.ShardChanges]:
        """List the changes after a token, in one answer per shard."""
        validation.check_changes(request)
        query = asked.ListChangesQuery(since=request.since, limit=request.limit)
        since = {each.shard: each.revision for each in request.since}
        async for shard in self._node.read_shards(
            query, asked.ShardChanges, shards=request.shards or None
        ):
            if (why := shard.failure) is not None:
                yield asked.ShardChanges(
                    shard=shard.shard,
                    revision=since.get(shard.shard, 0),
                    code=why.code,
                    message=why.message,
                )
            for answer in shard.rows:
                self._node.count(ROWS_READ.name, answer.rows_read)
                self._node.count(GROUPS_LISTED.name, len(answer.changes))
                yield answer

    async def _commit(self, command: requests.CommitOffsetsRequest) -> BatchReply:
        reply = await self._node.propose(command, BatchReply)
        asked = sum(len(group.commits) for group in command.groups)
        refused = sum(len(command.groups[each.item].commits) for each in reply.refusals)
        refused += sum(
            len(pb.GroupCommitReply.FromString(each).refusals) for each in reply.replies if each
        )
        if refused:
            self._node.count(COMMITTED.name, refused, outcome="refused")
        self._node.count(COMMITTED.name, asked - refused, outcome="committed")
        return reply

    async def _read(
        self, query: Message, kind: type[M], *, stale: bool, min_revision: int = 0
    ) -> Answers[M]:
        return await self._node.read(
            query, kind, consistency=consistency(stale=stale), min_revision=min_revision
        )


def _joined(tenant: str, group: str, parts: Sequence[asked.GroupOffsets]) -> asked.GroupOffsets:
    """Return the offsets of a group in one message; without offsets if it does not exist."""
    if not parts:
        return asked.GroupOffsets(tenant=tenant, group=group)
    first, *others = parts
    for part in others:
        first.offsets.extend(part.offsets)
    return first


def _reset_groups(reset: requests.ResetRequest) -> Iterator[Place]:
    """Yield the groups that a reset accesses: the group itself, and the one it copies."""
    yield reset.tenant, reset.group
    if reset.HasField("to_group"):
        yield reset.tenant, reset.to_group.group


OFFSET: Final = GrpcService(
    service=requests.DESCRIPTOR.services_by_name["OffsetService"],
    servicer=OffsetService,
    access={
        **dict.fromkeys(("CommitOffset", "FenceGroup"), of_group("write")),
        "ResetOffsets": Access(right="write", items="resets", places=_reset_groups),
        **dict.fromkeys(("FetchOffsets", "Lag", "GetGroupState"), of_group("read")),
        "FetchGroups": of_group("read", items="groups"),
        "ListGroupStates": Access(right="read", tenant="tenant", key="prefix"),
        "ListChanges": Access(right="read"),
    },
)
