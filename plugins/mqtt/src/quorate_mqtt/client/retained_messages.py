"""Retained messages: the last one of each topic that was published to be retained."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from typing import Any, Final

from quorate.client import AsyncClient, Blocking, Records, blocking, iterating
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.retained_messages import RETAINED_MESSAGE
from quorate_mqtt.v1 import retained_messages_pb2 as pb


class RetainedMessages:
    """Writes and reads retained messages."""

    def __init__(self, q: AsyncClient) -> None:
        self._records: Final[Records[pb.RetainedMessage]] = q.records(RETAINED_MESSAGE)

    async def put(
        self,
        tenant: str,
        topic: str,
        payload: bytes,
        *,
        qos: int = 0,
        properties: bytes = b"",
        expiry_ms: int | None = None,
    ) -> pb.RetainedStamp:
        """Keep a message in place of the one that there is; without `expiry_ms` for good."""
        message = pb.PutRetainedMessageRequest(
            tenant=tenant,
            topic=topic,
            payload=payload,
            qos=qos,
            properties=properties,
            expiry_ms=expiry_ms,
        )
        stamp: pb.RetainedStamp = await self._records.do("Put", message)
        return stamp

    async def put_many(self, messages: Iterable[pb.PutRetainedMessageRequest]) -> BatchReply:
        """Keep many; the reply names those that were refused by their positions."""
        reply: BatchReply = await self._records.do("Put", messages)
        return reply

    async def delete(self, *key: Any) -> BatchReply | None:
        """Keep nothing of a tenant's topic any more, or of a list of such pairs.

        That there is nothing is no failure.
        """
        reply: BatchReply | None = await self._records.delete(*key)
        return reply

    async def get(self, *key: Any) -> Any:
        """Return what is kept of a tenant's topic, or None; of a list of such pairs a list."""
        return await self._records.get(*key)

    async def list(self, /, **conditions: Any) -> AsyncGenerator[pb.RetainedMessage, None]:
        """Yield messages in the order of tenants and topics; `conditions` as in `Records.list`."""
        async for message in self._records.list(**conditions):
            yield message


class SyncRetainedMessages(Blocking[RetainedMessages]):
    """The same, without `await`."""

    put = blocking(RetainedMessages.put)
    put_many = blocking(RetainedMessages.put_many)
    delete = blocking(RetainedMessages.delete)
    get = blocking(RetainedMessages.get)
    list = iterating(RetainedMessages.list)
