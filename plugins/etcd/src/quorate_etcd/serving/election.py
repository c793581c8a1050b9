"""The services Lock and Election: whose key of a name is the oldest holds the lock, or leads."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Final

from quorate.plugin import Rejected

from quorate_etcd import errors
from quorate_etcd.serving.recipes import Recipes, prefix_end
from quorate_etcd.wire import (
    election_pb2 as election,
    lock_pb2 as lock,
    mvcc_pb2 as mvcc,
    rpc_pb2 as rpc,
)

_EXPIRED: Final = "mutex: session is expired"


class Lock:
    """Locks names: the contender with the oldest key holds the lock."""

    def __init__(self, kv: Any, recipes: Recipes) -> None:
        self._kv: Final = kv
        self._recipes: Final = recipes

    async def Lock(self, request: lock.LockRequest, context: Any) -> lock.LockResponse:
        """Wait for the lock, and return the key that holds it while it exists."""
        recipes = self._recipes
        lease = await recipes.lease(request.lease, context)
        own = await recipes.enter(request.name, lease, b"", context)
        async with recipes.leaving_if_cancelled(own, context):
            await recipes.alone(request.name, own.revision, context)
            found = await recipes.get(own.key, context)
            if not found.kvs:
                raise Rejected("UNKNOWN", _EXPIRED)
        return lock.LockResponse(header=found.header, key=own.key)

    async def Unlock(self, request: lock.UnlockRequest, context: Any) -> lock.UnlockResponse:
        """Delete the key of a lock."""
        done = await self._kv.DeleteRange(rpc.DeleteRangeRequest(key=request.key), context)
        return lock.UnlockResponse(header=done.header)


class Election:
    """Elects leaders of names: the contender with the oldest key leads."""

    def __init__(self, recipes: Recipes) -> None:
        self._recipes: Final = recipes

    async def Campaign(
        self, request: election.CampaignRequest, context: Any
    ) -> election.CampaignResponse:
        """Return once the caller is elected."""
        recipes, name = self._recipes, request.name
        lease = await recipes.lease(request.lease, context)
        own = await recipes.enter(name, lease, request.value, context)
        leader = election.LeaderKey(name=name, key=own.key, rev=own.revision, lease=lease)
        async with recipes.leaving_if_cancelled(own, context):
            if own.before is not None and own.before != request.value:
                await self._proclaim(leader, request.value, context)
            header = await recipes.alone(name, own.revision, context)
        return election.CampaignResponse(header=header, leader=leader)

    async def Proclaim(
        self, request: election.ProclaimRequest, context: Any
    ) -> election.ProclaimResponse:
        """Set another value of the leader."""
        if not request.HasField("leader"):
            errors.LEADER_FIELD_MISSING.refuse()
        header = await self._proclaim(request.leader, request.value, context)
        return election.ProclaimResponse(header=header)

    async def Leader(
        self, request: election.LeaderRequest, context: Any
    ) -> election.LeaderResponse:
        """Return the pair of the leader."""
        found = await self._recipes.first(request.name, context)
        if not found.kvs:
            errors.NO_ELECTION_LEADER.refuse()
        return election.LeaderResponse(header=found.header, kv=found.kvs[0])

    async def Observe(
        self, request: election.LeaderRequest, context: Any
    ) -> AsyncIterator[election.LeaderResponse]:
        """Yield the pair of each leader, and its later values; some may be left out."""
        recipes, prefix = self._recipes, request.name + b"/"
        while True:
            found = await recipes.first(request.name, context)
            header, leader = found.header, found.kvs[0] if found.kvs else None
            if leader is None:
                watch = recipes.events(prefix, prefix_end(prefix), header.revision + 1)
                async with aclosing(watch) as events:  # type: ignore[type-var]
                    async for header, event in events:  # noqa: B007 - it is the leader's
                        if event.type == mvcc.Event.PUT:
                            leader = event.kv
                            break
            assert leader is not None
            yield election.LeaderResponse(header=header, kv=leader)
            watch = recipes.events(leader.key, b"", leader.mod_revision + 1)
            async with aclosing(watch) as events:  # type: ignore[type-var]
                async for header, event in events:
                    if event.type == mvcc.Event.DELETE:
                        break
                    yield election.LeaderResponse(header=header, kv=event.kv)

    async def Resign(
        self, request: election.ResignRequest, context: Any
    ) -> election.ResignResponse:
        """Give the leadership up; without it, change nothing."""
        if not request.HasField("leader"):
            errors.LEADER_FIELD_MISSING.refuse()
        done = await self._recipes.leave(request.leader.key, request.leader.rev, context)
        return election.ResignResponse(header=done.header)

    async def _proclaim(
        self, leader: election.LeaderKey, value: bytes, context: Any
    ) -> rpc.ResponseHeader:
        put = rpc.PutRequest(key=leader.key, value=value, lease=leader.lease)
        done = await self._recipes.if_created(
            leader.key, leader.rev, rpc.RequestOp(request_put=put), context
        )
        if not done.succeeded:
            errors.NOT_ELECTED.refuse()
        header: rpc.ResponseHeader = done.header
        return header
