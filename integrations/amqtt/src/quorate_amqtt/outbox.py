"""The messages for one connected client: waiting, or sent without an acknowledgement."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from quorate_amqtt.messages import Delivery

#: Messages that a client may have without having acknowledged them.
WINDOW: Final = 32
_LARGEST_ID: Final = 0xFFFF

Write = Callable[[Delivery], Awaitable[None]]


class Outbox:
    """Messages in their order, for one connection after the other.

    First comes what an earlier connection has sent, then the queue in Quorate, then what is
    published now. `finished` is called with messages of the queue that are no longer needed.
    """

    def __init__(self, most: int, finished: Callable[[int], None]) -> None:
        self._most: Final = most
        self._finished: Final = finished
        #: Sent on an earlier connection, from the queue, and published now.
        self._again: Final[deque[Delivery]] = deque()
        self._queued: Final[deque[Delivery]] = deque()
        self._waiting: Final[deque[Delivery]] = deque()
        #: Messages sent and not acknowledged, by packet.
        self._sent: Final[dict[int, Delivery]] = {}
        self._last_id = 0
        self._changed: Final = asyncio.Event()
        #: More of the queue is being read: newly published messages wait for it.
        self._reading = False
        #: Messages that did not fit.
        self.dropped = 0

    def put(self, delivery: Delivery) -> None:
        """Add a message; the oldest one is dropped when too many wait."""
        if len(self._waiting) >= self._most:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append(delivery)
        self._changed.set()

    def put_queued(self, deliveries: Iterable[Delivery]) -> None:
        """Add messages of the queue in Quorate."""
        for delivery in deliveries:
            (self._again if delivery.packet_id else self._queued).append(delivery)
        self._changed.set()

    @property
    def queued(self) -> int:
        """The number of messages of the queue that were read and not sent."""
        return len(self._queued)

    def read(self, reading: bool) -> None:
        """Record whether the queue is being read."""
        self._reading = reading
        self._changed.set()

    def take_left(self) -> list[Delivery]:
        """Take out the unacknowledged messages, for the queue of the session."""
        left = [*self._again, *self._sent.values(), *self._waiting]
        self._again.clear()
        self._queued.clear()
        self._sent.clear()
        self._waiting.clear()
        return [delivery for delivery in left if delivery.qos]

    def acknowledge(self, packet_id: int, qos: int) -> bool:
        """Record the final acknowledgement of a message; return whether the id was in use."""
        delivery = self._sent.get(packet_id)
        if delivery is None or delivery.qos != qos:
            return False
        del self._sent[packet_id]
        self._finish(delivery)
        self._changed.set()
        return True

    def receive(self, packet_id: int) -> bool:
        """Record PUBREC for a message of quality 2; return whether the id was in use."""
        delivery = self._sent.get(packet_id)
        if delivery is None or delivery.qos != 2:
            return False
        delivery.received = True
        return True

    async def send(self, write: Write, window: int = WINDOW) -> None:
        """Send until it is cancelled; the next connection repeats unacknowledged messages."""
        for sent in self._sent.values():
            sent.again = True
        self._again.extendleft(reversed(self._sent.values()))
        self._sent.clear()
        while True:
            delivery = self._next(min(window, WINDOW))
            if delivery is None:
                self._changed.clear()
                await self._changed.wait()
                continue
            if delivery.message.expires_at_ms and not delivery.received and _over(delivery):
                self._finish(delivery)
                continue
            if delivery.qos:
                if not delivery.packet_id or delivery.packet_id in self._sent:
                    delivery.packet_id = self._free_id()
                self._sent[delivery.packet_id] = delivery
            await write(delivery)

    def _next(self, window: int) -> Delivery | None:
        """Take the next message, if it may be sent."""
        for source in (self._again, self._queued, self._waiting):
            if source is self._waiting and self._reading:
                return None
            if source:
                if source[0].qos and len(self._sent) >= window:
                    return None
                return source.popleft()
        return None

    def _free_id(self) -> int:
        taken = {delivery.packet_id for delivery in self._again}
        while True:
            self._last_id = self._last_id % _LARGEST_ID + 1
            if self._last_id not in self._sent and self._last_id not in taken:
                return self._last_id

    def _finish(self, delivery: Delivery) -> None:
        if delivery.number:
            self._finished(delivery.number)

    def __len__(self) -> int:
        """Return the number of messages that wait to be sent."""
        return len(self._again) + len(self._queued) + len(self._waiting)


def _over(delivery: Delivery) -> bool:
    return delivery.message.expires_at_ms <= time.time() * 1_000
