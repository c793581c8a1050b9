"""Subscriptions: they end with their session, and are set and deleted one by one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Any, Final

from quorate.client import AsyncClient, Blocking, Records, blocking, iterating
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.subscriptions.resource import SUBSCRIPTION
from quorate_mqtt.v1 import subscriptions_pb2 as pb


class Subscriptions:
    """Sets, deletes and reads subscriptions."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q
        self._records: Final[Records[Any]] = q.records(SUBSCRIPTION)

    async def set(self, subscription: pb.SetSubscription) -> bool:
        """Subscribe a client, for the first time or anew; tell whether it is the first time.

        NOT_FOUND if the client has no session; TAKEN_OVER if a generation is given and another
        connection has the session.
        """
        return (await self._q.execute(subscription, pb.SetSubscriptionReply)).created

    async def set_many(self, subscriptions: Iterable[pb.SetSubscription]) -> BatchReply:
        """Set many; each reply in the reply is a `SetSubscriptionReply`."""
        reply: BatchReply = await self._records.do("Set", subscriptions)
        return reply

    async def delete(
        self,
        tenant: str,
        client_id: str,
        topic_filter: str,
        *,
        generation: int | None = None,
        missing_ok: bool = False,
    ) -> None:
        """End one subscription of a client and no other.

        NOT_FOUND if there is none, unless `missing_ok`.
        """
        command = pb.DeleteSubscription(
            tenant=tenant,
            client_id=client_id,
            filter=topic_filter,
            generation=generation,
            missing_ok=missing_ok,
        )
        await self._q.execute(command, pb.DeleteSubscriptionReply)

    async def delete_many(self, deletions: Iterable[pb.DeleteSubscription]) -> BatchReply:
        """End many; the reply names those that were refused by their positions."""
        reply: BatchReply = await self._records.do("Delete", deletions)
        return reply

    async def get(self, *key: Any) -> Any:
        """Return the `KeyedSubscription` of a tenant, a client and a filter, or None."""
        return await self._records.get(*key)

    async def list(self, /, **conditions: Any) -> AsyncGenerator[pb.KeyedSubscription, None]:
        """Yield subscriptions in the order of their keys; `conditions` as in `Records.list`."""
        async for subscription in self._records.list(**conditions):
            yield subscription


class SyncSubscriptions(Blocking[Subscriptions]):
    """The same, without `await`."""

    set = blocking(Subscriptions.set)
    set_many = blocking(Subscriptions.set_many)
    delete = blocking(Subscriptions.delete)
    delete_many = blocking(Subscriptions.delete_many)
    get = blocking(Subscriptions.get)
    list = iterating(Subscriptions.list)
