"""The queues of sessions in Quorate: messages for clients that are away.

Messages of all clients are written by one call after the other, each with all that has come since
the one before. So the messages of a client keep their order, and a publisher waits for two calls at
most.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any, Final

from quorate.client import AsyncClient, InvalidError, QuorateError, Records, RejectedError
from quorate_mqtt.client import Mqtt
from quorate_mqtt.v1 import queued_messages_pb2 as pb

from quorate_amqtt.messages import Delivery, Message

_LOG: Final = logging.getLogger(__name__)
#: Seconds until a call without an answer is retried.
_AGAIN_S: Final = 0.2
#: Messages of one call.
_MOST: Final = 1_000

#: Told the broker that a client is connected to, and the client, when its queue has grown.
Wake = Callable[[int, str], None]


class Backlog:
    """Adds to the queues of a tenant's sessions, reads them, and deletes from them."""

    def __init__(self, q: AsyncClient, tenant: str, most: int, most_bytes: int, wake: Wake) -> None:
        self._records: Final[Records[Any]] = Mqtt(q).queued_messages
        self._tenant: Final = tenant
        self._like: Final = pb.AppendMessages(most_messages=most, most_bytes=most_bytes)
        self._wake: Final = wake
        self._appends: list[tuple[pb.AppendMessage, asyncio.Future[None]]] = []
        self._last: asyncio.Future[None] | None = None
        self._deletions: list[pb.QueuedMessageName] = []
        self._appended: Final = asyncio.Event()
        self._deleted: Final = asyncio.Event()
        #: Nothing is to be deleted.
        self._clean: Final = asyncio.Event()
        self._clean.set()

    def append(
        self, client_id: str, delivery: Delivery, created_at_ms: int = 0
    ) -> asyncio.Future[None]:
        """Add a message to a queue, or replace the one of its number; done when it is durable.

        It is added to no session that was created at another time.
        """
        message, done = delivery.message, asyncio.get_running_loop().create_future()
        item = pb.AppendMessage(
            tenant=self._tenant,
            client_id=client_id,
            number=delivery.number,
            session_created_at_ms=created_at_ms,
            topic=message.topic,
            payload=message.payload,
            qos=delivery.qos,
            retain=delivery.retain,
            properties=message.properties + delivery.identifiers,
            expires_at_ms=message.expires_at_ms,
            packet_id=delivery.packet_id,
            received=delivery.received,
            origin_epoch=message.origin[0],
            origin_number=message.origin[1],
        )
        self._appends.append((item, done))
        self._last = done
        self._appended.set()
        return done

    def delete(self, client_id: str, number: int) -> None:
        """Delete a message that its client has, soon."""
        self._deletions.append(
            pb.QueuedMessageName(tenant=self._tenant, client_id=client_id, number=number)
        )
        self._clean.clear()
        self._deleted.set()

    async def flush(self) -> None:
        """Wait until all that was given until now is written."""
        if self._last is not None:
            await asyncio.wait({self._last})
        await self._clean.wait()

    async def read(self, client_id: str, after: int) -> AsyncIterator[Delivery]:
        """Yield the messages of a client after a number, in their order."""
        async for row in self._records.list(tenant=self._tenant, client_id=client_id):
            if row.number > after:
                yield _delivery_of(row)

    async def run(self) -> None:
        """Write, without an end."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._append_all())
            tasks.create_task(self._delete_all())

    async def _append_all(self) -> None:
        while True:
            while not self._appends:
                self._appended.clear()
                await self._appended.wait()
            part, self._appends = self._appends[:_MOST], self._appends[_MOST:]
            reply = await self._settled("Append", [item for item, _ in part], self._like)
            for (item, done), answer in zip(part, reply, strict=True):
                if not done.done():
                    done.set_result(None)
                epoch = pb.AppendReply.FromString(answer).broker_epoch
                if epoch:
                    self._wake(epoch, item.client_id)

    async def _delete_all(self) -> None:
        while True:
            self._deleted.clear()
            await self._deleted.wait()
            while self._deletions:
                part, self._deletions = self._deletions[:_MOST], self._deletions[_MOST:]
                await self._settled("Delete", part, None)
            self._clean.set()

    async def _settled(self, verb: str, items: Sequence[Any], like: Any) -> Sequence[bytes]:
        """Return the answers to items, empty for refused items."""
        while True:
            try:
                reply = await self._records.do(verb, items, like=like)
            except (InvalidError, RejectedError) as error:
                _LOG.warning("messages that wait are refused: %s", error)
                return [b""] * len(items)
            except QuorateError:
                await asyncio.sleep(_AGAIN_S)
                continue
            for refusal in reply.refusals:
                if refusal.code != "NOT_FOUND":
                    _LOG.warning("a message that waits is refused: %s", refusal.message)
            return list(reply.replies) or [b""] * len(items)


def _delivery_of(row: pb.QueuedMessage) -> Delivery:
    message = Message(
        topic=row.topic,
        payload=row.payload,
        qos=row.qos,
        properties=row.properties,
        expires_at_ms=row.expires_at_ms,
        origin=(row.origin_epoch, row.origin_number),
    )
    return Delivery(
        message=message,
        qos=row.qos,
        retain=row.retain,
        number=row.number,
        packet_id=row.packet_id,
        again=row.packet_id > 0,
        received=row.received,
    )
