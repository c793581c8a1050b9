"""One end of a connection, without any I/O: bytes go in, calls on its owner and bytes come out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Final, Protocol

from quorate.http2 import frames
from quorate.http2.allowance import Allowance
from quorate.http2.errors import ConnectionFault, ErrorCode, StreamFault
from quorate.http2.headers import Headers
from quorate.http2.hpack import Decoder, HeaderListTooLargeError, HpackError
from quorate.http2.sending import Sending
from quorate.http2.stream import Stream, StreamOwner

_END_STREAM: Final = frames.END_STREAM
_PADDED: Final = frames.PADDED
_unpack_head: Final = frames.HEAD.unpack_from

#: The payload of the ping that follows the first GOAWAY of two.
_DRAIN: Final = b"drain\0\0\0"
#: Number of remembered streams that this end has reset; their last frames may still arrive.
_RESET_STREAMS: Final = 1_000
#: CONTINUATION frames of a block.
_CONTINUATIONS: Final = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """The limits on the other end: settings announced to it, and bounds on its actions."""

    streams: int = 1_000
    frame_bytes: int = 1 << 16
    stream_window: int = 1 << 20
    connection_window: int = 4 << 20
    header_list_bytes: int = 1 << 16
    header_table_bytes: int = 4_096
    #: Streams that are reset, by either end, in excess of the answered ones.
    resets: int = 1_000
    resets_per_s: float = 100.0
    #: PING, SETTINGS, PRIORITY, GOAWAY and empty DATA frames, and frames of unknown kinds.
    control_frames: int = 2_000
    control_frames_per_s: float = 200.0


class ConnectionOwner(Protocol):
    """Handles the events of a whole connection. It must not raise."""

    def accept(self, stream: Stream, headers: Headers, ended: bool) -> StreamOwner:
        """Take a stream that the other end opens."""

    def refused(self, code: ErrorCode, why: str) -> None:
        """Record a fault of the other end, on a stream or on the connection."""

    def configured(self) -> None:
        """Settings of the other end are in force: the first, or later ones."""

    def going_away(self, last: int, code: int, why: bytes) -> None:
        """The other end takes no more streams, and none above `last`."""

    def answered(self, payload: bytes) -> None:
        """A ping came back."""

    def idle(self) -> None:
        """The last stream has ended."""


class Connection:
    """One end of a connection.

    Without `resize_encoder` header blocks are plain: they refer to no table.
    Its streams are opened by `open` at a client and by the other end at a server. A fault of the
    other end's makes `receive` raise `ConnectionFault`, with the GOAWAY frame in `sending`.
    """

    def __init__(
        self,
        owner: ConnectionOwner,
        limits: ConnectionLimits,
        *,
        client: bool,
        ready: Callable[[], None],
        full: Callable[[], None] | None = None,
        resize_encoder: Callable[[int], None] | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._owner: Final = owner
        self._limits: Final = limits
        self._client: Final = client
        self._resize_encoder: Final = resize_encoder
        self.sending: Final = Sending(ready, self._sent_end, full)
        self.streams: Final[dict[int, Stream]] = {}
        #: Whether it has ended: `lose` was called.
        self.over = False
        #: How many streams the other end lets this one open.
        self.allowed_streams = frames.LARGEST_STREAM
        self._decoder: Final = Decoder(Headers, limits.header_table_bytes, limits.header_list_bytes)
        self._preface = b"" if client else frames.PREFACE
        self._configured = False
        #: The largest stream of the other end's, and this one's next.
        self._last = 0
        self._next = 1
        #: No larger stream of the other end's is served.
        self._served = frames.LARGEST_STREAM
        self._draining = False
        self._window = limits.connection_window
        self._consumed = 0
        #: How far data had moved at the last ping: many implementations measure a connection by a
        #: ping beside data, which is no flood.
        self._at_ping = 0, 0
        self._reset: Final[dict[int, None]] = {}
        #: A header block that goes on: its stream, flags, parts.
        self._block: tuple[int, int, list[bytes]] | None = None
        self._block_bytes = 0
        self._resets: Final = Allowance(
            limits.resets, limits.resets_per_s, "too many streams were reset", clock
        )
        self._controls: Final = Allowance(
            limits.control_frames,
            limits.control_frames_per_s,
            "too many frames without content",
            clock,
        )
        self._handlers: Final = (
            self._on_data,
            self._on_headers,
            self._on_priority,
            self._on_rst_stream,
            self._on_settings,
            _refuse_push,
            self._on_ping,
            self._on_goaway,
            self._on_window_update,
            self._on_continuation,
        )

    def begin(self) -> None:
        """Send the preface, the settings and the first window update."""
        limits = self._limits
        values = [
            (frames.HEADER_TABLE_SIZE, limits.header_table_bytes),
            (frames.INITIAL_WINDOW_SIZE, limits.stream_window),
            (frames.MAX_FRAME_SIZE, limits.frame_bytes),
            (frames.MAX_HEADER_LIST_SIZE, limits.header_list_bytes),
        ]
        if self._client:
            values.append((frames.ENABLE_PUSH, 0))
            self.sending.put(frames.PREFACE)
        else:
            values.append((frames.MAX_CONCURRENT_STREAMS, limits.streams))
        self.sending.put(frames.settings(values))
        self.sending.put(frames.window_update(0, limits.connection_window - frames.INITIAL_WINDOW))

    def open(self, owner: StreamOwner) -> Stream:
        """Open a stream."""
        stream = Stream(self._next, self.sending.stream_window, self._limits.stream_window)
        stream.owner = owner
        self.streams[self._next] = stream
        self._next += 2
        return stream

    @property
    def exhausted(self) -> bool:
        """Whether no stream can be opened any more."""
        return self._next > frames.LARGEST_STREAM

    def receive(self, content: bytes | memoryview, end: int) -> int:
        """Take in whole frames of `content[:end]`, and return how many bytes these have.

        Raises `ConnectionFault`.
        """
        try:
            return self._receive(content, end)
        except ConnectionFault as fault:
            self._owner.refused(fault.code, fault.why)
            self.sending.put(frames.goaway(self._last, fault.code, fault.why.encode()))
            raise

    def reset(self, stream: Stream, code: ErrorCode) -> None:
        """End a stream."""
        number = stream.number
        if self.streams.pop(number, None) is None:
            return
        self.sending.forget(stream)
        self.sending.put(frames.rst_stream(number, code))
        self._remember_reset(number)
        self._left(stream)

    def consumed(self, stream: Stream, size: int) -> None:
        """Let the other end send as many bytes more on a stream."""
        stream.unacknowledged += size
        if stream.remote_closed or stream.unacknowledged < self._limits.stream_window // 2:
            return
        if stream.number in self.streams:
            self.sending.put(frames.window_update(stream.number, stream.unacknowledged))
            stream.receive_window += stream.unacknowledged
            stream.unacknowledged = 0

    def ping(self, payload: bytes) -> None:
        """Send a ping of eight bytes."""
        self.sending.put(frames.frame(frames.PING, 0, 0, payload))

    def drain(self) -> None:
        """Ask the other end to open no more streams; those on the way are still served."""
        if not self._draining:
            self._draining = True
            self.sending.put(frames.goaway(frames.LARGEST_STREAM, ErrorCode.NO_ERROR))
            self.ping(_DRAIN)

    def close(self, code: ErrorCode, why: str) -> None:
        """Say that the connection ends now."""
        self.sending.put(frames.goaway(self._last, code, why.encode()))

    def lose(self, why: str) -> None:
        """Tell the owners of all streams that the connection has ended."""
        self.over = True
        streams = list(self.streams.values())
        self.streams.clear()
        for stream in streams:
            self.sending.forget(stream)
            stream.owner.lost(ErrorCode.CANCEL, why)
            stream.leave()

    def _receive(self, content: bytes | memoryview, end: int) -> int:
        at = 0
        if self._preface:
            size = min(len(self._preface), end)
            if content[:size] != self._preface[:size]:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "it does not speak HTTP/2")
            self._preface, at = self._preface[size:], size
        most, handlers = self._limits.frame_bytes, self._handlers
        while end - at >= 9:
            high, low, kind, flags, number = _unpack_head(content, at)
            size = high << 8 | low
            if size > most:
                raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, f"a frame of {size} bytes")
            begin = at + 9
            if end - begin < size:
                break
            at = begin + size
            if self._block is not None and kind != frames.CONTINUATION:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "a header block is interrupted")
            if not self._configured and kind != frames.SETTINGS:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "it does not begin with SETTINGS")
            if kind > 9:
                self._controls.take()
                continue
            try:
                handlers[kind](number & 0x7FFFFFFF, flags, content, begin, at)
            except StreamFault as fault:
                self._fail(fault)
        return at

    def _fail(self, fault: StreamFault) -> None:
        """End a stream after a violation by the other end."""
        self._owner.refused(fault.code, fault.why)
        self._resets.take()
        stream = self.streams.get(fault.stream)
        if stream is None:
            self.sending.put(frames.rst_stream(fault.stream, fault.code))
            self._remember_reset(fault.stream)
            return
        self.reset(stream, fault.code)
        stream.owner.lost(fault.code, fault.why)

    def _on_data(
        self, number: int, flags: int, content: bytes | memoryview, at: int, end: int
    ) -> None:
        size = end - at
        stream = self.streams.get(number)
        self._window -= size
        if self._window < 0:
            raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "more data than its window")
        self._consumed += size
        if self._consumed >= self._limits.connection_window >> 1:
            # Streams bound the bytes waiting here: the connection's window is given back at once.
            self.sending.put(frames.window_update(0, self._consumed))
            self._window += self._consumed
            self._consumed = 0
        if flags & _PADDED:
            at, end = _unpadded(content, at, end)
        if stream is None:
            self._on_closed(number)
            return
        if stream.remote_closed:
            raise StreamFault(number, ErrorCode.STREAM_CLOSED, "data after the end")
        stream.receive_window -= size
        if stream.receive_window < 0:
            raise StreamFault(number, ErrorCode.FLOW_CONTROL_ERROR, "more data than its window")
        length = end - at
        if size != length:
            self.consumed(stream, size - length)
        stream.received += length
        ended = bool(flags & _END_STREAM)
        if ended:
            self._end_remote(stream)
        elif not length:
            self._controls.take()
        stream.owner.data(bytes(content[at:end]), ended)
        if ended and stream.local_closed:
            self._drop(stream)

    def _on_headers(
        self, number: int, flags: int, content: bytes | memoryview, at: int, end: int
    ) -> None:
        if not number:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "HEADERS without a stream")
        if flags & _PADDED:
            at, end = _unpadded(content, at, end)
        depends_on = None
        if flags & frames.PRIORITIZED:
            if end - at < 5:
                raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "HEADERS without its priority")
            depends_on = frames.number(content[at : at + 4]) & 0x7FFFFFFF
            at += 5
        block = bytes(content[at:end])
        if flags & frames.END_HEADERS:
            self._take_block(number, block, bool(flags & _END_STREAM))
        else:
            self._block, self._block_bytes = (number, flags, [block]), len(block)
        if depends_on == number:
            raise StreamFault(number, ErrorCode.PROTOCOL_ERROR, "a stream depends on itself")

    def _on_continuation(
        self, number: int, flags: int, content: bytes | memoryview, at: int, end: int
    ) -> None:
        if self._block is None or self._block[0] != number:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "CONTINUATION without HEADERS")
        _, first, parts = self._block
        parts.append(bytes(content[at:end]))
        self._block_bytes += end - at
        if self._block_bytes > self._limits.header_list_bytes or len(parts) > _CONTINUATIONS:
            raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "a header block without end")
        if flags & frames.END_HEADERS:
            self._block = None
            self._take_block(number, b"".join(parts), bool(first & _END_STREAM))

    def _take_block(self, number: int, block: bytes, ended: bool) -> None:
        try:
            headers = self._decoder.decode(block)
            fault = headers.fault
        except HpackError as error:
            raise ConnectionFault(ErrorCode.COMPRESSION_ERROR, str(error)) from None
        except HeaderListTooLargeError as error:
            headers, fault = Headers([]), str(error)
        stream = self.streams.get(number)
        if stream is None:
            self._take_new(number, headers, fault, ended)
            return
        if stream.remote_closed:
            raise StreamFault(number, ErrorCode.STREAM_CLOSED, "headers after the end")
        if not fault and not self._fits(headers, ended):
            fault = "these header fields do not belong here"
        if fault:
            raise StreamFault(number, ErrorCode.PROTOCOL_ERROR, fault)
        if self._client and headers.content_length is not None:
            stream.content_length = headers.content_length
        if ended:
            self._end_remote(stream)
        stream.owner.headers(headers, ended)
        if ended and stream.local_closed:
            self._drop(stream)

    def _fits(self, headers: Headers, ended: bool) -> bool:
        """Whether fields may follow on an open stream: an answer's, or trailers."""
        if headers.pseudo:
            return self._client and headers.is_response
        return ended

    def _take_new(self, number: int, headers: Headers, fault: str, ended: bool) -> None:
        if self._client or number <= self._last or not number & 1:
            self._on_closed(number, of_headers=True)
            return
        self._last = number
        if number > self._served:
            self._remember_reset(number)
            return
        if len(self.streams) >= self._limits.streams:
            raise StreamFault(number, ErrorCode.REFUSED_STREAM, "too many streams at a time")
        if not fault and not headers.is_request:
            fault = "it is no request"
        if fault:
            raise StreamFault(number, ErrorCode.PROTOCOL_ERROR, fault)
        stream = Stream(number, self.sending.stream_window, self._limits.stream_window)
        stream.content_length = headers.content_length
        if ended:
            self._end_remote(stream)
        self.streams[number] = stream
        stream.owner = self._owner.accept(stream, headers, ended)

    def _on_priority(
        self, number: int, flags: int, content: bytes | memoryview, at: int, end: int
    ) -> None:
        self._controls.take()
        if not number:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "PRIORITY without a stream")
        if end - at != 5:
            raise StreamFault(number, ErrorCode.FRAME_SIZE_ERROR, "PRIORITY has five bytes")
        if frames.number(content[at : at + 4]) & 0x7FFFFFFF == number:
            raise StreamFault(number, ErrorCode.PROTOCOL_ERROR, "a stream depends on itself")

    def _on_rst_stream(
        self, number: int, flags: int, content: bytes | memoryview, at: int, end: int
    ) -> None:
        if end - at != 4:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "RST_STREAM has four bytes")
        stream = self.streams.pop(number, None)
        if stream is None:
            if self._is_idle(number):
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "RST_STREAM of an idle stream")
            # Both ends may reset a stream at a time: then nothing comes after this frame.
            if self._reset.pop(number, self) is self:
                self._controls.take()
            return
        self.sending.forget(stream)
        code = frames.number(content[at:end])
        # Of a client's streams there are no more than it has opened itself.
        if not self._client:
            self._resets.take()
        stream.owner.lost(code, "the other end has reset the stream")
        self._left(stream)

    def _on_settings(
        self, number: int, flags: int, content: bytes | memoryview, at: int, end: int
    ) -> None:
        if number:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "SETTINGS of a stream")
        self._controls.take()
        if flags & frames.ACK:
            if end != at:
                raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "SETTINGS acknowledged with more")
            return
        if (end - at) % 6:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "settings have six bytes each")
        # Before the data that they release.
        self.sending.acknowledge(frames.frame(frames.SETTINGS, frames.ACK, 0))
        before = self.sending.stream_window
        for name, value in frames.settings_in(bytes(content[at:end])):
            self._set(name, value)
        if self.sending.stream_window != before:
            more = self.sending.stream_window - before
            self.sending.widen_streams(list(self.streams.values()), more)
        self._configured = True
        self._owner.configured()

    def _set(self, name: int, value: int) -> None:
        if name == frames.HEADER_TABLE_SIZE:
            if self._resize_encoder is not None:
                self._resize_encoder(value)
            else:
                self.sending.shrink_table(value)
        elif name == frames.ENABLE_PUSH:
            if value > 1 or (self._client and value):
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "ENABLE_PUSH is 0 or 1")
        elif name == frames.MAX_CONCURRENT_STREAMS:
            self.allowed_streams = value
        elif name == frames.INITIAL_WINDOW_SIZE:
            if value > frames.LARGEST_WINDOW:
                raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "a window is too large")
            self.sending.stream_window = value
        elif name == frames.MAX_FRAME_SIZE:
            if not frames.LEAST_FRAME <= value <= frames.LARGEST_FRAME:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "MAX_FRAME_SIZE is out of bounds")
            self.sending.frame_bytes = value

    def _on_ping(
        self, number: int, flags: int, content: bytes | memoryview, at: int, end: int
    ) -> None:
        if number:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "PING of a stream")
        if end - at != 8:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "PING has eight bytes")
        moved = self._consumed, self.sending.window
        if moved == self._at_ping:
            self._controls.take()
        self._at_ping = moved
        payload = bytes(content[at:end])
        if not flags & frames.ACK:
            self.sending.acknowledge(frames.frame(frames.PING, frames.ACK, 0, payload))
        elif payload == _DRAIN and self._draining:
            # What the other end had sent before it heard of the end has arrived.
            if self._served == frames.LARGEST_STREAM:
                self._served = self._last
                self.sending.put(frames.goaway(self._last, ErrorCode.NO_ERROR))
        else:
            self._owner.answered(payload)

    def _on_goaway(
        self, number: int, flags: int, content: bytes | memoryview, at: int, end: int
    ) -> None:
        if number:
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "GOAWAY of a stream")
        if end - at < 8:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "GOAWAY has eight bytes")
        self._controls.take()
        last, code, why = frames.goaway_in(bytes(content[at:end]))
        if self._client:
            for stream in [each for each in self.streams.values() if each.number > last]:
                del self.streams[stream.number]
                self.sending.forget(stream)
                stream.owner.lost(ErrorCode.REFUSED_STREAM, "the server has stopped")
                stream.leave()
        self._owner.going_away(last, code, why)

    def _on_window_update(
        self, number: int, flags: int, content: bytes | memoryview, at: int, end: int
    ) -> None:
        if end - at != 4:
            raise ConnectionFault(ErrorCode.FRAME_SIZE_ERROR, "WINDOW_UPDATE has four bytes")
        more = frames.number_at(content, at) & 0x7FFFFFFF
        if not number:
            if not more:
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "a window grows by nothing")
            self.sending.widen(more)
            return
        stream = self.streams.get(number)
        if stream is None:
            if self._is_idle(number):
                raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "WINDOW_UPDATE of an idle stream")
            return
        if not more:
            raise StreamFault(number, ErrorCode.PROTOCOL_ERROR, "a window grows by nothing")
        self.sending.widen_stream(stream, more)

    def _on_closed(self, number: int, *, of_headers: bool = False) -> None:
        """Judge a frame of a stream that is not open: it may have been on its way."""
        if number in self._reset:
            return
        if self._is_idle(number) or (of_headers and not self._client and not number & 1):
            raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "a frame of an idle stream")
        if of_headers and not self._client:
            raise ConnectionFault(ErrorCode.STREAM_CLOSED, "headers of a closed stream")
        raise StreamFault(number, ErrorCode.STREAM_CLOSED, "a frame of a closed stream")

    def _is_idle(self, number: int) -> bool:
        if not number:
            return True
        return number >= self._next if bool(number & 1) == self._client else number > self._last

    def _end_remote(self, stream: Stream) -> None:
        stream.remote_closed = True
        if stream.content_length is not None and stream.content_length != stream.received:
            raise StreamFault(
                stream.number, ErrorCode.PROTOCOL_ERROR, "the content is not as long as it says"
            )

    def _sent_end(self, stream: Stream) -> None:
        if stream.remote_closed:
            self._drop(stream)
        elif not self._client:
            # The answer is complete: the rest of the request is not needed (section 8.1).
            self.reset(stream, ErrorCode.NO_ERROR)

    def _drop(self, stream: Stream) -> None:
        if self.streams.pop(stream.number, None) is not None:
            self._left(stream)

    def _left(self, stream: Stream) -> None:
        if stream.on_end is not None:
            stream.leave()
        if not self.streams:
            self._owner.idle()

    def _remember_reset(self, number: int) -> None:
        self._reset[number] = None
        if len(self._reset) > _RESET_STREAMS:
            del self._reset[next(iter(self._reset))]


def _refuse_push(number: int, flags: int, content: bytes | memoryview, at: int, end: int) -> None:
    raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "server push is not allowed")


def _unpadded(content: bytes | memoryview, at: int, end: int) -> tuple[int, int]:
    """Return where the content of a padded frame begins and ends; raises `ConnectionFault`."""
    if at == end or at + 1 + content[at] > end:
        raise ConnectionFault(ErrorCode.PROTOCOL_ERROR, "the padding is longer than the frame")
    return at + 1, end - content[at]
