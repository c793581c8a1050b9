"""The service Lock."""

from __future__ import annotations

from typing import Any, Final

from quorate.plugin import Rejected

from quorate_etcd.serving.recipes import Recipes
from quorate_etcd.wire import lock_pb2 as lock, rpc_pb2 as rpc

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
