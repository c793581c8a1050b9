"""Topics: their partitions, where their messages are kept, and how long."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Final

from quorate.client import AsyncClient, Blocking, blocking, iterating
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.batches import Batch
from quorate_mqtt.client import batching, reading
from quorate_mqtt.client.reading import Listing
from quorate_mqtt.shards import tenant_shard
from quorate_mqtt.v1.topics_pb2 import (
    CreateTopicRequest,
    CreateTopics,
    DeleteTopicsRequest,
    GrowTopicRequest,
    GrowTopics,
    ListTopicsRequest,
    PutTopics,
    Topic,
    TopicName,
    TopicPage,
    UpdateTopicRequest,
    UpdateTopics,
)

_SERVICE: Final = "/quorate_mqtt.v1.TopicService/"
_CREATION: Final = Batch[Topic](message=CreateTopics, field="topics")
_PUTS: Final = Batch[Topic](message=PutTopics, field="topics")
_UPDATES: Final = Batch[UpdateTopicRequest](message=UpdateTopics, field="topics")
_GROWTH: Final = Batch[GrowTopicRequest](message=GrowTopics, field="topics")
_LISTING: Final[Listing[ListTopicsRequest, TopicPage, Topic]] = Listing(
    method=f"{_SERVICE}List", page=TopicPage, rows=lambda page: (page.topics, page.next_page_token)
)


class Topics:
    """Writes and reads topics."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q

    async def create(self, topic: Topic) -> Topic:
        """Make a topic; ALREADY_EXISTS if there is one, LIMIT_REACHED if the tenant is full."""
        return await self._q.call(f"{_SERVICE}Create", CreateTopicRequest(topic=topic), Topic)

    async def create_many(self, topics: Iterable[Topic]) -> BatchReply:
        """Make many; the reply names those that were refused by their positions."""
        return await batching.execute(self._q, _CREATION.of, topics)

    async def put(self, topic: Topic) -> Topic:
        """Make a topic, or replace description and configuration of the one of that name.

        It may be given more partitions; storage, source and replication stay.
        """
        return await self._q.call(f"{_SERVICE}Put", CreateTopicRequest(topic=topic), Topic)

    async def put_many(self, topics: Iterable[Topic]) -> BatchReply:
        """Make or replace many; the reply names those that were refused by their positions."""
        return await batching.execute(self._q, _PUTS.of, topics)

    async def update(self, request: UpdateTopicRequest) -> Topic:
        """Change what is given: what is not empty, or what `update_mask` names."""
        return await self._q.call(f"{_SERVICE}Update", request, Topic)

    async def update_many(self, requests: Iterable[UpdateTopicRequest]) -> BatchReply:
        """Change those of many; the reply names those that were refused by their positions."""
        return await batching.execute(self._q, _UPDATES.of, requests)

    async def grow(self, tenant: str, name: str, partitions: int) -> Topic:
        """Give a topic more partitions than it has; there is no way back."""
        request = GrowTopicRequest(tenant=tenant, name=name, partitions=partitions)
        return await self._q.call(f"{_SERVICE}Grow", request, Topic)

    async def grow_many(self, requests: Iterable[GrowTopicRequest]) -> BatchReply:
        """Give many more partitions; the reply names those that were refused by their positions."""
        return await batching.execute(self._q, _GROWTH.of, requests)

    async def delete(self, tenant: str, name: str, *, missing_ok: bool = False) -> Topic:
        """Mark a topic for deletion; `finalizers` says who has something of it still.

        NOT_FOUND if there is none; with `missing_ok` an empty topic is returned.
        """
        named = TopicName(tenant=tenant, name=name, missing_ok=missing_ok)
        return await self._q.call(f"{_SERVICE}Delete", named, Topic)

    async def delete_many(
        self, tenant: str, names: Iterable[str], *, missing_ok: bool = False
    ) -> BatchReply:
        """Mark many of a tenant; each reply in the reply is a `Topic`."""
        topics = [TopicName(tenant=tenant, name=name, missing_ok=missing_ok) for name in names]
        request = DeleteTopicsRequest(topics=topics)
        return await self._q.call(f"{_SERVICE}DeleteBatch", request, BatchReply)

    async def get(self, tenant: str, name: str) -> Topic | None:
        """Return a topic, also one that is being deleted; None if there is none."""
        named = TopicName(tenant=tenant, name=name)
        return await reading.get(
            self._q, f"{_SERVICE}Get", named, Topic, shard_key=tenant_shard(tenant)
        )

    async def list(self, request: ListTopicsRequest) -> AsyncGenerator[Topic, None]:
        """Yield the topics that fit, in the order of tenants and names."""
        async for topic in _LISTING.read(self._q, request):
            yield topic


class SyncTopics(Blocking[Topics]):
    """The same, without `await`."""

    create = blocking(Topics.create)
    create_many = blocking(Topics.create_many)
    put = blocking(Topics.put)
    put_many = blocking(Topics.put_many)
    update = blocking(Topics.update)
    update_many = blocking(Topics.update_many)
    grow = blocking(Topics.grow)
    grow_many = blocking(Topics.grow_many)
    delete = blocking(Topics.delete)
    delete_many = blocking(Topics.delete_many)
    get = blocking(Topics.get)
    list = iterating(Topics.list)
