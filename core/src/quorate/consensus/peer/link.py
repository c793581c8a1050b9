"""One lane to one node: a queue, and the connection that it goes out on."""

import asyncio
import random
import ssl
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final

from quorate.consensus.messages import Lane, Message, Peer
from quorate.consensus.peer.connection import Connection
from quorate.consensus.peer.frames import MESSAGE_OVERHEAD, encode_frame, size_of
from quorate.consensus.peer.streams import StreamLimits, tls_fault
from quorate.consensus.peer.wire import (
    OPENING_BYTES,
    Answer,
    Handshake,
    MalformedMessageError,
    decode_answer,
    decode_opening,
    encode_handshake,
    encode_opening,
)


class LinkRefusedError(Exception):
    """One end refused the other; the text says why."""


class _BrokenError(Exception):
    """The connection ended or cannot be made."""


class Link:
    """Sends on one lane to one node, in order, and drops what it cannot send.

    Messages are dropped while there is no connection. After a loss, by a disconnect or a full
    queue, `remade` is called once new messages will arrive. Messages of one turn of the loop share
    a frame, up to its limit.

    With `tls` the other end must have a certificate of `name`.

    `locate` returns the node's address, or None if it cannot be determined now.
    """

    def __init__(
        self,
        lane: Lane,
        limits: StreamLimits,
        *,
        locate: Callable[[], Awaitable[tuple[str, int] | None]],
        handshake: Callable[[], Handshake],
        judge: Callable[[Answer], str | None],
        refused: Callable[[str], None],
        remade: Callable[[], None],
        rng: random.Random,
        tls: ssl.SSLContext | None = None,
        name: str | None = None,
    ) -> None:
        self._lane: Final[Lane] = lane
        self._limits: Final = limits
        self._locate: Final = locate
        self._handshake: Final = handshake
        self._judge: Final = judge
        self._refused: Final = refused
        self._remade: Final = remade
        self._rng: Final = rng
        self._tls: Final = tls
        self._name: Final = name
        self._loop: Final = asyncio.get_running_loop()
        self._queue: Final[deque[tuple[str, Message, int]]] = deque()
        self._queued_bytes = 0
        self._most_bytes: Final = limits.queue_bytes(lane)
        self._lost = False
        self._connection: Connection | None = None
        #: The replica at the other end.
        self._there: Peer | None = None
        self._sending: asyncio.Handle | None = None
        #: Set when the node was heard of since the last attempt to connect.
        self._heard: Final = asyncio.Event()
        self.frames = 0
        self.messages = 0
        self.entry_bytes = 0
        self.dropped = 0
        self.connections = 0

    @property
    def stands(self) -> bool:
        """Whether there is a connection."""
        return self._connection is not None

    @property
    def there(self) -> Peer | None:
        """The replica at the other end; None: there is no connection."""
        return self._there

    def put(self, shard: str, message: Message) -> None:
        """Enqueue a message, or drop it; one for a former replica of the node is dropped."""
        size = size_of(message)
        if self._connection is None or message.target != self._there:
            self.dropped += 1
        elif self._queue and self._queued_bytes + size > self._most_bytes:
            self.dropped += 1
            self._lost = True
        else:
            self._queue.append((shard, message, size))
            self._queued_bytes += size
            if self._sending is None and self._connection.writable:
                self._sending = self._loop.call_soon(self._send_queued)

    def heard(self) -> None:
        """Connect without a long pause if there is no connection: the node is up."""
        self._heard.set()

    async def run(self) -> None:
        """Connect, send, and connect again, until cancelled."""
        pause = self._limits.retry_min_s
        while True:
            stood_at = self._loop.time()
            self._heard.clear()
            try:
                await self._converse()
            except LinkRefusedError as error:
                self._refused(str(error))
            except ssl.SSLError as error:
                self._refused(tls_fault(str(error)) or f"TLS with it fails: {error.reason}")
            except (OSError, TimeoutError, _BrokenError):
                pass
            finally:
                self._break()
            # Back off from a connection that breaks right away.
            if self._loop.time() - stood_at > self._limits.retry_max_s:
                pause = self._limits.retry_min_s
            await self._pause(pause * self._rng.uniform(0.5, 1.0))
            pause = min(2 * pause, self._limits.retry_max_s)

    async def _pause(self, pause_s: float) -> None:
        shortest_s = min(pause_s, self._limits.retry_min_s)
        await asyncio.sleep(shortest_s)
        with suppress(TimeoutError):
            async with asyncio.timeout(pause_s - shortest_s):
                await self._heard.wait()

    async def _converse(self) -> None:
        found = await self._locate()
        if found is None:
            raise _BrokenError
        host, port = found
        end = _End(self._send_queued)
        async with asyncio.timeout(self._limits.answer_s):
            _, connection = await self._loop.create_connection(
                lambda: Connection(end, OPENING_BYTES, self._limits.silent_s),
                host,
                port,
                ssl=self._tls,
                server_hostname=None if self._tls is None else self._name,
            )
        try:
            async with asyncio.timeout(self._limits.answer_s):
                self._there = await self._shake_hands(connection, end)
            self._connection = connection
            self.connections += 1
            self._remade()
            await end.ended
        finally:
            connection.abort()

    async def _shake_hands(self, connection: Connection, end: "_End") -> Peer:
        connection.write(encode_opening(self._lane, encode_handshake(self._handshake())))
        try:
            _, content = decode_opening(memoryview(await end.answered()))
            answer = decode_answer(content)
        except MalformedMessageError as error:
            raise LinkRefusedError(error.reason) from None
        reason = self._judge(answer)
        if reason is not None:
            raise LinkRefusedError(reason)
        return answer.handshake.peer

    def _send_queued(self) -> None:
        self._sending = None
        connection = self._connection
        if connection is None:
            return
        while self._queue and connection.writable:
            connection.write(encode_frame(self._take_frame()))
        if self._lost and not self._queue:
            self._lost = False
            self._remade()

    def _take_frame(self) -> list[tuple[str, Message]]:
        taken: list[tuple[str, Message]] = []
        room = self._limits.frame_bytes
        while self._queue and (not taken or self._queue[0][2] <= room):
            shard, message, size = self._queue.popleft()
            room -= size
            self._queued_bytes -= size
            taken.append((shard, message))
            self.entry_bytes += size - MESSAGE_OVERHEAD
        self.frames += 1
        self.messages += len(taken)
        return taken

    def _break(self) -> None:
        self._connection = self._there = None
        self.dropped += len(self._queue)
        self._queue.clear()
        self._queued_bytes = 0
        self._lost = False


class _End:
    """Reads the answer on an outgoing connection, and nothing else."""

    def __init__(self, has_room: Callable[[], None]) -> None:
        self.has_room: Final = has_room
        loop = asyncio.get_running_loop()
        self._answer: Final[asyncio.Future[bytes]] = loop.create_future()
        #: Done when the connection has ended.
        self.ended: Final[asyncio.Future[None]] = loop.create_future()

    async def answered(self) -> bytes:
        """Return the first frame; raises `_BrokenError` when the connection ends before it."""
        either: list[asyncio.Future[Any]] = [self._answer, self.ended]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if not self._answer.done():
            raise _BrokenError
        return self._answer.result()

    def opened(self, _: Connection) -> None:
        """Do nothing: this end sends first."""

    def read(self, content: memoryview) -> None:
        """Process the answer; ignore everything after it."""
        if not self._answer.done():
            self._answer.set_result(bytes(content))

    def oversized(self, _: int) -> None:
        """The answer exceeds the limit; the connection ends."""

    def closed(self) -> None:
        """End the wait."""
        if not self.ended.done():
            self.ended.set_result(None)


async def ended(task: "asyncio.Task[None]") -> None:
    """Cancel a task and wait for its end."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
