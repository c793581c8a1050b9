"""Calls of a channel: their interface to callers, and the handling of their streams."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterable, Callable, Iterable
from dataclasses import dataclass
from struct import Struct
from typing import TYPE_CHECKING, Any, Final

from quorate.http2.errors import ErrorCode
from quorate.http2.grpc.answers import Beginning, Ending, beginning_of, ending_of
from quorate.http2.grpc.call_errors import CallError, Received
from quorate.http2.grpc.codes import Code, of_reset
from quorate.http2.grpc.messages import (
    PREFIX_BYTES,
    MessageError,
    MessageReader,
    MessageTooLargeError,
    framed,
)
from quorate.http2.headers import Headers
from quorate.http2.stream import Stream

if TYPE_CHECKING:
    from quorate.http2.grpc.channel import Channel
    from quorate.http2.grpc.link import Link

#: Bytes of a stream that may wait until `write` waits as well.
_HIGH_WATER: Final = 1 << 16
_prefix: Final = Struct(">BL").unpack_from
_LATE: Final = "the deadline has passed"


@dataclass(frozen=True, slots=True)
class Waiting:
    """A call that waits until a connection takes it."""

    #: The header block, but for its timeout and metadata.
    path: bytes
    metadata: bytes
    #: The request, framed; None: requests are a stream.
    request: bytes | None
    #: Whether it waits as well while the server cannot be reached.
    patient: bool


class Call(asyncio.Future[Any]):
    """A call; it is itself the future of its answer.

    A caller that stops waiting cancels it. It and its stream refer to each other until it ends.
    """

    __slots__ = (
        "_beginning",
        "_channel",
        "_ending",
        "_grain",
        "_heard",
        "_link",
        "_parse",
        "_reader",
        "_stream",
        "_waiting",
        "deadline",
    )

    def __init__(
        self,
        channel: Channel,
        loop: asyncio.AbstractEventLoop,
        parse: Callable[[bytes], Any] | None,
    ) -> None:
        asyncio.Future.__init__(self, loop=loop)
        self._channel: Final = channel
        self._parse: Final = parse
        self._link: Link | None = None
        self._stream: Stream | None = None
        self._waiting: Waiting | None = None
        self._beginning: Beginning | None = None
        self._ending: Ending | None = None
        #: Waits for the beginning of the answer.
        self._heard: asyncio.Future[None] | None = None
        self._reader: MessageReader | None = None
        #: On the loop's clock; and its key in `Deadlines`, 0: not added.
        self.deadline: float | None = None
        self._grain = 0

    # --- as its caller sees it

    def cancel(self, msg: Any = None) -> bool:
        """End the call, here and at the server; False: it has ended."""
        if self.done():
            return False
        self._leave(ErrorCode.CANCEL)
        return super().cancel(msg)

    async def initial_metadata(self) -> Received:
        """Wait for the metadata before the first answer, and return it; empty: there was none."""
        if self._beginning is None and not self.done():
            if self._heard is None:
                self._heard = self.get_loop().create_future()
            await asyncio.wait((self._heard,))
        return () if self._beginning is None else self._beginning.metadata

    async def trailing_metadata(self) -> Received:
        """Return the metadata received with the status, once the call has ended."""
        await self._end()
        return () if self._ending is None else self._ending.metadata

    async def code(self) -> Code:
        """Return the code of the status, once the call has ended."""
        await self._end()
        if self.cancelled():
            return Code.CANCELLED
        error = self.exception()
        return error.code() if isinstance(error, CallError) else Code.OK

    async def details(self) -> str:
        """Return the text of the status, once the call has ended."""
        await self._end()
        if self.cancelled():
            return "the caller has cancelled the call"
        error = self.exception()
        if isinstance(error, CallError):
            return error.details()
        return "" if self._ending is None else self._ending.details

    # --- as its channel sees it

    def watch(self, deadline: float) -> None:
        """End the call at a time of the loop's clock."""
        self.deadline = deadline
        self._grain = self._channel.deadlines.add(self, deadline)

    def wait(self, waiting: Waiting) -> None:
        """Keep the head and request to send once a connection accepts the call."""
        self._waiting = waiting

    @property
    def patient(self) -> bool:
        """Whether it waits as well while the server cannot be reached."""
        return self._waiting is not None and self._waiting.patient

    def go(self, link: Link) -> int:
        """Send the kept request on a connection that accepts the call; return its stream."""
        waiting, self._waiting = self._waiting, None
        assert waiting is not None
        timeout = b""
        if self.deadline is not None:
            left = max(0.001, self.deadline - self.get_loop().time())
            timeout = self._channel.heads.of_timeout(left)
        return self.send(link, waiting.path + timeout + waiting.metadata, waiting.request)

    def send(self, link: Link, block: bytes, request: bytes | None) -> int:
        """Send the head of the call, and its one request if it has one; return its stream."""
        connection = link.connection
        self._link = link
        self._stream = stream = connection.open(self)
        if request is None:
            connection.sending.headers(stream, block)
            self._opened()
        else:
            connection.sending.whole(stream, block, request)
        return stream.number

    def fail(
        self, code: Code, details: str, *, sent: bool = True, reset: ErrorCode | None = None
    ) -> None:
        """End the call with an error, and its stream where `reset` says why."""
        if self.done():
            return
        self._leave(reset)
        initial = () if self._beginning is None else self._beginning.metadata
        trailing = () if self._ending is None else self._ending.metadata
        told = self._ending is not None
        self.set_exception(CallError(code, details, initial, trailing, sent, told))
        # The failure of a call that is not awaited must not be reported.
        self.exception()

    def expire(self) -> None:
        """The deadline has passed."""
        self._grain = 0
        sent = self._stream is not None
        self.fail(Code.DEADLINE_EXCEEDED, _LATE, sent=sent, reset=ErrorCode.CANCEL)

    # --- as its stream sees it

    def headers(self, headers: Headers, ended: bool) -> None:
        """Take how the answer begins, or its status."""
        if ended:
            ending = headers.memo
            if type(ending) is not Ending:
                ending = ending_of(headers)
            self._ending = ending
            self._finish(ending)
            return
        beginning = headers.memo
        if type(beginning) is not Beginning:
            beginning = beginning_of(headers)
        if beginning.informational:
            return
        if self._beginning is not None:
            self.fail(Code.INTERNAL, "the answer begins twice", reset=ErrorCode.PROTOCOL_ERROR)
            return
        self._beginning = beginning
        if beginning.refused:
            self.fail(beginning.code, beginning.refused, reset=ErrorCode.CANCEL)
            return
        if self._heard is not None:
            self._wake(self._heard)

    def data(self, content: bytes, ended: bool) -> None:
        """Take bytes of answers."""
        raise NotImplementedError

    def writable(self) -> None:
        """All that waited was handed over for sending."""

    def lost(self, code: ErrorCode | int, why: str) -> None:
        """The server, or the connection, has ended the call without a status."""
        link = self._link
        assert link is not None
        self._stream = None
        if link.connection.over:
            status = Code.CANCELLED if self._channel.closed else Code.UNAVAILABLE
            self.fail(status, link.why or why)
        elif code == ErrorCode.REFUSED_STREAM:
            self.fail(Code.UNAVAILABLE, f"{why}: the call was never processed", sent=False)
        elif (
            code == ErrorCode.CANCEL
            and self.deadline is not None
            and self.get_loop().time() >= self.deadline
        ):
            self.fail(Code.DEADLINE_EXCEEDED, _LATE)
        else:
            self.fail(of_reset(code), f"{why} (code {code:d})")

    # --- its parts

    def _opened(self) -> None:
        """The head of a call with a stream of requests was sent."""

    def _finish(self, ending: Ending) -> None:
        """Take the status."""
        raise NotImplementedError

    def _end_reset(self) -> ErrorCode | None:
        """Return the code to reset the stream with after the status: unsent data is dropped."""
        stream = self._stream
        return None if stream is None or stream.local_closed else ErrorCode.CANCEL

    def _leave(self, reset: ErrorCode | None) -> None:
        """Remove the call from the deadlines, its stream and the channel."""
        channel = self._channel
        if self._grain:
            channel.deadlines.remove(self, self._grain)
        stream = self._stream
        if stream is not None:
            self._stream = None
            if reset is not None:
                assert self._link is not None
                self._link.connection.reset(stream, reset)
        elif self._waiting is not None:
            self._waiting = None
            channel.waiting.pop(self, None)
        if channel.waiting:
            channel.look_again()
        if self._heard is not None:
            self._wake(self._heard)

    async def _end(self) -> None:
        """Wait until the call has ended, however."""
        if not self.done():
            await asyncio.wait((self,))

    def _feed(self, content: bytes) -> list[bytes]:
        """Return the messages that are whole now; raises `MessageError`."""
        if self._reader is None:
            if self._beginning is None:
                raise MessageError("the answer has content before its header fields")
            self._reader = MessageReader(self._channel.limits.message_bytes, self._beginning.unpack)
        return self._reader.feed(content)

    def _refuse(self, error: MessageError) -> None:
        large = isinstance(error, MessageTooLargeError)
        code = Code.RESOURCE_EXHAUSTED if large else Code.INTERNAL
        self.fail(code, str(error), reset=ErrorCode.CANCEL)

    @staticmethod
    def _wake(waiter: asyncio.Future[None]) -> None:
        if not waiter.done():
            waiter.set_result(None)


class UnaryCall(Call):
    """A call with one request and one answer."""

    __slots__ = ("_answer",)

    def __init__(
        self,
        channel: Channel,
        loop: asyncio.AbstractEventLoop,
        parse: Callable[[bytes], Any] | None,
    ) -> None:
        Call.__init__(self, channel, loop, parse)
        self._answer: bytes | None = None

    def data(self, content: bytes, ended: bool) -> None:
        """Take bytes of the one answer."""
        if ended:
            self.fail(Code.INTERNAL, "the answer ended without a status", reset=self._end_reset())
            return
        size = len(content) - PREFIX_BYTES
        if (
            self._answer is None
            and self._reader is None
            and self._beginning is not None
            and size >= 0
            and _prefix(content) == (0, size)
            and size <= self._channel.limits.message_bytes
        ):
            self._answer = content[PREFIX_BYTES:]
            return
        stream, link = self._stream, self._link
        if stream is None or link is None:
            return
        link.connection.consumed(stream, len(content))
        try:
            messages = self._feed(content)
        except MessageError as error:
            self._refuse(error)
            return
        if messages and (self._answer is not None or len(messages) > 1):
            self.fail(Code.INTERNAL, "the call has more than one answer", reset=ErrorCode.CANCEL)
        elif messages:
            self._answer = messages[0]

    def _finish(self, ending: Ending) -> None:
        if ending.code is not Code.OK:
            self.fail(ending.code, ending.details, reset=self._end_reset())
            return
        answer, parse = self._answer, self._parse
        if answer is None or (self._reader is not None and self._reader.within):
            self.fail(Code.INTERNAL, "the call ended without its answer", reset=self._end_reset())
            return
        result: Any = answer
        if parse is not None:
            try:
                result = parse(answer)
            except Exception as error:  # noqa: BLE001 - what is no message of the method
                self.fail(
                    Code.INTERNAL, f"the answer cannot be read: {error}", reset=self._end_reset()
                )
                return
        stream = self._stream
        self._leave(None if stream is None or stream.local_closed else ErrorCode.CANCEL)
        self.set_result(result)


class StreamCall(Call):
    """A call with a stream of requests, of answers, or of both."""

    __slots__ = (
        "_answers",
        "_answers_stream",
        "_begun",
        "_drained",
        "_held",
        "_pump",
        "_reading",
        "_serialize",
        "_writes_done",
    )

    def __init__(
        self,
        channel: Channel,
        loop: asyncio.AbstractEventLoop,
        serialize: Callable[[Any], bytes] | None,
        parse: Callable[[bytes], Any] | None,
        *,
        answers_stream: bool,
    ) -> None:
        Call.__init__(self, channel, loop, parse)
        self._serialize: Final = serialize
        self._answers_stream: Final = answers_stream
        #: Answers that were not read yet.
        self._answers: Final[deque[bytes]] = deque()
        #: Bytes not yet returned to the server's window.
        self._held = 0
        self._reading: asyncio.Future[None] | None = None
        #: Waits until the head was sent, and until waiting data was handed over.
        self._begun: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        self._writes_done = False
        #: Writes the requests of an iterator.
        self._pump: asyncio.Task[None] | None = None

    # --- as its caller sees it

    async def read(self) -> Any:
        """Return the next answer; None: there are no more. Raises `CallError`."""
        answers = self._answers
        while not answers:
            if self.done():
                return self._over()
            if self._reading is None or self._reading.done():
                self._reading = self.get_loop().create_future()
            await self._wait(self._reading)
        content = answers.popleft()
        if self._held:
            self._give_back(len(content))
        return content if self._parse is None else self._parse(content)

    def __aiter__(self) -> StreamCall:
        """Iterate over the answers."""
        return self

    async def __anext__(self) -> Any:
        """Return the next answer."""
        answer = await self.read()
        if answer is None:
            raise StopAsyncIteration
        return answer

    async def write(self, message: Any) -> None:
        """Send a request; waits until the server takes earlier ones.

        Raises `CallError`, and `asyncio.InvalidStateError` where the call has ended well.
        """
        content = framed(message if self._serialize is None else self._serialize(message))
        stream = await self._writing()
        assert self._link is not None
        self._link.connection.sending.data(stream, content)
        if stream.queued > _HIGH_WATER:
            if self._drained is None or self._drained.done():
                self._drained = self.get_loop().create_future()
            await self._wait(self._drained)
            if self.done():
                self._over()

    async def done_writing(self) -> None:
        """Say that there are no more requests."""
        if self._writes_done or self.done():
            return
        stream = await self._writing()
        self._writes_done = True
        assert self._link is not None
        self._link.connection.sending.data(stream, b"", ends=True)

    def pump(self, requests: Iterable[Any] | AsyncIterable[Any]) -> None:
        """Write the requests of an iterator."""
        self._pump = self.get_loop().create_task(self._write_all(requests))

    # --- as its stream sees it

    def data(self, content: bytes, ended: bool) -> None:
        """Take bytes of answers."""
        if ended:
            self.fail(Code.INTERNAL, "the answer ended without a status", reset=self._end_reset())
            return
        stream, link = self._stream, self._link
        if stream is None or link is None:
            return
        try:
            self._answers.extend(self._feed(content))
        except MessageError as error:
            self._refuse(error)
            return
        # While some wait to be read, the server is not given more to send.
        if self._answers and self._answers_stream:
            self._held += len(content)
        else:
            link.connection.consumed(stream, len(content))
        if len(self._answers) > 1 and not self._answers_stream:
            self.fail(Code.INTERNAL, "the call has more than one answer", reset=ErrorCode.CANCEL)
        if self._reading is not None:
            self._wake(self._reading)

    def writable(self) -> None:
        """Let `write` go on."""
        if self._drained is not None:
            self._wake(self._drained)

    # --- its parts

    def _opened(self) -> None:
        if self._begun is not None:
            self._wake(self._begun)

    def _finish(self, ending: Ending) -> None:
        reset = self._end_reset()
        if ending.code is not Code.OK:
            self.fail(ending.code, ending.details, reset=reset)
        elif self._reader is not None and self._reader.within:
            self.fail(Code.INTERNAL, "the call ended within an answer", reset=reset)
        elif self._answers_stream:
            self._leave(reset)
            self.set_result(None)
        elif not self._answers:
            self.fail(Code.INTERNAL, "the call ended without its answer", reset=reset)
        else:
            answer = self._answers.popleft()
            try:
                result = answer if self._parse is None else self._parse(answer)
            except Exception as error:  # noqa: BLE001 - what is no message of the method
                self.fail(Code.INTERNAL, f"the answer cannot be read: {error}", reset=reset)
                return
            self._leave(reset)
            self.set_result(result)

    def _leave(self, reset: ErrorCode | None) -> None:
        super()._leave(reset)
        for waiter in (self._reading, self._begun, self._drained):
            if waiter is not None:
                self._wake(waiter)
        if self._pump is not None:
            self._pump.cancel()

    def _over(self) -> None:
        """Raise why the call has failed; return where it has not."""
        error = self.exception()
        if isinstance(error, CallError):
            # One of its own, or the call and the frames that the error has passed would hold each
            # other.
            raise CallError(*error.args)

    async def _writing(self) -> Stream:
        """Return the stream of requests once it is open."""
        if self._stream is None and not self.done():
            if self._begun is None:
                self._begun = self.get_loop().create_future()
            await self._wait(self._begun)
        if self._writes_done:
            raise asyncio.InvalidStateError("done_writing was called before")
        if self._stream is None:
            self._over()
            raise asyncio.InvalidStateError("the call has ended")
        return self._stream

    async def _wait(self, waiter: asyncio.Future[None]) -> None:
        """Wait; a caller that stops waiting cancels the call."""
        try:
            await waiter
        except asyncio.CancelledError:
            self.cancel()
            raise

    def _give_back(self, size: int) -> None:
        """Let the server send as many bytes as were read."""
        # Compressed answers are larger than their received bytes: only those are given back.
        size = min(self._held, size + PREFIX_BYTES) if self._answers else self._held
        self._held -= size
        if self._stream is not None:
            assert self._link is not None
            self._link.connection.consumed(self._stream, size)

    async def _write_all(self, requests: Iterable[Any] | AsyncIterable[Any]) -> None:
        try:
            if isinstance(requests, AsyncIterable):
                async for each in requests:
                    await self.write(each)
            else:
                for each in requests:
                    await self.write(each)
            await self.done_writing()
        except (asyncio.InvalidStateError, CallError):
            # The call has ended, and says so itself.
            return
        except Exception as error:  # noqa: BLE001 - the caller's own, told by the call
            self._pump = None
            self.fail(Code.CANCELLED, f"the requests ended: {error!r}", reset=ErrorCode.CANCEL)
