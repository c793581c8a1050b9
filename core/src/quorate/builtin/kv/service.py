"""The gRPC service: each call becomes a command or a query.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from quorate.builtin.kv.queries import LARGEST_PAGE, PAGE_BYTES
from quorate.builtin.kv.validation import check_key, check_keys, check_list
from quorate.plugin import Answers, Consistency, GrpcService, NodeApi
from quorate.v1 import kv_pb2_grpc
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.kv_pb2 import (
    CommitPairs,
    CommitPairsBatch,
    CommitPairsReply,
    DeletePair,
    DeletePairReply,
    DeletePairs,
    ExistPairsResponse,
    ExistsPairResponse,
    GetPair,
    GetPairRequest,
    GetPairResponse,
    GetPairs,
    GetPairsRequest,
    GetPairsResponse,
    KeyedPair,
    ListedPair,
    ListPairs,
    ListPairsRequest,
    ListPairsResponse,
    PutPair,
    PutPairReply,
    PutPairs,
    TouchPair,
    TouchPairReply,
    TouchPairs,
)


class KvServicer(kv_pb2_grpc.KvServiceServicer):
    """Serves pairs on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Put(self, request: PutPair, context: object) -> PutPairReply:
        """Write a pair."""
        return await self._node.propose(request, PutPairReply)

    async def PutBatch(self, request: PutPairs, context: object) -> BatchReply:
        """Write many pairs in one proposal a shard."""
        return await self._node.propose(request, BatchReply)

    async def Delete(self, request: DeletePair, context: object) -> DeletePairReply:
        """Delete a pair."""
        return await self._node.propose(request, DeletePairReply)

    async def DeleteBatch(self, request: DeletePairs, context: object) -> BatchReply:
        """Delete many pairs in one proposal a shard."""
        return await self._node.propose(request, BatchReply)

    async def Touch(self, request: TouchPair, context: object) -> TouchPairReply:
        """Start a pair's time to live anew."""
        return await self._node.propose(request, TouchPairReply)

    async def TouchBatch(self, request: TouchPairs, context: object) -> BatchReply:
        """Start the time to live of many pairs anew in one proposal a shard."""
        return await self._node.propose(request, BatchReply)

    async def Commit(self, request: CommitPairs, context: object) -> CommitPairsReply:
        """Carry out a transaction."""
        return await self._node.propose(request, CommitPairsReply)

    async def CommitBatch(self, request: CommitPairsBatch, context: object) -> BatchReply:
        """Carry out many transactions in one proposal a shard."""
        return await self._node.propose(request, BatchReply)

    async def Get(self, request: GetPairRequest, context: object) -> GetPairResponse:
        """Read a pair."""
        found = await self._pair(request, keys_only=False)
        return GetPairResponse(pair=_first(found), age_ms=found.age_ms)

    async def GetBatch(self, request: GetPairsRequest, context: object) -> GetPairsResponse:
        """Read many pairs, in the order of the request."""
        found = await self._pairs(request, keys_only=False)
        pairs = {pair.key: pair for pair in found.rows}
        response = GetPairsResponse(age_ms=found.age_ms)
        for key in request.keys:
            # Built in its place: a message that is put into another one is copied.
            each, pair = response.responses.add(), pairs.get(key)
            if pair is not None:
                each.pair.CopyFrom(pair)
        return response

    async def Exists(self, request: GetPairRequest, context: object) -> ExistsPairResponse:
        """Tell whether there is a pair."""
        found = await self._pair(request, keys_only=True)
        return ExistsPairResponse(exists=bool(found.rows), age_ms=found.age_ms)

    async def ExistsBatch(self, request: GetPairsRequest, context: object) -> ExistPairsResponse:
        """Tell which pairs there are, in the order of the request."""
        found = await self._pairs(request, keys_only=True)
        there = {pair.key for pair in found.rows}
        return ExistPairsResponse(exist=[key in there for key in request.keys], age_ms=found.age_ms)

    async def List(self, request: ListPairsRequest, context: object) -> ListPairsResponse:
        """List a page of pairs."""
        check_list(request)
        return await self._page(request, request.page_token)

    async def StreamList(
        self, request: ListPairsRequest, context: object
    ) -> AsyncIterator[ListPairsResponse]:
        """List page by page, to the end."""
        check_list(request)
        page = await self._page(request, request.page_token)
        yield page
        while page.next_page_token:
            page = await self._page(request, page.next_page_token)
            yield page

    async def _pair(self, request: GetPairRequest, *, keys_only: bool) -> Answers[KeyedPair]:
        check_key(request.key)
        query = GetPair(key=request.key, keys_only=keys_only)
        return await self._node.read(
            query,
            KeyedPair,
            consistency=_consistency(request),
            min_revision=request.min_revision,
        )

    async def _pairs(self, request: GetPairsRequest, *, keys_only: bool) -> Answers[KeyedPair]:
        check_keys(request.keys)
        query = GetPairs(keys=request.keys, keys_only=keys_only)
        return await self._node.read(
            query,
            KeyedPair,
            consistency=_consistency(request),
            min_revision=request.min_revision,
        )

    async def _page(self, request: ListPairsRequest, after: bytes) -> ListPairsResponse:
        limit = min(request.page_size or LARGEST_PAGE, LARGEST_PAGE)
        query = ListPairs(
            prefix=request.prefix,
            start=request.start,
            end=request.end,
            after=after,
            limit=limit,
            keys_only=request.keys_only,
        )
        found = await self._node.read(
            query,
            ListedPair,
            consistency=_consistency(request),
            min_revision=request.min_revision,
        )
        page = _page_of(found.rows, limit)
        page.age_ms = found.age_ms
        return page


def _first(found: Answers[KeyedPair]) -> KeyedPair | None:
    return found.rows[0] if found.rows else None


def _page_of(found: Sequence[ListedPair], limit: int) -> ListPairsResponse:
    """Return a page of what all shards gave.

    It ends where any shard has more to give: behind that, the others' pairs are not all there are.
    """
    page = ListPairsResponse()
    room = PAGE_BYTES
    for listed in found:
        if len(page.pairs) == limit or room <= 0:
            page.next_page_token = page.pairs[-1].key
            break
        page.pairs.append(listed.pair)
        room -= listed.pair.ByteSize()
        if listed.more:
            page.next_page_token = listed.pair.key
            break
    return page


def _consistency(request: GetPairRequest | GetPairsRequest | ListPairsRequest) -> Consistency:
    return "stale" if request.stale else "linearizable"


KV: Final = GrpcService(
    full_name="quorate.v1.KvService",
    add_to_server=kv_pb2_grpc.add_KvServiceServicer_to_server,
    servicer=KvServicer,
)
