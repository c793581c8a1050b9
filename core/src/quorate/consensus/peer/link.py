"""One lane to one node: a queue, and the stream that it goes out on."""

import asyncio
import random
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import grpc
import grpc.aio

from quorate.consensus.messages import Append, Lane, Message, weight
from quorate.consensus.peer.streams import Call, StreamLimits, open_channel, open_stream, read
from quorate.consensus.peer.wire import (
    Answer,
    Handshake,
    MalformedMessageError,
    decode_answer,
    encode_frame,
    encode_handshake,
    size_of,
)


class LinkRefusedError(Exception):
    """One end of a stream does not want to talk to the other; the text says why."""


class _BrokenError(Exception):
    """The stream ended."""


class Link:
    """Sends on one lane to one node, in order, and drops what it cannot send.

    What is put while no stream stands is dropped. What is lost, by a break or by a full queue, is
    made known by `remade`, once what is put next will arrive.
    """

    def __init__(
        self,
        lane: Lane,
        address: str,
        limits: StreamLimits,
        *,
        handshake: Callable[[], Handshake],
        judge: Callable[[Answer], str | None],
        refused: Callable[[str], None],
        remade: Callable[[], None],
        rng: random.Random,
    ) -> None:
        self._lane: Final[Lane] = lane
        self._address: Final = address
        self._limits: Final = limits
        self._handshake: Final = handshake
        self._judge: Final = judge
        self._refused: Final = refused
        self._remade: Final = remade
        self._rng: Final = rng
        self._queue: Final[deque[tuple[str, Message, int]]] = deque()
        self._queued_bytes = 0
        self._most_bytes: Final = limits.queue_bytes(lane)
        self._lost = False
        self._wake: Final = asyncio.Event()
        self.stands = False
        self.frames = 0
        self.messages = 0
        self.entry_bytes = 0
        self.dropped = 0
        self.connections = 0

    def put(self, shard: str, message: Message) -> None:
        """Queue a message, or drop it."""
        size = size_of(message)
        if not self.stands:
            self.dropped += 1
        elif self._queue and self._queued_bytes + size > self._most_bytes:
            self.dropped += 1
            self._lost = True
        else:
            self._queue.append((shard, message, size))
            self._queued_bytes += size
            self._wake.set()

    async def run(self) -> None:
        """Connect, send, and connect again, until cancelled."""
        pause = self._limits.retry_min_s
        while True:
            channel = open_channel(self._address, self._limits)
            connections = self.connections
            try:
                await self._converse(channel)
            except LinkRefusedError as error:
                self._refused(str(error))
            except (grpc.RpcError, asyncio.InvalidStateError, TimeoutError, _BrokenError):
                pass
            finally:
                self._break()
                await channel.close(None)
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                # gRPC may answer a cancellation with the end of the stream alone.
                raise asyncio.CancelledError
            if self.connections > connections:
                pause = self._limits.retry_min_s
            await asyncio.sleep(pause * self._rng.uniform(0.5, 1.0))
            pause = min(2 * pause, self._limits.retry_max_s)

    async def _converse(self, channel: grpc.aio.Channel) -> None:
        call = open_stream(channel, self._lane)
        try:
            async with asyncio.timeout(self._limits.answer_s):
                await self._shake_hands(call)
            call.add_done_callback(lambda _: self._wake.set())
            self.stands = True
            self.connections += 1
            self._remade()
            while True:
                await self._wake.wait()
                self._wake.clear()
                await self._send_queued(call)
        finally:
            call.cancel()

    async def _shake_hands(self, call: Call[bytes, bytes]) -> None:
        await call.write(encode_handshake(self._handshake()))
        content = await read(call)
        if content is None:
            raise _BrokenError
        try:
            answer = decode_answer(content)
        except MalformedMessageError as error:
            raise LinkRefusedError(error.reason) from None
        reason = self._judge(answer)
        if reason is not None:
            raise LinkRefusedError(reason)

    async def _send_queued(self, call: Call[bytes, bytes]) -> None:
        if call.done():
            raise _BrokenError
        while self._queue:
            await call.write(encode_frame(self._take_frame()))
        if self._lost:
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
            if isinstance(message.body, Append):
                self.entry_bytes += sum(map(weight, message.body.entries))
        self.frames += 1
        self.messages += len(taken)
        return taken

    def _break(self) -> None:
        self.stands = False
        self.dropped += len(self._queue)
        self._queue.clear()
        self._queued_bytes = 0
        self._lost = False
        self._wake.clear()


async def ended(task: "asyncio.Task[None]") -> None:
    """Cancel a task and wait for its end."""
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
