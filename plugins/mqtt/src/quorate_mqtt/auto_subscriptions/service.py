"""The gRPC service: each call becomes a command or a read.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from collections.abc import AsyncIterator
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.plugin import GrpcService, NodeApi
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.auto_subscriptions.families import AUTO_SUBSCRIPTIONS
from quorate_mqtt.auto_subscriptions.writes import WRITES
from quorate_mqtt.definitions.service import Named, Written
from quorate_mqtt.rows.reading import Range
from quorate_mqtt.v1 import auto_subscriptions_pb2
from quorate_mqtt.v1.auto_subscriptions_pb2 import (
    AutoSubscription,
    AutoSubscriptionLookup,
    AutoSubscriptionLookups,
    AutoSubscriptionPage,
    AutoSubscriptionRequest,
    CreateAutoSubscriptionsCommand,
    DeleteAutoSubscriptionsCommand,
    ListAutoSubscriptionsRequest,
    PutAutoSubscriptionsCommand,
    UpdateAutoSubscriptionsCommand,
)
from quorate_mqtt.v1.definitions_pb2 import DefinitionName, GetDefinitionsRequest


class AutoSubscriptionServicer:
    """Serves automatic subscriptions on every node, whether it holds a replica or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node
        self._written: Final = Written(node=node, kind=AUTO_SUBSCRIPTIONS, writes=WRITES)
        self._named: Final = Named(node=node, kind=AUTO_SUBSCRIPTIONS)

    async def Create(self, request: AutoSubscriptionRequest, context: object) -> AutoSubscription:
        """Make one."""
        return await self._written.create(request.definition)

    async def CreateBatch(
        self, request: CreateAutoSubscriptionsCommand, context: object
    ) -> BatchReply:
        """Make many in one proposal a shard."""
        return await self._written.create_each(request)

    async def Update(self, request: AutoSubscriptionRequest, context: object) -> AutoSubscription:
        """Change what is given of one."""
        return await self._written.update(request.definition, request.update_mask)

    async def UpdateBatch(
        self, request: UpdateAutoSubscriptionsCommand, context: object
    ) -> BatchReply:
        """Change what is given of many in one proposal a shard."""
        return await self._written.update_each(request)

    async def Put(self, request: AutoSubscriptionRequest, context: object) -> AutoSubscription:
        """Make or replace one."""
        return await self._written.put(request.definition)

    async def PutBatch(self, request: PutAutoSubscriptionsCommand, context: object) -> BatchReply:
        """Make or replace many in one proposal a shard."""
        return await self._written.put_each(request)

    async def Delete(self, request: DefinitionName, context: object) -> Empty:
        """Delete one."""
        return await self._named.delete(request)

    async def DeleteBatch(
        self, request: DeleteAutoSubscriptionsCommand, context: object
    ) -> BatchReply:
        """Delete many in one proposal a shard."""
        return await self._named.delete_each(request)

    async def Get(self, request: DefinitionName, context: object) -> AutoSubscription:
        """Read one."""
        return await self._named.get(request)

    async def GetBatch(
        self, request: GetDefinitionsRequest, context: object
    ) -> AutoSubscriptionLookups:
        """Read many, in the order of the request."""
        found = await self._named.get_each(request)
        return AutoSubscriptionLookups(
            lookups=[AutoSubscriptionLookup(definition=each) for each in found]
        )

    async def List(
        self, request: ListAutoSubscriptionsRequest, context: object
    ) -> AutoSubscriptionPage:
        """List a page."""
        page, token = await AUTO_SUBSCRIPTIONS.shelf.page(self._node, Range.of(request))
        return AutoSubscriptionPage(subscriptions=page, next_page_token=token)

    async def StreamList(
        self, request: ListAutoSubscriptionsRequest, context: object
    ) -> AsyncIterator[AutoSubscriptionPage]:
        """List page by page, to the end."""
        pages = AUTO_SUBSCRIPTIONS.shelf.pages(self._node, Range.of(request))
        async for page, token in pages:
            yield AutoSubscriptionPage(subscriptions=page, next_page_token=token)


SERVICE: Final = GrpcService(
    service=auto_subscriptions_pb2.DESCRIPTOR.services_by_name["AutoSubscriptionService"],
    servicer=AutoSubscriptionServicer,
)
