"""Retained messages: the last of each topic that was published to be kept."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Final

from google.protobuf.empty_pb2 import Empty
from quorate.client import AsyncClient, Blocking, blocking, iterating
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.batches import Batch
from quorate_mqtt.client import batching, reading
from quorate_mqtt.client.reading import Listing
from quorate_mqtt.shards import GROUP, topic_shard
from quorate_mqtt.v1.retained_messages_pb2 import (
    DeleteRetainedMessages,
    ListRetainedMessagesRequest,
    PutRetainedMessageRequest,
    PutRetainedMessages,
    RetainedMessage,
    RetainedMessagePage,
    RetainedName,
    RetainedStamp,
)

_SERVICE: Final = "/quorate_mqtt.v1.RetainedMessageService/"
_WRITING: Final = Batch[PutRetainedMessageRequest](message=PutRetainedMessages, field="messages")
_DELETION: Final = Batch[RetainedName](message=DeleteRetainedMessages, field="names")
_LISTING: Final[Listing[ListRetainedMessagesRequest, RetainedMessagePage, RetainedMessage]] = (
    Listing(
        method=f"{_SERVICE}List",
        page=RetainedMessagePage,
        rows=lambda page: (page.messages, page.next_page_token),
    )
)


class RetainedMessages:
    """Writes and reads retained messages."""

    def __init__(self, q: AsyncClient) -> None:
        self._q: Final = q

    async def put(
        self,
        tenant: str,
        topic: str,
        payload: bytes,
        *,
        qos: int = 0,
        properties: bytes = b"",
        expiry_ms: int | None = None,
    ) -> RetainedStamp:
        """Keep a message in place of the one that there is; without `expiry_ms` for good."""
        request = PutRetainedMessageRequest(
            tenant=tenant,
            topic=topic,
            payload=payload,
            qos=qos,
            properties=properties,
            expiry_ms=expiry_ms,
        )
        return await self._q.call(
            f"{_SERVICE}Put",
            request,
            RetainedStamp,
            group=GROUP,
            shard_key=topic_shard(tenant, topic),
        )

    async def put_many(self, messages: Iterable[PutRetainedMessageRequest]) -> BatchReply:
        """Keep many; the reply names those that were refused by their positions."""
        return await batching.execute(self._q, _WRITING.of, messages)

    async def delete(self, tenant: str, topic: str) -> None:
        """Keep nothing of a topic any more; that there is nothing is no failure."""
        await self._q.call(
            f"{_SERVICE}Delete",
            RetainedName(tenant=tenant, topic=topic),
            Empty,
            group=GROUP,
            shard_key=topic_shard(tenant, topic),
        )

    async def delete_many(self, tenant: str, topics: Iterable[str]) -> BatchReply:
        """Keep nothing of many topics any more."""
        named = (RetainedName(tenant=tenant, topic=topic) for topic in topics)
        return await batching.execute(self._q, _DELETION.of, named)

    async def get(self, tenant: str, topic: str) -> RetainedMessage | None:
        """Return what is kept of a topic; None if there is nothing."""
        return await reading.get(
            self._q,
            f"{_SERVICE}Get",
            RetainedName(tenant=tenant, topic=topic),
            RetainedMessage,
            shard_key=topic_shard(tenant, topic),
        )

    async def list(
        self, request: ListRetainedMessagesRequest
    ) -> AsyncGenerator[RetainedMessage, None]:
        """Yield the messages that fit, in the order of tenants and topics."""
        async for message in _LISTING.read(self._q, request):
            yield message


class SyncRetainedMessages(Blocking[RetainedMessages]):
    """The same, without `await`."""

    put = blocking(RetainedMessages.put)
    put_many = blocking(RetainedMessages.put_many)
    delete = blocking(RetainedMessages.delete)
    delete_many = blocking(RetainedMessages.delete_many)
    get = blocking(RetainedMessages.get)
    list = iterating(RetainedMessages.list)
