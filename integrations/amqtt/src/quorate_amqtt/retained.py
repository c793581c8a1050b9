"""The retained messages of a tenant: Quorate has them, and a broker knows them by a watch."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import aclosing, suppress
from typing import Final

from quorate.client import AsyncClient, ChangeKind, WatchedChange
from quorate.plugin import keys
from quorate_mqtt.retained_messages import RETAINED_MESSAGE
from quorate_mqtt.topic_filters import group_of
from quorate_mqtt.v1.retained_messages_pb2 import RetainedMessage

from quorate_amqtt.messages import Message
from quorate_amqtt.state import State
from quorate_amqtt.topic_trees import TopicTree

#: Seconds to wait until the watch shows a write; after that the write is answered anyway.
_SEEN_S: Final = 2.0


class RetainedMessages:
    """Retained messages by topic; a write of this broker is visible here when it returns."""

    def __init__(self, state: State) -> None:
        self._state: Final = state
        self._messages: Final[TopicTree[RetainedMessage]] = TopicTree()
        #: Topics listed since the watch began anew.
        self._given: set[str] | None = set()
        self._changed: Final = asyncio.Condition()
        #: All of them are there.
        self.known: Final = asyncio.Event()

    async def follow(self, q: AsyncClient, tenant: str) -> None:
        """Follow the rows for ever."""
        watch = q.watch(RETAINED_MESSAGE.family, prefix=keys.pack(tenant), marks=True)
        async with aclosing(watch) as changes:
            async for change in changes:
                self.see(change)
                async with self._changed:
                    self._changed.notify_all()

    def see(self, change: WatchedChange) -> None:
        """Apply a change."""
        match change.kind:
            case ChangeKind.RESYNC:
                self._given = set()
            case ChangeKind.LISTED:
                if self._given is not None:
                    for topic in set(self._messages.topics()) - self._given:
                        self._messages.drop(topic)
                self._given = None
                self.known.set()
            case ChangeKind.BOOKMARK:
                pass
            case ChangeKind.DELETED:
                self._messages.drop(str(keys.unpack(change.key)[1]))
            case _:
                message = RetainedMessage.FromString(change.value)
                self._messages.put(message.topic, message)
                if self._given is not None:
                    self._given.add(message.topic)

    async def publish(self, message: Message) -> None:
        """Retain a message, or clear the one of its topic where it is empty; then it is durable."""
        stored_at_ms = None
        if message.payload:
            stored_at_ms = await self._state.retain(message)
        else:
            await self._state.clear(message.topic)
        await self._seen(message.topic, stored_at_ms)

    def matching(self, topic_filter: str) -> Iterator[Message]:
        """Yield the messages for a new subscription; a shared one gets none."""
        if not group_of(topic_filter):
            for each in self._messages.match(topic_filter):
                yield Message(
                    each.topic,
                    each.payload,
                    each.qos,
                    properties=each.properties,
                    expires_at_ms=each.expires_at_ms,
                )

    def __len__(self) -> int:
        return len(self._messages)

    async def _seen(self, topic: str, stored_at_ms: int | None) -> None:
        """Wait until the watch shows a write, or a later one."""

        def shown() -> bool:
            found = self._messages.get(topic)
            if stored_at_ms is None:
                return found is None
            return found is not None and found.stored_at_ms >= stored_at_ms

        with suppress(TimeoutError):
            async with asyncio.timeout(_SEEN_S), self._changed:
                await self._changed.wait_for(shown)
