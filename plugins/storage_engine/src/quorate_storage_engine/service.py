"""The methods of the service that are not derived: reads with their own filters."""

from __future__ import annotations

from typing import Any, Final, TypeVar

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


class EngineReads:
    """Serves reads of engine shards on every node, with or without a replica of their rows."""

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
        query = asked.ListShardsQuery(
            name_prefix=request.name_prefix,
            tenant=request.tenant,
            topic=request.topic,
            after_name=request.page_token,
        )
        page, last = await self._page(request, query, rows.Shard)
        return requests.ListShardsResponse(shards=page, next_page_token=last.name if last else "")

    async def GetSegments(
        self, request: requests.GetSegmentsRequest, context: object
    ) -> requests.GetSegmentsResponse:
        """Read the existing segments among the named ones."""
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
        query = asked.ListSegmentsQuery(
            shard=request.shard,
            engine=request.engine,
            unavailable=request.unavailable,
            under_replicated=request.under_replicated,
            after=request.page_token,
        )
        page, last = await self._page(request, query, rows.Segment)
        token = asked.SegmentId(shard=last.shard, segment=last.number) if last else None
        return requests.ListSegmentsResponse(segments=page, next_page_token=token)

    async def BalanceLeaders(
        self, request: requests.BalanceLeadersRequest, context: object
    ) -> requests.BalanceLeadersResponse:
        """Give leadership back to preferred leaders; a dry run only returns the moves."""
        most = request.most_moves or self._node.config(StorageEngineConfig).balance_moves
        moves = await move_leaders(self._node, min(most, LARGEST_PAGE), dry_run=request.dry_run)
        return requests.BalanceLeadersResponse(moves=moves)

    async def ListEngines(
        self, request: requests.ListEnginesRequest, context: object
    ) -> requests.ListEnginesResponse:
        """List a page of the engines, with their load."""
        check_wanted("page_token", request.page_token)
        query = asked.ListEnginesQuery(after_name=request.page_token)
        page, last = await self._page(request, query, asked.EngineState)
        token = last.engine.name if last else ""
        return requests.ListEnginesResponse(engines=page, next_page_token=token)

    async def ListDrops(
        self, request: requests.ListDropsRequest, context: object
    ) -> requests.ListDropsResponse:
        """List a page of the drops requested of engines."""
        check_wanted("engine", request.engine)
        check_wanted("page_token.engine", request.page_token.engine)
        query = asked.ListDropsQuery(
            engine=request.engine, older_than_ms=request.older_than_ms, after=request.page_token
        )
        page, last = await self._page(request, query, rows.Drop)
        return requests.ListDropsResponse(drops=page, next_page_token=last)

    async def _page(self, request: Any, query: Any, kind: type[R]) -> tuple[list[R], R | None]:
        """Read a page, and return it with its last row if more rows follow."""
        size = min(request.page_size or PAGE, LARGEST_PAGE)
        query.limit = size + 1
        found = await self._read(request, query, kind)
        return found[:size], found[size - 1] if len(found) > size else None

    async def _read(self, request: Any, query: Message, kind: type[R]) -> list[R]:
        answers = self._node.query(
            query,
            kind,
            consistency="stale" if request.stale else "linearizable",
            min_revision=request.min_revision,
        )
        return [found async for found in answers]
