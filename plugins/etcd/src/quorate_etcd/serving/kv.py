"""The service KV: ranges, puts, deletions, transactions and compaction."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Final, TypeVar

from quorate.plugin import Rejected
from quorate.plugin.advanced import CallContext
from quorate.v1.batch_pb2 import BatchReply

from quorate_etcd import errors
from quorate_etcd.families import store_key
from quorate_etcd.serving.store import Store, consistency_of
from quorate_etcd.store import checking, ranges
from quorate_etcd.v1 import commands_pb2 as pb, queries_pb2 as asked
from quorate_etcd.wire import rpc_pb2 as rpc

R = TypeVar("R", rpc.RangeResponse, rpc.PutResponse, rpc.DeleteRangeResponse, rpc.TxnResponse)


class KV:
    """Serves the keys of a store."""

    def __init__(self, store: Store) -> None:
        self._store: Final = store
        #: Bytes that the answers to ranges may yet hold.
        self._room = store.config.ranges_bytes

    async def Range(  # noqa: D102 - named as in its service
        self, request: rpc.RangeRequest, context: CallContext
    ) -> rpc.RangeResponse:
        checking.check_range(request)
        if not request.serializable and ranges.is_plain(request):
            return self._headed(await self._store.get(request.key))
        while True:
            pages: list[asked.Page] = []
            held = 0
            try:
                async for page in self._pages(request):
                    held += self._hold(page)
                    pages.append(page)
                return self._headed(ranges.answer(request, pages))
            except Rejected as refusal:
                if refusal.message != errors.COMPACTED.text or not pages or request.revision > 0:
                    raise
                # Its revision was compacted between two pages: begin with the newest one again.
            finally:
                self._room += held

    async def RangeStream(  # noqa: D102
        self, request: rpc.RangeRequest, context: CallContext
    ) -> AsyncIterator[rpc.RangeStreamResponse]:
        checking.check_range(request)
        if not ranges.in_key_order(request) or ranges.is_bounded(request):
            raise Rejected(
                "UNIMPLEMENTED",
                "a stream of a range has its keys in their order, and no bounds of revisions",
            )
        last = rpc.RangeResponse()
        matched = 0
        async for page in self._pages(request):
            if last.kvs:
                yield rpc.RangeStreamResponse(range_response=rpc.RangeResponse(kvs=last.kvs))
            last = ranges.answer(request, [page])
            matched += page.matched
            last.count, last.more = matched, 0 < request.limit < matched
        yield rpc.RangeStreamResponse(range_response=self._headed(last))

    async def Put(  # noqa: D102
        self, request: rpc.PutRequest, context: CallContext
    ) -> rpc.PutResponse:
        checking.check_put(request)
        return self._headed((await self._store.transact(request)).put)

    async def DeleteRange(  # noqa: D102
        self, request: rpc.DeleteRangeRequest, context: CallContext
    ) -> rpc.DeleteRangeResponse:
        checking.check_delete_range(request)
        done = (await self._store.transact(request)).delete_range
        if request.prev_kv and len(done.prev_kvs) < done.deleted:
            before = rpc.RangeRequest(
                key=request.key, range_end=request.range_end, revision=done.header.revision - 1
            )
            held = 0
            try:
                async for page in self._pages(before):
                    held += self._hold(page)
                    done.prev_kvs.extend(page.kvs)
            finally:
                self._room += held
        return self._headed(done)

    async def Txn(  # noqa: D102
        self, request: rpc.TxnRequest, context: CallContext
    ) -> rpc.TxnResponse:
        checking.check_txn(request, self._store.config.max_txn_ops)
        if not checking.is_read_only(request):
            return self._headed((await self._store.transact(request)).txn)
        response = await self._store.read(
            asked.Evaluate(store=self._store.name, request=request),
            rpc.TxnResponse,
            consistency=consistency_of(serializable=checking.is_serializable(request)),
        )
        return self._headed(response)

    async def Compact(  # noqa: D102
        self, request: rpc.CompactionRequest, context: CallContext
    ) -> rpc.CompactionResponse:
        store = self._store
        command = pb.Compact(store=store.name, revision=request.revision)
        clean = pb.Clean(keys=[store_key(store.name)])
        stood: pb.Stood | None = None
        while stood is None:
            try:
                stood = await store.propose(command, pb.Stood)
            except Rejected as refusal:
                if refusal.message != errors.TOO_MANY_REQUESTS.text:
                    raise
                while (await store.stand()).sweeping:
                    await store.propose(clean, BatchReply)
        while request.physical and (await store.stand()).unclean:
            await store.propose(clean, BatchReply)
        return rpc.CompactionResponse(header=store.header(stood.revision))

    def _hold(self, page: asked.Page) -> int:
        """Take room for a part of an answer, and return its size; refuses one that has none."""
        size = page.ByteSize()
        if size > self._room:
            errors.TOO_MANY_REQUESTS.refuse()
        self._room -= size
        return size

    async def _pages(self, request: rpc.RangeRequest) -> AsyncIterator[asked.Page]:
        """Yield the parts of a range, all of one revision."""
        store, left = self._store, self._store.config.range_bytes
        query = asked.Find(store=store.name, request=request, wanted=ranges.most_pairs(request))
        consistency = consistency_of(serializable=request.serializable)
        page = await store.read(query, asked.Page, consistency=consistency)
        applied = page.applied
        if request.revision <= 0:
            query.request.revision = page.revision
        while True:
            yield page
            left -= page.ByteSize()
            if left < 0:
                raise Rejected(
                    "RESOURCE_EXHAUSTED",
                    f"the range has more than {store.config.range_bytes:,} bytes (range_bytes of "
                    "[plugins.etcd]): read it in parts, with a limit",
                )
            if not page.next:
                return
            # What this node itself reads takes no turn of the loop.
            await asyncio.sleep(0)
            query.wanted -= len(page.kvs)
            setattr(query, "from", page.next)
            page = await store.read(query, asked.Page, consistency="stale", applied=applied)

    def _headed(self, response: R) -> R:
        response.header.CopyFrom(self._store.header(response.header.revision))
        return response
