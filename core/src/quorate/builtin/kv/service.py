"""The gRPC service: each call becomes a command or a query.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Sequence
from typing import Any, Final

from google.protobuf.message import Message

from quorate.builtin.kv.families import PAIRS
from quorate.builtin.kv.queries import (
    ABSENT,
    LARGEST_PAGE,
    MORE,
    PAGE_BYTES,
    listed_key,
    response_in,
)
from quorate.builtin.kv.validation import check_key, check_keys, check_list
from quorate.plugin import Access, Consistency, GrpcService, NodeApi
from quorate.plugin.advanced import Answers
from quorate.v1 import kv_pb2, kv_pb2 as pb


async def _propose(servicer: KvServicer, request: Message, context: object) -> bytes:
    """Propose a request as it is, and answer with the reply as it is."""
    return await servicer._node.propose(request, bytes)


class KvServicer:
    """Serves pairs on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    Put = _propose
    PutBatch = _propose
    Delete = _propose
    DeleteBatch = _propose
    Touch = _propose
    TouchBatch = _propose
    Commit = _propose
    CommitBatch = _propose

    async def Get(self, request: pb.GetPairRequest, context: object) -> bytes:
        """Read a pair: a GetPairResponse."""
        found = await self._pair(request, keys_only=False)
        return _aged(pb.GetPairResponse, response_in(found.rows[0]), found.age_ms)

    async def GetBatch(self, request: pb.GetPairsRequest, context: object) -> bytes:
        """Read many pairs, in the order of the request: a GetPairsResponse."""
        found = await self._pairs(request, keys_only=False)
        return _aged(pb.GetPairsResponse, b"".join(found.rows), found.age_ms)

    async def Exists(self, request: pb.GetPairRequest, context: object) -> pb.ExistsPairResponse:
        """Return whether there is a pair."""
        found = await self._pair(request, keys_only=True)
        return pb.ExistsPairResponse(exists=found.rows[0] != ABSENT, age_ms=found.age_ms)

    async def ExistsBatch(
        self, request: pb.GetPairsRequest, context: object
    ) -> pb.ExistPairsResponse:
        """Return whether each pair exists, in the order of the request."""
        found = await self._pairs(request, keys_only=True)
        return pb.ExistPairsResponse(
            exist=[row != ABSENT for row in found.rows], age_ms=found.age_ms
        )

    async def List(self, request: pb.ListPairsRequest, context: object) -> bytes:
        """List a page of pairs: a ListPairsResponse."""
        check_list(request)
        page, _ = await self._page(request, request.page_token)
        return page

    async def StreamList(
        self, request: pb.ListPairsRequest, context: object
    ) -> AsyncIterator[bytes]:
        """List page by page, to the end: ListPairsResponses."""
        check_list(request)
        page, token = await self._page(request, request.page_token)
        yield page
        while token:
            page, token = await self._page(request, token)
            yield page

    def _pair(self, request: pb.GetPairRequest, *, keys_only: bool) -> Awaitable[Answers[bytes]]:
        check_key(request.key)
        # A batch of one is read with others that are asked for at the same time.
        return self._read(pb.GetPairs(keys=(request.key,), keys_only=keys_only), request)

    def _pairs(self, request: pb.GetPairsRequest, *, keys_only: bool) -> Awaitable[Answers[bytes]]:
        check_keys(request.keys)
        return self._read(pb.GetPairs(keys=request.keys, keys_only=keys_only), request)

    def _read(self, query: Message, request: Any) -> Awaitable[Answers[bytes]]:
        consistency: Consistency = "stale" if request.stale else "linearizable"
        return self._node.read(
            query, bytes, consistency=consistency, min_revision=request.min_revision
        )

    async def _page(self, request: pb.ListPairsRequest, after: bytes) -> tuple[bytes, bytes]:
        """Return the page after a key, and the token of the next one."""
        limit = min(request.page_size or LARGEST_PAGE, LARGEST_PAGE)
        query = pb.ListPairs(
            prefix=request.prefix,
            start=request.start,
            end=request.end,
            after=after,
            limit=limit,
            keys_only=request.keys_only,
        )
        readable = self._node.readable(PAIRS)
        while True:
            found = await self._read(query, request)
            pairs, token = _page_of(found.rows, limit)
            if readable is None:
                break
            pairs = [each for each in pairs if readable(listed_key(each))]
            if pairs or not token:
                # A token with a pair that the caller may not read would disclose it.
                token = token and listed_key(pairs[-1])
                break
            query.after = token
        end = pb.ListPairsResponse(next_page_token=token, age_ms=found.age_ms)
        return b"".join((*pairs, end.SerializeToString())), token


def _page_of(found: Sequence[bytes], limit: int) -> tuple[list[bytes], bytes]:
    """Return a page of the pairs of all shards, and the token of the next one.

    It ends where any shard has more pairs: beyond that, pairs of that shard would be missing. A
    pb.ListPairsResponse has its pairs in the field in which a ListedPair has its one.
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


def _aged(response: type[Any], found: bytes, age_ms: int) -> bytes:
    """Return the bytes of a response with its age."""
    aged: bytes = response(age_ms=age_ms).SerializeToString() if age_ms else b""
    return found + aged


KV: Final = GrpcService(
    service=kv_pb2.DESCRIPTOR.services_by_name["KvService"],
    servicer=KvServicer,
    access={
        **dict.fromkeys(("Get", "Exists"), Access(right="read", key="key")),
        **dict.fromkeys(("GetBatch", "ExistsBatch"), Access(right="read", items="keys")),
        **dict.fromkeys(("List", "StreamList"), Access(right="read", filtered=True)),
    },
)
