"""The gRPC service: each call becomes a command or a read.

`Invalid` and `Rejected` pass through: the host answers them with the status of their code.
"""

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Final

from quorate.plugin import GrpcService, NodeApi, Rejected, propose_fitting, sift
from quorate.plugin.checking import check_choice
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.batches import only_reply
from quorate_mqtt.names import check_topic_filter
from quorate_mqtt.rows.reading import Range, check_lookups
from quorate_mqtt.topic_filters import matches
from quorate_mqtt.topics.families import CHANGE, CREATION, GROWTH, MARK, PUT, SHELF, key_of
from quorate_mqtt.topics.marking import name_finalizers
from quorate_mqtt.topics.validation import check_growth, check_named, check_topic, check_update
from quorate_mqtt.v1 import topics_pb2
from quorate_mqtt.v1.topics_pb2 import (
    CreateTopicRequest,
    CreateTopics,
    DeleteTopicsRequest,
    GetTopicsRequest,
    GrowTopicRequest,
    GrowTopics,
    ListTopicsRequest,
    PutTopics,
    Topic,
    TopicLookup,
    TopicLookups,
    TopicMark,
    TopicName,
    TopicPage,
    TopicSource,
    UpdateTopicRequest,
    UpdateTopics,
)


class TopicServicer:
    """Serves topics on every node, whether it holds a replica of the shard or not."""

    def __init__(self, node: NodeApi) -> None:
        self._node: Final = node

    async def Create(self, request: CreateTopicRequest, context: object) -> Topic:
        """Make one topic."""
        check_topic(request.topic, "topic.")
        return only_reply(await self._node.propose(CREATION.of([request.topic]), BatchReply), Topic)

    async def CreateBatch(self, request: CreateTopics, context: object) -> BatchReply:
        """Make many topics in one proposal a shard."""
        return await propose_fitting(self._node, request, CREATION.field, check_topic)

    async def Update(self, request: UpdateTopicRequest, context: object) -> Topic:
        """Change what is given of one topic."""
        check_update(request)
        return only_reply(await self._node.propose(CHANGE.of([request]), BatchReply), Topic)

    async def UpdateBatch(self, request: UpdateTopics, context: object) -> BatchReply:
        """Change what is given of many topics in one proposal a shard."""
        return await propose_fitting(self._node, request, CHANGE.field, check_update)

    async def Put(self, request: CreateTopicRequest, context: object) -> Topic:
        """Make or replace one topic."""
        check_topic(request.topic, "topic.")
        return only_reply(await self._node.propose(PUT.of([request.topic]), BatchReply), Topic)

    async def PutBatch(self, request: PutTopics, context: object) -> BatchReply:
        """Make or replace many topics in one proposal a shard."""
        return await propose_fitting(self._node, request, PUT.field, check_topic)

    async def Grow(self, request: GrowTopicRequest, context: object) -> Topic:
        """Give one topic more partitions."""
        check_growth(request)
        return only_reply(await self._node.propose(GROWTH.of([request]), BatchReply), Topic)

    async def GrowBatch(self, request: GrowTopics, context: object) -> BatchReply:
        """Give many topics more partitions in one proposal a shard."""
        return await propose_fitting(self._node, request, GROWTH.field, check_growth)

    async def Delete(self, request: TopicName, context: object) -> Topic:
        """Mark one topic for deletion."""
        check_named(request)
        return only_reply(await self._mark([request]), Topic)

    async def DeleteBatch(self, request: DeleteTopicsRequest, context: object) -> BatchReply:
        """Mark many topics for deletion in one proposal a shard."""
        return await sift("topics", request.topics, check_named).carried_out(self._mark)

    async def Get(self, request: TopicName, context: object) -> Topic:
        """Read one topic."""
        check_named(request)
        found = await SHELF.get(self._node, key_of(request))
        if found is None:
            raise Rejected("NOT_FOUND", f"there is no topic {request.name} of {request.tenant}")
        return found

    async def GetBatch(self, request: GetTopicsRequest, context: object) -> TopicLookups:
        """Read many topics, in the order of the request."""
        check_lookups("names", request.names, check_named)
        found = await SHELF.get_each(self._node, [key_of(each) for each in request.names])
        return TopicLookups(lookups=[TopicLookup(topic=each) for each in found])

    async def List(self, request: ListTopicsRequest, context: object) -> TopicPage:
        """List a page of topics."""
        page, token = await SHELF.page(self._node, Range.of(request), _wanted(request))
        return TopicPage(topics=page, next_page_token=token)

    async def StreamList(
        self, request: ListTopicsRequest, context: object
    ) -> AsyncIterator[TopicPage]:
        """List page by page, to the end."""
        async for page, token in SHELF.pages(self._node, Range.of(request), _wanted(request)):
            yield TopicPage(topics=page, next_page_token=token)

    async def _mark(self, topics: Iterable[TopicName]) -> BatchReply:
        marked = MARK.of(
            [
                TopicMark(tenant=each.tenant, name=each.name, missing_ok=each.missing_ok)
                for each in topics
            ]
        )
        name_finalizers(self._node, marked)
        return await self._node.propose(marked, BatchReply)


def _wanted(request: ListTopicsRequest) -> Callable[[Topic], bool] | None:
    if not (request.topic_filter or request.source or request.HasField("deleting")):
        return None
    if request.topic_filter:
        check_topic_filter("topic_filter", request.topic_filter)
    if request.source:
        check_choice("source", request.source, TopicSource)
    return lambda topic: (
        (not request.topic_filter or matches(request.topic_filter, topic.name))
        and (not request.source or topic.source == request.source)
        and (not request.HasField("deleting") or bool(topic.deleting_at_ms) == request.deleting)
    )


SERVICE: Final = GrpcService(
    service=topics_pb2.DESCRIPTOR.services_by_name["TopicService"],
    servicer=TopicServicer,
)
