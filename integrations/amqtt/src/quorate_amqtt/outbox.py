"""The messages for one client: they are sent while it is connected, and wait while it is away."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from quorate_amqtt.messages import Message

#: Messages that a client may have without having acknowledged them.
WINDOW: Final = 32

Deliver = Callable[[Message], Awaitable[bool]]


class Outbox:
    """Messages in their order, for one connection after the other."""

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._waiting: deque[Message] = deque()
        self._arrived: Final = asyncio.Event()
        #: Messages that did not fit.
        self.dropped = 0

    def put(self, message: Message) -> None:
        """Add a message; where too many wait, the oldest one is dropped."""
        if len(self._waiting) >= self._most:
            self._waiting.popleft()
            self.dropped += 1
        self._waiting.append(message)
        self._arrived.set()

    def extend(self, messages: Iterable[Message]) -> None:
        """Add messages."""
        for message in messages:
            self.put(message)

    def take_all(self) -> list[Message]:
        """Take out what waits, for whoever serves the client now."""
        taken = [message for message in self._waiting if message.qos]
        self._waiting.clear()
        return taken

    async def send(self, deliver: Deliver) -> None:
        """Deliver until it is cancelled; what was not acknowledged goes to the next connection.

        `deliver` tells whether the client has the message.
        """
        free = asyncio.Semaphore(WINDOW)
        #: What was not acknowledged, in the order of sending.
        sent: dict[int, Message] = {}
        numbers = itertools.count()
        flights: set[asyncio.Task[None]] = set()
        try:
            while True:
                while not self._waiting:
                    self._arrived.clear()
                    await self._arrived.wait()
                await free.acquire()
                if not self._waiting:
                    free.release()
                    continue
                message = self._waiting.popleft()
                if not message.qos:
                    free.release()
                    await deliver(message)
                    continue
                number = next(numbers)
                sent[number] = message
                flight = asyncio.create_task(_fly(deliver, message, sent, number))
                flights.add(flight)
                flight.add_done_callback(flights.discard)
                flight.add_done_callback(lambda _: free.release())
        finally:
            for flight in flights:
                flight.cancel()
            await asyncio.gather(*flights, return_exceptions=True)
            again = [message._replace(again=True) for message in sent.values()]
            self._waiting.extendleft(reversed(again))
            # The next connection may have begun already.
            self._arrived.set()

    def __len__(self) -> int:
        """Return how many messages wait to be sent."""
        return len(self._waiting)


async def _fly(deliver: Deliver, message: Message, sent: dict[int, Message], number: int) -> None:
    if await deliver(message):
        del sent[number]
