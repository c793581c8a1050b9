"""The methods of the service that are not derived: reads with conditions of their own."""

from __future__ import annotations

from typing import Final, Protocol

from quorate.plugin import Consistency, Invalid, NodeApi, Rejected

from quorate_storage_engine.config import StorageEngineConfig
from quorate_storage_engine.leadership.controllers import move_leaders
from quorate_storage_engine.v1.commands_pb2 import ShardState
from quorate_storage_engine.v1.queries_pb2 import (
    EngineState,
    GetSegmentsQuery,
    GetShardQuery,
    ListDropsQuery,
    ListEnginesQuery,
    ListSegmentsQuery,
    ListShardsQuery,
    SegmentId,
)
from quorate_storage_engine.v1.rows_pb2 import Drop, Segment, Shard
from quorate_storage_engine.v1.service_pb2 import (
    BalanceLeadersRequest,
    BalanceLeadersResponse,
    GetSegmentsRequest,
    GetSegmentsResponse,
    GetShardRequest,
    ListDropsRequest,
    ListDropsResponse,
    ListEnginesRequest,
    ListEnginesResponse,
    ListSegmentsRequest,
    ListSegmentsResponse,
    ListShardsRequest,
    ListShardsResponse,
)
from quorate_storage_engine.validation import LONGEST_TOPIC, check_text, check_wanted

PAGE_SIZE: Final = 100
LARGEST_PAGE: Final = 1_000


class Reading(Protocol):
    """A request that says how new its answer has to be."""

    @property
    def stale(self) -> bool:
        """Any replica answers, as of what it has applied."""


class EngineReads:
    """Reads engine shards on every node, whether it holds a replica of their rows or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def GetShard(self, request: GetShardRequest, context: object) -> ShardState:
        """Read one shard with its active segment."""
        check_text("name", request.name)
        found = self._node.query(
            GetShardQuery(name=request.name),
            ShardState,
            consistency=_consistency(request),
            min_revision=request.min_revision,
        )
        async for state in found:
            return state
        raise Rejected("SHARD_NOT_FOUND", f"there is no engine shard {request.name}")

    async def ListShards(self, request: ListShardsRequest, context: object) -> ListShardsResponse:
        """List a page of the shards that fit."""
        for field in ("name_prefix", "tenant", "page_token"):
            check_wanted(field, getattr(request, field))
        check_wanted("topic", request.topic, LONGEST_TOPIC)
        size = _page_size(request.page_size)
        query = ListShardsQuery(
            name_prefix=request.name_prefix,
            tenant=request.tenant,
            topic=request.topic,
            after_name=request.page_token,
            limit=size + 1,
        )
        answers = self._node.query(
            query, Shard, consistency=_consistency(request), min_revision=request.min_revision
        )
        found = [shard async for shard in answers]
        more = len(found) > size
        return ListShardsResponse(
            shards=found[:size], next_page_token=found[size - 1].name if more else ""
        )

    async def GetSegments(
        self, request: GetSegmentsRequest, context: object
    ) -> GetSegmentsResponse:
        """Read the named segments that are there."""
        if len(request.segments) > LARGEST_PAGE:
            raise Invalid("segments", f"must hold at most {LARGEST_PAGE}; ask several times")
        for position, wanted in enumerate(request.segments):
            check_text(f"segments[{position}].shard", wanted.shard)
        answers = self._node.query(
            GetSegmentsQuery(segments=request.segments),
            Segment,
            consistency=_consistency(request),
            min_revision=request.min_revision,
        )
        return GetSegmentsResponse(segments=[segment async for segment in answers])

    async def ListSegments(
        self, request: ListSegmentsRequest, context: object
    ) -> ListSegmentsResponse:
        """List a page of the segments that fit."""
        check_wanted("shard", request.shard)
        check_wanted("engine", request.engine)
        check_wanted("page_token.shard", request.page_token.shard)
        size = _page_size(request.page_size)
        query = ListSegmentsQuery(
            shard=request.shard,
            engine=request.engine,
            unavailable=request.unavailable,
            under_replicated=request.under_replicated,
            after=request.page_token,
            limit=size + 1,
        )
        answers = self._node.query(
            query, Segment, consistency=_consistency(request), min_revision=request.min_revision
        )
        found = [segment async for segment in answers]
        page = found[:size]
        following = None
        if len(found) > size:
            following = SegmentId(shard=page[-1].shard, segment=page[-1].number)
        return ListSegmentsResponse(segments=page, next_page_token=following)

    async def BalanceLeaders(
        self, request: BalanceLeadersRequest, context: object
    ) -> BalanceLeadersResponse:
        """Give leadership back to preferred leaders, or tell what that would move."""
        most = request.most_moves or self._node.config(StorageEngineConfig).balance_moves
        moves = await move_leaders(self._node, min(most, LARGEST_PAGE), dry_run=request.dry_run)
        return BalanceLeadersResponse(moves=moves)

    async def ListEngines(
        self, request: ListEnginesRequest, context: object
    ) -> ListEnginesResponse:
        """List a page of the engines, with what they carry."""
        check_wanted("page_token", request.page_token)
        size = _page_size(request.page_size)
        answers = self._node.query(
            ListEnginesQuery(after_name=request.page_token, limit=size + 1),
            EngineState,
            consistency=_consistency(request),
            min_revision=request.min_revision,
        )
        found = [engine async for engine in answers]
        more = len(found) > size
        return ListEnginesResponse(
            engines=found[:size], next_page_token=found[size - 1].engine.name if more else ""
        )

    async def ListDrops(self, request: ListDropsRequest, context: object) -> ListDropsResponse:
        """List a page of what engines are asked to drop."""
        check_wanted("engine", request.engine)
        check_wanted("page_token.engine", request.page_token.engine)
        size = _page_size(request.page_size)
        query = ListDropsQuery(
            engine=request.engine,
            older_than_ms=request.older_than_ms,
            after=request.page_token,
            limit=size + 1,
        )
        answers = self._node.query(
            query, Drop, consistency=_consistency(request), min_revision=request.min_revision
        )
        found = [drop async for drop in answers]
        page = found[:size]
        following = page[-1] if len(found) > size else None
        return ListDropsResponse(drops=page, next_page_token=following)


def _page_size(asked: int) -> int:
    return min(asked or PAGE_SIZE, LARGEST_PAGE)


def _consistency(request: Reading) -> Consistency:
    return "stale" if request.stale else "linearizable"
