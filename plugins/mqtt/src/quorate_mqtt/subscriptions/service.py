"""The gRPC service: each call becomes a command or a read.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from collections.abc import AsyncIterator
from typing import Final

from quorate.plugin import GrpcService, Invalid, NodeApi, Rejected, keys
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.fitting import propose_fitting
from quorate_mqtt.names import check_identity, check_name, check_topic_filter
from quorate_mqtt.rows.keyed import Freshness, KeyedRows, bounds_of, check_page
from quorate_mqtt.shards import client_shard_of
from quorate_mqtt.subscriptions import validation
from quorate_mqtt.subscriptions.families import SUBSCRIPTIONS, subscription_key
from quorate_mqtt.v1 import subscriptions_pb2_grpc
from quorate_mqtt.v1.rows_pb2 import StoredRow
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
    Subscription,
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


_ROWS: Final = KeyedRows(family=SUBSCRIPTIONS, shard_of=client_shard_of, show=_shown)


class SubscriptionServicer(subscriptions_pb2_grpc.SubscriptionServiceServicer):
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
        check_name("tenant", request.tenant)
        check_identity("client_id", request.client_id)
        check_topic_filter("filter", request.filter)
        key = subscription_key(request.tenant, request.client_id, request.filter)
        found = await _ROWS.get(self._node, key)
        if found is None:
            raise Rejected(
                "NOT_FOUND", f"client {request.client_id} has no subscription to {request.filter}"
            )
        return found

    async def List(
        self, request: ListSubscriptionsRequest, context: object
    ) -> ListSubscriptionsResponse:
        """List a page of subscriptions."""
        check_page(request)
        if request.tenant:
            check_name("tenant", request.tenant)
        elif request.client_id:
            raise Invalid("client_id", "must be empty when no tenant is given")
        if request.client_id:
            check_identity("client_id", request.client_id)
        bounds = bounds_of(*filter(None, [request.tenant, request.client_id]))
        freshness = Freshness(stale=request.stale, min_revision=request.min_revision)
        found, token = await _ROWS.page(self._node, request, bounds, freshness=freshness)
        return ListSubscriptionsResponse(subscriptions=found, next_page_token=token)

    async def StreamList(
        self, request: ListSubscriptionsRequest, context: object
    ) -> AsyncIterator[ListSubscriptionsResponse]:
        """List page by page, to the end."""
        wanted = ListSubscriptionsRequest()
        wanted.CopyFrom(request)
        while True:
            page = await self.List(wanted, context)
            yield page
            if not page.next_page_token:
                return
            wanted.page_token = page.next_page_token


SERVICE: Final = GrpcService(
    full_name="quorate_mqtt.v1.SubscriptionService",
    add_to_server=subscriptions_pb2_grpc.add_SubscriptionServiceServicer_to_server,
    servicer=SubscriptionServicer,
)
