"""The gRPC service: each call becomes a command or a read.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from collections.abc import AsyncIterator
from typing import Final

from quorate.plugin import GrpcService, Invalid, NodeApi, Rejected, keys, propose_fitting
from quorate.plugin.checking import check_name
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.names import check_identity, check_topic_filter
from quorate_mqtt.rows.reading import Freshness, Range, Shelf, check_lookups
from quorate_mqtt.shards import client_shard_of
from quorate_mqtt.subscriptions import validation
from quorate_mqtt.subscriptions.families import SUBSCRIPTIONS, subscription_key
from quorate_mqtt.v1 import subscriptions_pb2
from quorate_mqtt.v1.rows_pb2 import StoredRow
from quorate_mqtt.v1.subscriptions_pb2 import (
    DeleteSubscription,
    DeleteSubscriptionReply,
    DeleteSubscriptions,
    GetSubscriptionRequest,
    GetSubscriptionsRequest,
    KeyedSubscription,
    ListSubscriptionsRequest,
    ListSubscriptionsResponse,
    SetSubscription,
    SetSubscriptionReply,
    SetSubscriptions,
    Subscription,
    SubscriptionLookup,
    SubscriptionLookups,
)


def _shown(row: StoredRow) -> KeyedSubscription:
    tenant, client_id, topic_filter = keys.unpack(row.key)
    return KeyedSubscription(
        tenant=str(tenant),
        client_id=str(client_id),
        filter=str(topic_filter),
        subscription=Subscription.FromString(row.value),
        revision=row.revision,
    )


_SHELF: Final = Shelf(
    family=SUBSCRIPTIONS, shard_of=client_shard_of, show=_shown, with_tenant=False
)


class SubscriptionServicer:
    """Serves subscriptions on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Set(self, request: SetSubscription, context: object) -> SetSubscriptionReply:
        """Subscribe one client."""
        return await self._node.propose(request, SetSubscriptionReply)

    async def SetBatch(self, request: SetSubscriptions, context: object) -> BatchReply:
        """Subscribe many clients in one proposal a shard."""
        return await propose_fitting(self._node, request, "subscriptions", validation.check_set)

    async def Delete(self, request: DeleteSubscription, context: object) -> DeleteSubscriptionReply:
        """End one subscription."""
        return await self._node.propose(request, DeleteSubscriptionReply)

    async def DeleteBatch(self, request: DeleteSubscriptions, context: object) -> BatchReply:
        """End many subscriptions in one proposal a shard."""
        return await propose_fitting(self._node, request, "subscriptions", validation.check_delete)

    async def Get(self, request: GetSubscriptionRequest, context: object) -> KeyedSubscription:
        """Read one subscription."""
        _check_named(request)
        found = await _SHELF.get(self._node, _key(request))
        if found is None:
            raise Rejected(
                "NOT_FOUND", f"client {request.client_id} has no subscription to {request.filter}"
            )
        return found

    async def GetBatch(
        self, request: GetSubscriptionsRequest, context: object
    ) -> SubscriptionLookups:
        """Read many subscriptions, in the order of the request."""
        check_lookups("subscriptions", request.subscriptions, _check_named)
        found = await _SHELF.get_each(self._node, list(map(_key, request.subscriptions)))
        return SubscriptionLookups(
            lookups=[SubscriptionLookup(subscription=each) for each in found]
        )

    async def List(
        self, request: ListSubscriptionsRequest, context: object
    ) -> ListSubscriptionsResponse:
        """List a page of subscriptions."""
        freshness = _freshness(request)
        found, token = await _SHELF.page(self._node, _wanted(request), freshness=freshness)
        return ListSubscriptionsResponse(subscriptions=found, next_page_token=token)

    async def StreamList(
        self, request: ListSubscriptionsRequest, context: object
    ) -> AsyncIterator[ListSubscriptionsResponse]:
        """List page by page, to the end."""
        pages = _SHELF.pages(self._node, _wanted(request), freshness=_freshness(request))
        async for found, token in pages:
            yield ListSubscriptionsResponse(subscriptions=found, next_page_token=token)


def _key(named: GetSubscriptionRequest) -> bytes:
    return subscription_key(named.tenant, named.client_id, named.filter)


def _check_named(named: GetSubscriptionRequest, path: str = "") -> None:
    check_name(f"{path}tenant", named.tenant)
    check_identity(f"{path}client_id", named.client_id)
    check_topic_filter(f"{path}filter", named.filter)


def _freshness(request: ListSubscriptionsRequest) -> Freshness:
    return Freshness(stale=request.stale, min_revision=request.min_revision)


def _wanted(request: ListSubscriptionsRequest) -> Range:
    if request.tenant:
        check_name("tenant", request.tenant)
    elif request.client_id:
        raise Invalid("client_id", "must be empty when no tenant is given")
    if request.client_id:
        check_identity("client_id", request.client_id)
    return Range.below(request, request.tenant, request.client_id)


SERVICE: Final = GrpcService(
    service=subscriptions_pb2.DESCRIPTOR.services_by_name["SubscriptionService"],
    servicer=SubscriptionServicer,
)
