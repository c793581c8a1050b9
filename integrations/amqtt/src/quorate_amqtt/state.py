"""The writes and reads of a broker in Quorate on behalf of its clients.

Each call may be repeated, and is while its outcome is unknown, until its deadline. So a change of
a leader costs a client some time, and not its connection.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from quorate.client import AsyncClient, OutcomeUnknownError, RejectedError
from quorate.v1.batch_pb2 import ItemRefusal
from quorate_mqtt.client import Mqtt
from quorate_mqtt.retained_messages import LONGEST_EXPIRY_MS
from quorate_mqtt.topic_filters import group_of, unshared
from quorate_mqtt.v1 import (
    retained_messages_pb2,
    sessions_pb2,
    shared_groups_pb2,
    subscriptions_pb2,
)

from quorate_amqtt.away import options_of
from quorate_amqtt.messages import Message
from quorate_amqtt.packets import Options

R = TypeVar("R")

#: By the value in a subscription of MQTT 5.
_RETAIN_HANDLING: Final = (
    subscriptions_pb2.RETAIN_HANDLING_UNSPECIFIED,
    subscriptions_pb2.RETAIN_HANDLING_ON_NEW_SUBSCRIBE,
    subscriptions_pb2.RETAIN_HANDLING_NEVER,
)
#: Refusals for a session that belongs to another broker now, or is gone.
_GONE: Final = frozenset({"TAKEN_OVER", "NOT_FOUND"})


class SessionLostError(Exception):
    """The session of a client is not this connection's any more: close the connection."""


class State:
    """The state of one tenant's clients, as one registration of a broker changes it."""

    def __init__(
        self, q: AsyncClient, tenant: str, broker: str, broker_epoch: int, timeout_s: float
    ) -> None:
        self._mqtt: Final = Mqtt(q)
        self._tenant: Final = tenant
        self._broker: Final = broker
        self._epoch: Final = broker_epoch
        self._timeout_s: Final = timeout_s

    async def connect(self, connection: sessions_pb2.SessionConnect) -> sessions_pb2.ConnectReply:
        """Connect a client; it always wins over the broker that serves it."""
        return await self._settled(
            lambda: self._mqtt.sessions.connect(self._broker, self._epoch, connection)
        )

    async def sessions(self, client_ids: Sequence[str]) -> set[str]:
        """Return which of these clients have a session."""
        return set(await self._mqtt.sessions.get_many(self._tenant, client_ids))

    async def subscriptions(self, client_id: str) -> dict[str, Options]:
        """Return the filters of a client, and the options of each."""
        found = await self._mqtt.subscriptions_of(self._tenant, client_id)
        return {each.filter: options_of(each.subscription) for each in found}

    async def subscribe(
        self, client_id: str, generation: int, filters: Mapping[str, Options]
    ) -> set[str]:
        """Subscribe a client to filters; return the refused filters."""
        items = [
            subscriptions_pb2.SetSubscription(
                tenant=self._tenant,
                client_id=client_id,
                filter=topic_filter,
                generation=generation,
                qos=options.qos,
                no_local=options.no_local,
                retain_as_published=options.retain_as_published,
                retain_handling=_RETAIN_HANDLING[options.retain_handling],
                identifier=options.identifier,
            )
            for topic_filter, options in filters.items()
        ]
        return {items[refusal.item].filter for refusal in await self._subscriptions("Set", items)}

    async def unsubscribe(self, client_id: str, generation: int, filters: Sequence[str]) -> None:
        """End subscriptions of a client; missing ones are ignored."""
        items = [
            subscriptions_pb2.DeleteSubscription(
                tenant=self._tenant,
                client_id=client_id,
                filter=topic_filter,
                generation=generation,
                missing_ok=True,
            )
            for topic_filter in filters
        ]
        await self._subscriptions("Delete", items)

    async def _subscriptions(self, verb: str, items: Sequence[Any]) -> Sequence[ItemRefusal]:
        """Return the refusals of items of a session that is still this connection's."""
        reply = await self._settled(lambda: self._mqtt.subscriptions.do(verb, items))
        for refusal in reply.refusals:
            if refusal.code in _GONE:
                raise SessionLostError(refusal.message)
        return reply.refusals

    async def join(self, client_id: str, filters: Sequence[str]) -> None:
        """Make a client a member of the groups of those of its filters that are shared."""
        await self._members(
            "Join",
            [
                shared_groups_pb2.JoinSharedGroup(
                    **self._member(client_id, each), broker=self._broker
                )
                for each in filters
                if group_of(each)
            ],
        )

    async def leave(self, client_id: str, filters: Iterable[str]) -> None:
        """Take a client out of the groups of those filters that are shared."""
        await self._members(
            "Leave",
            [
                shared_groups_pb2.LeaveSharedGroup(**self._member(client_id, each))
                for each in filters
                if group_of(each)
            ],
        )

    def _member(self, client_id: str, topic_filter: str) -> dict[str, Any]:
        return {
            "tenant": self._tenant,
            "group": group_of(topic_filter),
            "client_id": client_id,
            "filter": unshared(topic_filter),
            "broker_epoch": self._epoch,
        }

    async def _members(self, verb: str, items: Sequence[Any]) -> None:
        if items:
            await self._settled(lambda: self._mqtt.shared_group_members.do(verb, items))

    async def disconnect(
        self,
        client_id: str,
        generation: int,
        *,
        discard_will: bool,
        expiry_s: int | None = None,
    ) -> bool:
        """Report the end of a connection; returns whether the session ended with it.

        It may be another connection's by now, of this broker or another one: then it goes on there.
        """
        try:
            reply = await self._settled(
                lambda: self._mqtt.sessions.disconnect(
                    self._tenant,
                    client_id,
                    generation,
                    discard_will=discard_will,
                    expiry_interval_s=expiry_s,
                )
            )
        except RejectedError as error:
            if error.code in _GONE:
                return error.code == "NOT_FOUND"
            raise
        return reply.ended

    async def retain(self, message: Message) -> int:
        """Keep a message as the retained one of its topic; returns when it was stored."""
        put = retained_messages_pb2.PutRetainedMessageRequest(
            tenant=self._tenant,
            topic=message.topic,
            payload=message.payload,
            qos=message.qos,
            properties=message.properties,
        )
        if message.expires_at_ms:
            left_ms = message.expires_at_ms - int(time.time() * 1_000)
            put.expiry_ms = min(LONGEST_EXPIRY_MS, max(1, left_ms))
        stamp = await self._settled(lambda: self._mqtt.retained_messages.put(put))
        stored_at_ms: int = stamp.stored_at_ms
        return stored_at_ms

    async def clear(self, topic: str) -> None:
        """Delete the retained message of a topic, if there is one."""
        await self._settled(lambda: self._mqtt.retained_messages.delete(self._tenant, topic))

    async def _settled(self, call: Callable[[], Awaitable[R]]) -> R:
        """Return the answer to a call that may be sent any number of times."""
        async with asyncio.timeout(self._timeout_s):
            while True:
                try:
                    return await call()
                except OutcomeUnknownError:
                    # It may still be on its way: a moment later it is done or it is not.
                    await asyncio.sleep(_AGAIN_S)


_AGAIN_S: Final = 0.05
