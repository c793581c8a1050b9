"""Subscriptions: they end with their session, and are set and deleted one by one."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Final

from quorate.client import AsyncClient, Blocking, blocking, iterating
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.batches import Batch
from quorate_mqtt.client import batching, reading
from quorate_mqtt.client.reading import Listing
from quorate_mqtt.shards import client_shard
from quorate_mqtt.v1.subscriptions_pb2 import (
    DeleteSubscription,
    DeleteSubscriptionReply,
    DeleteSubscriptions,
    GetSubscriptionRequest,
    KeyedSubscription,
    ListSubscriptionsRequest,
    ListSubscriptionsResponse,
    SetSubscription,
    SetSubscriptionReply,
    SetSubscriptions,
)

_SERVICE: Final = "/quorate_mqtt.v1.SubscriptionService/"
_SETTING: Final = Batch[SetSubscription](message=SetSubscriptions, field="subscriptions")
_DELETION: Final = Batch[DeleteSubscription](message=DeleteSubscriptions, field="subscriptions")
_LISTING: Final[Listing[ListSubscriptionsRequest, ListSubscriptionsResponse, KeyedSubscription]] = (
    Listing(
        method=f"{_SERVICE}List",
        page=ListSubscriptionsResponse,
        rows=lambda page: (page.subscriptions, page.next_page_token),
    )
)


class Subscriptions:
    """Sets, deletes and reads subscriptions."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q

    async def set(self, subscription: SetSubscription) -> bool:
        """Subscribe a client, for the first time or anew; tell whether it is the first time.

        NOT_FOUND if the client has no session; TAKEN_OVER if a generation is given and another
        connection has the session.
        """
        return (await self._q.execute(subscription, SetSubscriptionReply)).created

    async def set_many(self, subscriptions: Iterable[SetSubscription]) -> BatchReply:
        """Set many; each reply in the reply is a `SetSubscriptionReply`."""
        return await batching.execute(self._q, _SETTING.of, subscriptions)

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
        command = DeleteSubscription(
            tenant=tenant,
            client_id=client_id,
            filter=topic_filter,
            generation=generation,
            missing_ok=missing_ok,
        )
        await self._q.execute(command, DeleteSubscriptionReply)

    async def delete_many(self, deletions: Iterable[DeleteSubscription]) -> BatchReply:
        """End many; the reply names those that were refused by their positions."""
        return await batching.execute(self._q, _DELETION.of, deletions)

    async def get(self, tenant: str, client_id: str, topic_filter: str) -> KeyedSubscription | None:
        """Return a subscription; None if there is none."""
        return await reading.get(
            self._q,
            f"{_SERVICE}Get",
            GetSubscriptionRequest(tenant=tenant, client_id=client_id, filter=topic_filter),
            KeyedSubscription,
            shard_key=client_shard(tenant, client_id),
        )

    async def list(
        self, request: ListSubscriptionsRequest
    ) -> AsyncGenerator[KeyedSubscription, None]:
        """Yield the subscriptions that fit, in the order of tenants, clients and filters."""
        async for subscription in _LISTING.read(self._q, request):
            yield subscription


class SyncSubscriptions(Blocking[Subscriptions]):
    """The same, without `await`."""

    set = blocking(Subscriptions.set)
    set_many = blocking(Subscriptions.set_many)
    delete = blocking(Subscriptions.delete)
    delete_many = blocking(Subscriptions.delete_many)
    get = blocking(Subscriptions.get)
    list = iterating(Subscriptions.list)
