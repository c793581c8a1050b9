"""The gRPC service: each call becomes a command or a query.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from collections.abc import AsyncIterator, Sequence
from typing import Final

from quorate.builtin.kv.queries import ABSENT, LARGEST_PAGE, MORE, PAGE_BYTES, listed_key
from quorate.builtin.kv.validation import check_key, check_keys, check_list
from quorate.plugin import Answers, Consistency, GrpcService, NodeApi
from quorate.v1 import kv_pb2
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


class KvServicer:
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

    async def Get(self, request: GetPairRequest, context: object) -> bytes:
        """Read a pair: a GetPairResponse."""
        found = await self._pair(request, keys_only=False)
        return _with_age(GetPairResponse, found)

    async def GetBatch(self, request: GetPairsRequest, context: object) -> bytes:
        """Read many pairs, in the order of the request: a GetPairsResponse."""
        found = await self._pairs(request, keys_only=False)
        return _with_age(GetPairsResponse, found)

    async def Exists(self, request: GetPairRequest, context: object) -> ExistsPairResponse:
        """Return whether there is a pair."""
        found = await self._pair(request, keys_only=True)
        return ExistsPairResponse(exists=bool(found.rows), age_ms=found.age_ms)

    async def ExistsBatch(self, request: GetPairsRequest, context: object) -> ExistPairsResponse:
        """Return whether each pair exists, in the order of the request."""
        found = await self._pairs(request, keys_only=True)
        return ExistPairsResponse(exist=[row != ABSENT for row in found.rows], age_ms=found.age_ms)

    async def List(self, request: ListPairsRequest, context: object) -> bytes:
        """List a page of pairs: a ListPairsResponse."""
        check_list(request)
        page, _ = await self._page(request, request.page_token)
        return page

    async def StreamList(self, request: ListPairsRequest, context: object) -> AsyncIterator[bytes]:
        """List page by page, to the end: ListPairsResponses."""
        check_list(request)
        page, token = await self._page(request, request.page_token)
        yield page
        while token:
            page, token = await self._page(request, token)
            yield page

    async def _pair(self, request: GetPairRequest, *, keys_only: bool) -> Answers[bytes]:
        check_key(request.key)
        query = GetPair(key=request.key, keys_only=keys_only)
        return await self._node.read(
            query,
            bytes,
            consistency=_consistency(request),
            min_revision=request.min_revision,
        )

    async def _pairs(self, request: GetPairsRequest, *, keys_only: bool) -> Answers[bytes]:
        check_keys(request.keys)
        query = GetPairs(keys=request.keys, keys_only=keys_only)
        return await self._node.read(
            query,
            bytes,
            consistency=_consistency(request),
            min_revision=request.min_revision,
        )

    async def _page(self, request: ListPairsRequest, after: bytes) -> tuple[bytes, bytes]:
        """Return the page after a key, and the token of the next one."""
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
            bytes,
            consistency=_consistency(request),
            min_revision=request.min_revision,
        )
        pairs, token = _page_of(found.rows, limit)
        end = ListPairsResponse(next_page_token=token, age_ms=found.age_ms)
        return b"".join((*pairs, end.SerializeToString())), token


def _page_of(found: Sequence[bytes], limit: int) -> tuple[list[bytes], bytes]:
    """Return a page of what all shards gave, and the token of the next one.

    It ends where any shard has more to give: after that, the others' pairs are not all there are.
    A ListPairsResponse has its pairs where a ListedPair has its one.
    """
    page: list[bytes] = []
    room = PAGE_BYTES
    for listed in found:
        if len(page) == limit or room <= 0:
            return page, listed_key(page[-1])
        more = listed.startswith(MORE)
        page.append(listed[len(MORE) :] if more else listed)
        room -= len(page[-1])
        if more:
            return page, listed_key(listed)
    return page, b""


def _with_age(response: type[GetPairResponse | GetPairsResponse], found: Answers[bytes]) -> bytes:
    """Return what is in all answers, and their age."""
    rows = found.rows
    if found.age_ms:
        rows = [*rows, response(age_ms=found.age_ms).SerializeToString()]
    return b"".join(rows)


def _consistency(request: GetPairRequest | GetPairsRequest | ListPairsRequest) -> Consistency:
    return "stale" if request.stale else "linearizable"


KV: Final = GrpcService(
    service=kv_pb2.DESCRIPTOR.services_by_name["KvService"],
    servicer=KvServicer,
)
