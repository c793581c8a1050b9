"""A call that a server answers: its request, its context, and its answer."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from quorate.http2.errors import ErrorCode
from quorate.http2.grpc.codes import Code, code_of
from quorate.http2.grpc.messages import (
    ENCODINGS,
    MessageError,
    MessageReader,
    MessageTooLargeError,
    framed,
    prefix_of,
    unpack_gzip,
)
from quorate.http2.grpc.metadata import CallHead, Metadata, fields_of, message_of
from quorate.http2.grpc.running import Running
from quorate.http2.headers import Headers
from quorate.http2.hpack import Field, plain_block
from quorate.http2.stream import Stream

if TYPE_CHECKING:
    from quorate.http2.grpc.server import Accepted, Observer, Refusal

_log = logging.getLogger(__name__)

#: Bytes of a stream that may wait until `write` waits as well.
_HIGH_WATER: Final = 1 << 16
#: A message of this size leaves in frames of its own.
_LARGE: Final = 1 << 16
#: How long the status of a refused stream waits for the first request. Clients of grpcio that are
#: refused while they send take that for an error of their own, and do not look at the status.
_PARTING_S: Final = 0.1
_BEGIN: Final[tuple[Field, ...]] = (
    (b":status", b"200"),
    (b"content-type", b"application/grpc"),
)
_BEGIN_BLOCK: Final = plain_block((*_BEGIN, (b"grpc-accept-encoding", b"identity, gzip")))
#: The member of an enumeration is looked up by a call.
_OK: Final = Code.OK
_OK_BLOCK: Final = plain_block([(b"grpc-status", b"0")])


class _Packed(bytes):
    """A message of a stream, unpacked when it is read: it waits in compressed form."""

    __slots__ = ()

    @classmethod
    def keep(cls, content: bytes, most_bytes: int) -> _Packed:
        """Unpack nothing."""
        return cls(content)


class _RefusedError(MessageError):
    """There is no room for an arriving request."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal[1])
        self.refusal: Final = refusal


class AbortError(Exception):
    """Ends a servicer after `abort` has set the status of its call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """The implementation of a method.

    `serve` gets the parsed request, or an iterator of requests, and the call. Its result is the
    answer; where answers are a stream it writes them.
    """

    serve: Callable[[Any, ServerCall], Coroutine[Any, None, Any]]
    takes_stream: bool = False
    answers_stream: bool = False
    #: None: the request is handed over as bytes. What it raises comes out of the servicer's own
    #: reading for a stream, and ends the call otherwise.
    parse: Callable[[bytes], Any] | None = None
    encode: Callable[[Any], bytes] = bytes


class ServerCall:
    """A call, and the context that its servicer is given."""

    __slots__ = (
        "_accepted",
        "_began",
        "_cancelled",
        "_code",
        "_coming",
        "_deadline",
        "_details",
        "_drained",
        "_ended",
        "_grain",
        "_head",
        "_held",
        "_messages",
        "_method",
        "_over",
        "_parting",
        "_reader",
        "_reading",
        "_running",
        "_stream",
        "_trailing",
    )

    def __init__(self, accepted: Accepted, stream: Stream, head: CallHead, method: Method) -> None:
        self._accepted: Final = accepted
        self._stream: Final = stream
        self._head: Final = head
        self._method: Final = method
        self._reader: MessageReader | None = None
        self._running: Running | None = None
        #: On the loop's clock; and its key in `Deadlines`.
        self._deadline: float | None = None
        self._grain = 0
        #: Whether the header fields of the answer were sent, and whether its end was.
        self._began = False
        self._over = False
        self._cancelled = False
        self._code: Code | None = None
        self._details = ""
        self._trailing: Metadata = ()
        #: Whether the observer knows of a request that has not come as a whole.
        self._coming = False
        #: A status that waits for the first request.
        self._parting: bytes | None = None
        #: Requests that were not read yet, and whether no more come.
        self._messages: deque[bytes] | None = None
        self._ended = False
        #: Bytes that the other end was not given back yet.
        self._held = 0
        self._reading: asyncio.Future[None] | None = None
        self._drained: asyncio.Future[None] | None = None
        if head.timeout_s is not None:
            self._deadline = accepted.loop.time() + head.timeout_s
            self._grain = accepted.deadlines.add(self, self._deadline)

    # --- as its servicer sees it

    def peer(self) -> str:
        """Return the other end of the connection, as gRPC names it."""
        return self._accepted.peer

    def auth_context(self) -> Mapping[str, Sequence[bytes]]:
        """Return the names in the caller's certificate, and the certificate, under gRPC's keys."""
        return self._accepted.shown

    def invocation_metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        """Return the metadata of the caller."""
        return self._head.metadata

    def time_remaining(self) -> float | None:
        """Return how long the caller still waits; None: it did not say."""
        if self._deadline is None:
            return None
        return max(0.0, self._deadline - self._accepted.loop.time())

    def cancelled(self) -> bool:
        """Whether the caller does not wait any more."""
        return self._cancelled

    def done(self) -> bool:
        """Whether the call has its status."""
        return self._over

    def code(self) -> Code | None:
        """Return the status that was set; None: none was."""
        return self._code

    def set_code(self, code: int | Enum) -> None:
        """Set the status that the call ends with when its servicer returns."""
        self._code = code_of(code)

    def details(self) -> str:
        """Return the text of the status that was set."""
        return self._details

    def set_details(self, details: str) -> None:
        """Set the text of the status that the call ends with when its servicer returns."""
        self._details = details

    def set_trailing_metadata(self, metadata: Metadata) -> None:
        """Set the metadata that is sent with the status."""
        self._trailing = metadata

    async def send_initial_metadata(self, metadata: Metadata) -> None:
        """Send metadata before the first answer."""
        if not self._began:
            self._begin(fields_of(metadata))

    async def read(self) -> Any:
        """Return the next request; None: there are no more."""
        messages = self._messages
        assert messages is not None, "this method takes one request"
        while not messages:
            if self._over:
                raise AbortError("the call has ended")
            if self._held:
                self._accepted.connection.consumed(self._stream, self._held)
                self._held = 0
            if self._ended:
                return None
            self._reading = self._accepted.loop.create_future()
            try:
                await self._reading
            finally:
                self._reading = None
        content = messages.popleft()
        if isinstance(content, _Packed):
            content = self._unpack(content)
        return content if self._method.parse is None else self._method.parse(content)

    async def __aiter__(self) -> AsyncIterator[Any]:
        """Yield the requests."""
        while (message := await self.read()) is not None:
            yield message

    async def write(self, message: Any) -> None:
        """Send an answer; waits until the caller takes earlier ones."""
        self.put(message)
        if self.is_full:
            await self.drained()

    def put(self, message: Any) -> None:
        """Send an answer without waiting; raises `AbortError`."""
        if self._over:
            raise AbortError("the call has ended")
        if not self._began:
            self._begin()
        self._send(self._method.encode(message))

    @property
    def is_full(self) -> bool:
        """Whether so much of the answers is not sent yet that `write` waits."""
        return self._stream.queued > _HIGH_WATER

    async def drained(self) -> None:
        """Wait until the caller has taken the answers."""
        self._drained = self._accepted.loop.create_future()
        try:
            await self._drained
        finally:
            self._drained = None

    async def abort(
        self, code: int | Enum, details: str = "", trailing_metadata: Metadata = ()
    ) -> None:
        """End the call with a status; raises `AbortError`."""
        self.finish(code_of(code), details, trailing_metadata)
        raise AbortError(details)

    def reset(self) -> None:
        """End the call, and drop the rest of the answer that its caller has not taken."""
        self._accepted.connection.reset(self._stream, ErrorCode.CANCEL)
        self._cancel()

    def refuse(self, refusal: Refusal) -> None:
        """End the call with a status, also if it is being served."""
        self.finish(*refusal)
        self._cancel()

    def when_ended(self, ended: Callable[[], None]) -> None:
        """Call a function once, when all of the answer has left or is dropped."""
        if self._stream.number in self._accepted.connection.streams:
            self._stream.on_end = ended
        else:
            ended()

    # --- as its stream sees it

    def headers(self, headers: Headers, ended: bool) -> None:
        """Take trailers, which say nothing in gRPC."""
        self.data(b"", ended)

    def data(self, content: bytes, ended: bool) -> None:
        """Take bytes of requests."""
        if self._over:
            self._part()
            return
        if self._messages is None:
            size = len(content)
            if (
                ended
                and self._reader is None
                and size >= 5
                and not content[0]
                and int.from_bytes(content[1:5], "big") == size - 5 <= self._accepted.most_bytes
            ):
                self._start(content[5:])
                return
            self._accepted.connection.consumed(self._stream, size)
            self._collect(content, ended)
            return
        self._queue(content, ended)

    def writable(self) -> None:
        """Let `write` go on."""
        if self._drained is not None and not self._drained.done():
            self._drained.set_result(None)

    def lost(self, code: ErrorCode | int, why: str) -> None:
        """The caller does not wait any more."""
        self._cancel()

    def expire(self) -> None:
        """The deadline has passed."""
        if not self._over:
            self.finish(Code.DEADLINE_EXCEEDED, "the deadline has passed")
            self._cancel()

    # --- from the first byte to the last

    def begin(self, ended: bool) -> None:
        """Serve a call once its head has arrived."""
        if self._method.takes_stream:
            self._messages = deque()
            self._ended = ended
            self._start(self)
        elif ended:
            self.finish(Code.UNIMPLEMENTED, "the call ended without its request")

    def finish(self, code: Code, details: str = "", trailing: Metadata = ()) -> None:
        """Send the status of the call; the first one counts."""
        if self._over:
            return
        self._leave()
        self._code = code
        if code is _OK and not details and not trailing:
            block = _OK_BLOCK
        else:
            fields = [
                (b"grpc-status", b"%d" % code),
                *([(b"grpc-message", message_of(details))] if details else ()),
                *fields_of(trailing),
            ]
            block = plain_block(fields if self._began else (*_BEGIN, *fields))
        sending, stream = self._accepted.connection.sending, self._stream
        if stream.waiting is not None:
            sending.data(stream, b"", trailers=block)
        elif self._began:
            sending.headers(stream, block, ends=True)
        else:
            if block is _OK_BLOCK:
                block = plain_block((*_BEGIN, (b"grpc-status", b"0")))
            self._began = True
            if self._messages is None or self._ended or self._reader is not None:
                sending.headers(stream, block, ends=True)
            else:
                self._parting = block
                self._accepted.loop.call_later(_PARTING_S, self._part)

    def _part(self) -> None:
        """Send the status of a stream that was refused before its first request came."""
        block, self._parting = self._parting, None
        if block is not None and self._stream.number in self._accepted.connection.streams:
            self._accepted.connection.sending.headers(self._stream, block, ends=True)

    def _collect(self, content: bytes, ended: bool) -> None:
        """Take bytes of the one request that did not come at once."""
        if self._running is not None:
            # As servers of gRPC do, it drops all bytes after the first request.
            return
        try:
            messages = self._read(content)
        except MessageError as error:
            self._refuse(error)
            return
        if messages:
            self._start(messages[0])
        elif ended:
            within = self._reader is not None and self._reader.within
            code = Code.INTERNAL if within else Code.UNIMPLEMENTED
            self.finish(code, "the call ended without its whole request")

    def _queue(self, content: bytes, ended: bool) -> None:
        """Take bytes of a stream of requests."""
        assert self._messages is not None
        try:
            self._messages.extend(self._read(content))
        except MessageError as error:
            self._refuse(error)
            self._cancel()
            return
        self._ended = ended
        if ended and self._reader is not None and self._reader.within:
            self.finish(Code.INTERNAL, "the call ended within a request")
            self._cancel()
            return
        # While some wait to be read, the other end is not given more to send.
        if self._messages:
            self._held += len(content)
        else:
            self._accepted.connection.consumed(self._stream, len(content))
        if self._reading is not None and not self._reading.done():
            self._reading.set_result(None)

    def _read(self, content: bytes) -> list[bytes]:
        if self._reader is None:
            unpack = ENCODINGS[self._head.encoding]
            if unpack is not None and self._messages is not None:
                unpack = _Packed.keep
            observer = self._accepted.observer
            begun = None if observer is None else partial(self._hold, observer)
            self._reader = MessageReader(self._accepted.most_bytes, unpack, begun)
        messages = self._reader.feed(content)
        if messages:
            self._let_go()
        return messages

    def _hold(self, observer: Observer, size: int) -> None:
        """Count a request that has not come as a whole; raises `_RefusedError`."""
        self._let_go()
        refusal = observer.take(self, size)
        if refusal is not None:
            raise _RefusedError(refusal)
        self._coming = True

    def _let_go(self) -> None:
        if self._coming and self._accepted.observer is not None:
            self._coming = False
            self._accepted.observer.give(self)

    def _unpack(self, content: bytes) -> bytes:
        """Return a message of a stream; raises `AbortError`."""
        try:
            return unpack_gzip(content, self._accepted.most_bytes)
        except MessageError as error:
            self._refuse(error)
            raise AbortError(str(error)) from None

    def _refuse(self, error: MessageError) -> None:
        if isinstance(error, _RefusedError):
            self.finish(*error.refusal)
            return
        large = isinstance(error, MessageTooLargeError)
        self.finish(Code.RESOURCE_EXHAUSTED if large else Code.INTERNAL, str(error))

    def _start(self, request: Any) -> None:
        """Run the servicer."""
        method = self._method
        if method.parse is not None and request is not self:
            try:
                request = method.parse(request)
            except Exception as error:  # noqa: BLE001 - what no message of the method is
                self.finish(Code.INTERNAL, f"the request cannot be read: {error}")
                return
        coroutine = method.serve(request, self)
        running = Running(self._accepted.loop, copy_context(), coroutine, self._served)
        self._running = running
        running.start()

    def _served(self, result: Any, error: BaseException | None) -> None:
        """Answer with the result or the exception of the servicer."""
        self._running = None
        if self._over:
            return
        if error is None:
            if self._code:
                self.finish(self._code, self._details, self._trailing)
            elif self._method.answers_stream:
                if not self._began:
                    self._begin()
                self.finish(Code.OK, "", self._trailing)
            else:
                self._answer(result)
            return
        if isinstance(error, asyncio.CancelledError):
            self.finish(Code.CANCELLED, "the call was cancelled")
            return
        _log.error("%s failed", self._head.path, exc_info=error)
        self.finish(Code.UNKNOWN, f"the method failed: {type(error).__name__}")

    def _answer(self, result: Any) -> None:
        """Send the one answer."""
        try:
            content = self._method.encode(result)
        except Exception:  # noqa: BLE001 - what cannot be sent ends the call
            _log.exception("the answer of %s cannot be sent", self._head.path)
            self.finish(Code.INTERNAL, "the answer cannot be sent")
            return
        trailers = _OK_BLOCK
        if self._trailing:
            trailers = plain_block([(b"grpc-status", b"0"), *fields_of(self._trailing)])
        self._leave()
        self._code = _OK
        if not self._began and len(content) < _LARGE:
            self._began = True
            sending = self._accepted.connection.sending
            sending.whole(self._stream, _BEGIN_BLOCK, framed(content), trailers)
            return
        if not self._began:
            self._begin()
        self._send(content, trailers)

    def _send(self, content: bytes, trailers: bytes | None = None) -> None:
        sending = self._accepted.connection.sending
        if len(content) < _LARGE:
            content = framed(content)
        else:
            # Not copied: a slow reader has the server hold it for long.
            sending.data(self._stream, prefix_of(content))
        sending.data(self._stream, content, trailers=trailers)

    def _begin(self, fields: Iterable[Field] = ()) -> None:
        self._began = True
        block = plain_block((*_BEGIN, *fields)) if fields else _BEGIN_BLOCK
        self._accepted.connection.sending.headers(self._stream, block)

    def _leave(self) -> None:
        self._over = True
        self._let_go()
        if self._deadline is not None:
            self._accepted.deadlines.remove(self, self._grain)

    def _cancel(self) -> None:
        if not self._over:
            self._leave()
        self._cancelled = True
        if self._running is not None:
            self._running.cancel()
