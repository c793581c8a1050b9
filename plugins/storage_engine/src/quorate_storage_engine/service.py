"""The methods of the service that are not derived: reads with conditions of their own."""

from __future__ import annotations

from typing import Final, Protocol, TypeVar

from google.protobuf.message import Message
from quorate.plugin import Invalid, NodeApi, Rejected
from quorate.plugin.checking import LARGEST_PAGE, PAGE

from quorate_storage_engine.config import StorageEngineConfig
from quorate_storage_engine.leadership.controllers import move_leaders
from quorate_storage_engine.v1 import (
    commands_pb2 as pb,
    queries_pb2 as asked,
    rows_pb2 as rows,
    service_pb2 as requests,
)
from quorate_storage_engine.validation import LONGEST_TOPIC, check_text, check_wanted

R = TypeVar("R", bound=Message)


class Reading(Protocol):
    """A request that says how new its answer has to be."""

    @property
    def stale(self) -> bool:
        """Any replica answers, as of what it has applied."""

    @property
    def min_revision(self) -> int:
        """The answer is at least as new as this."""


class EngineReads:
    """Reads engine shards on every node, whether it holds a replica of their rows or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def GetShard(self, request: requests.GetShardRequest, context: object) -> pb.ShardState:
        """Read one shard with its active segment."""
        check_text("name", request.name)
        for state in await self._read(
            request, asked.GetShardQuery(name=request.name), pb.ShardState
        ):
            return state
        raise Rejected("SHARD_NOT_FOUND", f"there is no engine shard {request.name}")

    async def ListShards(
        self, request: requests.ListShardsRequest, context: object
    ) -> requests.ListShardsResponse:
        """List a page of the shards that fit."""
        for field in ("name_prefix", "tenant", "page_token"):
            check_wanted(field, getattr(request, field))
        check_wanted("topic", request.topic, LONGEST_TOPIC)
        size = _page_size(request.page_size)
        query = asked.ListShardsQuery(
            name_prefix=request.name_prefix,
            tenant=request.tenant,
            topic=request.topic,
            after_name=request.page_token,
            limit=size + 1,
        )
        found = await self._read(request, query, rows.Shard)
        more = len(found) > size
        return requests.ListShardsResponse(
            shards=found[:size], next_page_token=found[size - 1].name if more else ""
        )

    async def GetSegments(
        self, request: requests.GetSegmentsRequest, context: object
    ) -> requests.GetSegmentsResponse:
        """Read the named segments that are there."""
        if len(request.segments) > LARGEST_PAGE:
            raise Invalid("segments", f"must hold at most {LARGEST_PAGE}; ask several times")
        for position, wanted in enumerate(request.segments):
            check_text(f"segments[{position}].shard", wanted.shard)
        query = asked.GetSegmentsQuery(segments=request.segments)
        found = await self._read(request, query, rows.Segment)
        return requests.GetSegmentsResponse(segments=found)

    async def ListSegments(
        self, request: requests.ListSegmentsRequest, context: object
    ) -> requests.ListSegmentsResponse:
        """List a page of the segments that fit."""
        check_wanted("shard", request.shard)
        check_wanted("engine", request.engine)
        check_wanted("page_token.shard", request.page_token.shard)
        size = _page_size(request.page_size)
        query = asked.ListSegmentsQuery(
            shard=request.shard,
            engine=request.engine,
            unavailable=request.unavailable,
            under_replicated=request.under_replicated,
            after=request.page_token,
            limit=size + 1,
        )
        found = await self._read(request, query, rows.Segment)
        page = found[:size]
        following = None
        if len(found) > size:
            following = asked.SegmentId(shard=page[-1].shard, segment=page[-1].number)
        return requests.ListSegmentsResponse(segments=page, next_page_token=following)

    async def BalanceLeaders(
        self, request: requests.BalanceLeadersRequest, context: object
    ) -> requests.BalanceLeadersResponse:
        """Give leadership back to preferred leaders, or tell what that would move."""
        most = request.most_moves or self._node.config(StorageEngineConfig).balance_moves
        moves = await move_leaders(self._node, min(most, LARGEST_PAGE), dry_run=request.dry_run)
        return requests.BalanceLeadersResponse(moves=moves)

    async def ListEngines(
        self, request: requests.ListEnginesRequest, context: object
    ) -> requests.ListEnginesResponse:
        """List a page of the engines, with what they carry."""
        check_wanted("page_token", request.page_token)
        size = _page_size(request.page_size)
        query = asked.ListEnginesQuery(after_name=request.page_token, limit=size + 1)
        found = await self._read(request, query, asked.EngineState)
        more = len(found) > size
        return requests.ListEnginesResponse(
            engines=found[:size], next_page_token=found[size - 1].engine.name if more else ""
        )

    async def ListDrops(
        self, request: requests.ListDropsRequest, context: object
    ) -> requests.ListDropsResponse:
        """List a page of what engines are asked to drop."""
        check_wanted("engine", request.engine)
        check_wanted("page_token.engine", request.page_token.engine)
        size = _page_size(request.page_size)
        query = asked.ListDropsQuery(
            engine=request.engine,
            older_than_ms=request.older_than_ms,
            after=request.page_token,
            limit=size + 1,
        )
        found = await self._read(request, query, rows.Drop)
        following = found[size - 1] if len(found) > size else None
        return requests.ListDropsResponse(drops=found[:size], next_page_token=following)

    async def _read(self, request: Reading, query: Message, kind: type[R]) -> list[R]:
        answers = self._node.query(
            query,
            kind,
            consistency="stale" if request.stale else "linearizable",
            min_revision=request.min_revision,
        )
        return [found async for found in answers]


def _page_size(wanted: int) -> int:
    return min(wanted or PAGE, LARGEST_PAGE)
