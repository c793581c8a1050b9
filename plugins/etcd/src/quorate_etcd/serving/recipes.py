"""The recipe behind locks and elections: the oldest key of a prefix wins.

It is that of etcd's clients, so that theirs and the server's take part in one lock. A waiting call
renews its lease; one that is cancelled deletes its key.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, Final, NamedTuple

from quorate.plugin import Rejected

from quorate_etcd import errors
from quorate_etcd.serving.http.call import Call, stream_of
from quorate_etcd.wire import mvcc_pb2 as mvcc, rpc_pb2 as rpc

#: Of a lease that a call without one gets; nobody renews it after the call.
_TTL_S: Final = 60
_DELETE: Final = mvcc.Event.DELETE


class Own(NamedTuple):
    """The key of a contender."""

    key: bytes
    #: The revision that created it.
    revision: int
    lease: int
    #: Its value before the call; None: the call has created it.
    before: bytes | None


class Recipes:
    """Calls the servicers of a store on behalf of the callers of locks and elections."""

    def __init__(self, kv: Any, watch: Any, lease: Any) -> None:
        self._kv: Final = kv
        self._watch: Final = watch
        self._lease: Final = lease
        self._undoing: Final[set[asyncio.Task[Any]]] = set()

    async def lease(self, given: int, context: Any) -> int:
        """Return a lease that was given, or a new one."""
        if given:
            return given
        granted = await self._lease.LeaseGrant(rpc.LeaseGrantRequest(TTL=_TTL_S), context)
        return int(granted.ID)

    async def enter(self, name: bytes, lease: int, value: bytes, context: Any) -> Own:
        """Write the key of a contender, unless it exists."""
        key = name + b"/%x" % lease
        put = rpc.PutRequest(key=key, value=value, lease=lease)
        request = rpc.TxnRequest(
            compare=[_created(key, 0)],
            success=[rpc.RequestOp(request_put=put)],
            failure=[rpc.RequestOp(request_range=rpc.RangeRequest(key=key))],
        )
        try:
            done = await self._kv.Txn(request, context)
        except Rejected as refusal:
            if refusal.message == errors.LEASE_NOT_FOUND.text:
                errors.LOCK_LEASE_NOT_FOUND.refuse()
            raise
        if done.succeeded:
            return Own(key, done.header.revision, lease, None)
        found = done.responses[0].response_range.kvs[0]
        return Own(key, found.create_revision, lease, found.value)

    @asynccontextmanager
    async def leaving_if_cancelled(self, own: Own, context: Any) -> AsyncIterator[None]:
        """Renew the lease of a contender in a block, and delete its key if the block fails."""
        renewing = asyncio.get_running_loop().create_task(self._renew(own.lease))
        try:
            yield
        except BaseException:
            # The caller has gone, and a cancelled task awaits nothing.
            leaving = self.leave(own.key, own.revision, context)
            undoing = asyncio.get_running_loop().create_task(leaving)
            self._undoing.add(undoing)
            undoing.add_done_callback(self._undone)
            raise
        finally:
            renewing.cancel()

    async def leave(self, key: bytes, revision: int, context: Any) -> Any:
        """Delete the key of a contender; return the answer."""
        deletion = rpc.RequestOp(request_delete_range=rpc.DeleteRangeRequest(key=key))
        return await self.if_created(key, revision, deletion, context)

    async def if_created(
        self, key: bytes, revision: int, operation: rpc.RequestOp, context: Any
    ) -> Any:
        """Carry out an operation if a key was created at a revision; return the answer."""
        request = rpc.TxnRequest(compare=[_created(key, revision)], success=[operation])
        return await self._kv.Txn(request, context)

    async def alone(self, name: bytes, before: int, context: Any) -> rpc.ResponseHeader:
        """Wait until every key of a name that was created before a revision is deleted."""
        request = _of(name, rpc.RangeRequest.DESCEND)
        request.max_create_revision = before - 1
        while True:
            found = await self._kv.Range(request, context)
            if not found.kvs:
                return rpc.ResponseHeader.FromString(found.header.SerializeToString())
            watch = self.events(found.kvs[0].key, b"", found.header.revision + 1)
            async with aclosing(watch) as events:  # type: ignore[type-var]
                async for _, event in events:
                    if event.type == _DELETE:
                        break

    async def first(self, name: bytes, context: Any) -> Any:
        """Return the range of the first key of a name: at most one."""
        return await self._kv.Range(_of(name, rpc.RangeRequest.ASCEND), context)

    async def get(self, key: bytes, context: Any) -> Any:
        """Return the range of a key."""
        return await self._kv.Range(rpc.RangeRequest(key=key), context)

    async def events(
        self, key: bytes, range_end: bytes, start: int
    ) -> AsyncIterator[tuple[rpc.ResponseHeader, mvcc.Event]]:
        """Yield the events of keys from a revision on."""
        create = rpc.WatchCreateRequest(key=key, range_end=range_end, start_revision=start)
        requests = stream_of([rpc.WatchRequest(create_request=create)])
        async with aclosing(self._watch.Watch(requests, Call())) as answers:
            async for answer in answers:
                if answer.canceled:
                    errors.COMPACTED.refuse()
                for event in answer.events:
                    yield answer.header, event

    async def _renew(self, lease: int) -> None:
        while True:
            requests = stream_of([rpc.LeaseKeepAliveRequest(ID=lease)])
            ttl_s = 0
            with suppress(Exception):
                async for answer in self._lease.LeaseKeepAlive(requests, Call()):
                    ttl_s = answer.TTL
            await asyncio.sleep(max(ttl_s / 3, 1))

    def _undone(self, task: asyncio.Task[Any]) -> None:
        self._undoing.discard(task)
        if not task.cancelled():
            # Without a leader the key goes with its lease.
            task.exception()


def prefix_end(prefix: bytes) -> bytes:
    """Return the end of the range of all keys that begin with a prefix."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes((kept[-1] + 1,)) if kept else b"\0"


def _of(name: bytes, order: Any) -> rpc.RangeRequest:
    prefix = name + b"/"
    return rpc.RangeRequest(
        key=prefix,
        range_end=prefix_end(prefix),
        limit=1,
        sort_order=order,
        sort_target=rpc.RangeRequest.CREATE,
    )


def _created(key: bytes, revision: int) -> rpc.Compare:
    return rpc.Compare(
        target=rpc.Compare.CREATE, result=rpc.Compare.EQUAL, key=key, create_revision=revision
    )
