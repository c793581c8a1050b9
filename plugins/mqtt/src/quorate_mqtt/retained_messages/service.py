"""The gRPC service: each call becomes a command or a read.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from collections.abc import AsyncIterator, Callable
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.plugin import GrpcService, NodeApi, Rejected, propose_fitting
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.batches import only_reply
from quorate_mqtt.names import check_topic_filter
from quorate_mqtt.retained_messages.families import DELETION, PUT, SHELF, key_of
from quorate_mqtt.retained_messages.validation import check_named, check_put
from quorate_mqtt.rows.reading import Range, check_lookups
from quorate_mqtt.topic_filters import matches
from quorate_mqtt.v1 import retained_messages_pb2
from quorate_mqtt.v1.retained_messages_pb2 import (
    DeleteRetainedMessages,
    GetRetainedMessagesRequest,
    ListRetainedMessagesRequest,
    PutRetainedMessageRequest,
    PutRetainedMessages,
    RetainedMessage,
    RetainedMessageLookup,
    RetainedMessageLookups,
    RetainedMessagePage,
    RetainedName,
    RetainedStamp,
)


class RetainedMessageServicer:
    """Serves retained messages on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Put(self, request: PutRetainedMessageRequest, context: object) -> RetainedStamp:
        """Make or replace one."""
        check_put(request)
        reply = await self._node.propose(PUT.of([request]), BatchReply)
        return only_reply(reply, RetainedStamp)

    async def PutBatch(self, request: PutRetainedMessages, context: object) -> BatchReply:
        """Make or replace many in one proposal a shard."""
        return await propose_fitting(self._node, request, PUT.field, check_put)

    async def Delete(self, request: RetainedName, context: object) -> Empty:
        """Delete one."""
        check_named(request)
        return only_reply(await self._node.propose(DELETION.of([request]), BatchReply), Empty)

    async def DeleteBatch(self, request: DeleteRetainedMessages, context: object) -> BatchReply:
        """Delete many in one proposal a shard."""
        return await propose_fitting(self._node, request, DELETION.field, check_named)

    async def Get(self, request: RetainedName, context: object) -> RetainedMessage:
        """Read one."""
        check_named(request)
        found = await SHELF.get(self._node, key_of(request))
        if found is None:
            raise Rejected(
                "NOT_FOUND", f"topic {request.topic} of {request.tenant} has no retained message"
            )
        return found

    async def GetBatch(
        self, request: GetRetainedMessagesRequest, context: object
    ) -> RetainedMessageLookups:
        """Read many, in the order of the request."""
        check_lookups("names", request.names, check_named)
        found = await SHELF.get_each(self._node, [key_of(each) for each in request.names])
        return RetainedMessageLookups(
            lookups=[RetainedMessageLookup(message=each) for each in found]
        )

    async def List(
        self, request: ListRetainedMessagesRequest, context: object
    ) -> RetainedMessagePage:
        """List a page."""
        page, token = await SHELF.page(self._node, Range.of(request), _wanted(request))
        return RetainedMessagePage(messages=page, next_page_token=token)

    async def StreamList(
        self, request: ListRetainedMessagesRequest, context: object
    ) -> AsyncIterator[RetainedMessagePage]:
        """List page by page, to the end."""
        async for page, token in SHELF.pages(self._node, Range.of(request), _wanted(request)):
            yield RetainedMessagePage(messages=page, next_page_token=token)


def _wanted(request: ListRetainedMessagesRequest) -> Callable[[RetainedMessage], bool] | None:
    if not request.topic_filter:
        return None
    check_topic_filter("topic_filter", request.topic_filter)
    return lambda message: matches(request.topic_filter, message.topic)


SERVICE: Final = GrpcService(
    service=retained_messages_pb2.DESCRIPTOR.services_by_name["RetainedMessageService"],
    servicer=RetainedMessageServicer,
)
