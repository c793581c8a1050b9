"""The frames that wait to leave, and the windows that data waits for."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from typing import Final

from quorate.http2 import frames
from quorate.http2.errors import ConnectionFault, ErrorCode, StreamFault
from quorate.http2.stream import Stream

_DATA: Final = frames.DATA
_END: Final = frames.END_STREAM
_END_HEADERS: Final = frames.END_HEADERS
_HEADERS: Final = frames.HEADERS
_head: Final = frames.head
_pack: Final = frames.HEAD.pack
#: Answers to control frames that may wait for a socket.
_ACKNOWLEDGEMENTS: Final = 1_000

#: Enough bytes to keep the other end busy while the next ones are made.
_FULL_BYTES: Final = 1 << 13
#: The table that every decoder begins with, and the update that empties it.
_TABLE_BYTES: Final = 4_096
_NO_TABLE: Final = b"\x20"


class Sending:
    """The outgoing frames of one end of a connection.

    `ready` is called when there are frames to send, once until `take`, and `full` as soon as they
    are many bytes; `ended` when the end of a stream was sent.
    """

    def __init__(
        self,
        ready: Callable[[], None],
        ended: Callable[[Stream], None],
        full: Callable[[], None] | None = None,
    ) -> None:
        self._ready: Final = ready
        self._full: Final = full or ready
        self._ended: Final = ended
        self._parts: Final[list[bytes | memoryview]] = []
        self._told = False
        #: Bytes of data that wait.
        self._filled = 0
        #: The socket takes nothing: data waits, and only answers to control frames are added.
        self.paused = False
        self.window = frames.INITIAL_WINDOW
        self.stream_window = frames.INITIAL_WINDOW
        self.frame_bytes = frames.LEAST_FRAME
        #: The beginning of the next header block, and the size of the table that it leaves.
        self._update = b""
        self._table_bytes = _TABLE_BYTES
        #: Streams waiting for the socket or the connection's window, in turn. A stream with its own
        #: window used up is not among them: a larger window of the connection costs nothing for it.
        self._blocked: Final = OrderedDict[Stream, None]()
        #: Answers to the other end's control frames since the socket took something.
        self.acknowledgements = 0

    def __bool__(self) -> bool:
        return bool(self._parts)

    def shrink_table(self, most_bytes: int) -> None:
        """Say with the next header block that the table of plain ones has shrunk to nothing.

        A decoder that has bounded its table waits for it (RFC 7541, section 4.2).
        """
        if most_bytes < self._table_bytes:
            self._table_bytes, self._update = 0, _NO_TABLE

    def hold(self) -> None:
        """Do not call `ready` until `take`, which follows."""
        self._told = True

    def take(self) -> bytes:
        """Return all that waits."""
        self._told, self._filled = False, 0
        parts = self._parts
        content = b"".join(parts) if len(parts) != 1 else bytes(parts[0])
        parts.clear()
        return content

    def put(self, part: bytes | memoryview) -> None:
        """Send a whole frame."""
        self._parts.append(part)
        if not self._told:
            self._told = True
            self._ready()

    def acknowledge(self, part: bytes) -> None:
        """Answer a frame of the other end's; raises `ConnectionFault` if it takes no answers."""
        if self.paused:
            self.acknowledgements += 1
            if self.acknowledgements > _ACKNOWLEDGEMENTS:
                raise ConnectionFault(ErrorCode.ENHANCE_YOUR_CALM, "it reads no acknowledgements")
        self.put(part)

    def headers(self, stream: Stream, block: bytes, *, ends: bool = False) -> None:
        """Send a header block; with `ends` it is the last of the stream."""
        if self._update:
            block, self._update = self._update + block, b""
        size, most, end = len(block), self.frame_bytes, _END if ends else 0
        if size <= most:
            self.put(_head(size, frames.HEADERS, end | _END_HEADERS, stream.number) + block)
        else:
            self.put(_head(most, frames.HEADERS, end, stream.number) + block[:most])
            for at in range(most, size, most):
                part = block[at : at + most]
                last = _END_HEADERS if at + most >= size else 0
                self.put(_head(len(part), frames.CONTINUATION, last, stream.number) + part)
        if ends:
            self._end(stream)

    def whole(
        self, stream: Stream, block: bytes, content: bytes, trailers: bytes | None = None
    ) -> None:
        """Send a header block, bytes, and the end of the stream, with trailers or without."""
        size, length, most = len(block), len(content), self.frame_bytes
        if (
            self.paused
            or self._update
            or length > stream.send_window
            or length > self.window
            or length > most
            or size > most
            or (trailers is not None and len(trailers) > most)
        ):
            self.headers(stream, block)
            self.data(stream, content, ends=True, trailers=trailers)
            return
        stream.send_window -= length
        self.window -= length
        number, ends = stream.number, _END if trailers is None else 0
        self._parts.extend(
            (
                _pack(size >> 8, size & 0xFF, _HEADERS, _END_HEADERS, number),
                block,
                _pack(length >> 8, length & 0xFF, _DATA, ends, number),
                content,
            )
        )
        if trailers is not None:
            size = len(trailers)
            self._parts.append(_pack(size >> 8, size & 0xFF, _HEADERS, _END_HEADERS | _END, number))
            self._parts.append(trailers)
        self._filled += length
        if self._filled > _FULL_BYTES:
            self._full()
        elif not self._told:
            self._told = True
            self._ready()
        self._end(stream)

    def data(
        self, stream: Stream, content: bytes, *, ends: bool = False, trailers: bytes | None = None
    ) -> None:
        """Send bytes, and the end of the stream; bytes beyond a window wait."""
        size = len(content)
        if (
            stream.waiting is None
            and not self.paused
            and size <= stream.send_window
            and size <= self.window
            and size <= self.frame_bytes
        ):
            stream.send_window -= size
            self.window -= size
            closes = ends and trailers is None
            parts = self._parts
            parts.append(_head(size, _DATA, _END if closes else 0, stream.number))
            parts.append(content)
            self._filled += size
            if self._filled > _FULL_BYTES:
                self._full()
            elif not self._told:
                self._told = True
                self._ready()
            if trailers is not None:
                self.headers(stream, trailers, ends=True)
            elif closes:
                self._end(stream)
            return
        if stream.waiting is None:
            stream.waiting = deque()
        if size:
            stream.waiting.append(memoryview(content))
            stream.queued += size
        stream.closing, stream.trailers = ends or trailers is not None, trailers
        self._send_some(stream)

    def forget(self, stream: Stream) -> None:
        """Drop the waiting bytes of a stream that ends otherwise."""
        if stream.waiting is not None:
            stream.waiting, stream.queued = None, 0
            self._blocked.pop(stream, None)

    def widen(self, more: int) -> None:
        """Have a larger window for all streams; raises `ConnectionFault`."""
        self.window += more
        if self.window > frames.LARGEST_WINDOW:
            raise ConnectionFault(ErrorCode.FLOW_CONTROL_ERROR, "the window overflows")
        self.go_on()

    def widen_stream(self, stream: Stream, more: int) -> None:
        """Widen the window of a stream; raises `StreamFault`."""
        stream.send_window += more
        if stream.send_window > frames.LARGEST_WINDOW:
            raise StreamFault(stream.number, ErrorCode.FLOW_CONTROL_ERROR, "its window overflows")
        if stream.waiting is not None:
            self._send_some(stream)

    def widen_streams(self, streams: Iterable[Stream], more: int) -> None:
        """Widen the windows of all streams by a setting; raises `ConnectionFault`."""
        for stream in streams:
            try:
                self.widen_stream(stream, more)
            except StreamFault as fault:
                # Of all streams, so of the connection (section 6.9.2).
                raise ConnectionFault(fault.code, fault.why) from None

    def go_on(self) -> None:
        """Send as much as the windows allow, a frame of each stream in turn."""
        blocked = self._blocked
        while blocked and not self.paused:
            stream = next(iter(blocked))
            if not self._send_some(stream, 1) and stream in blocked:
                return
            if stream in blocked:
                blocked.move_to_end(stream)

    def _send_some(self, stream: Stream, most_frames: int = 1 << 30) -> bool:
        """Send as much of a stream's data as the windows allow; False: nothing."""
        waiting = stream.waiting
        assert waiting is not None
        moved = False
        while waiting and most_frames and not self.paused:
            size = min(stream.send_window, self.window, self.frame_bytes, len(waiting[0]))
            if size <= 0:
                if stream.send_window <= 0:
                    self._blocked.pop(stream, None)
                else:
                    self._blocked[stream] = None
                return moved
            part = waiting[0][:size]
            if size == len(waiting[0]):
                waiting.popleft()
            else:
                waiting[0] = waiting[0][size:]
            stream.send_window -= size
            self.window -= size
            stream.queued -= size
            last = not waiting and stream.closing and stream.trailers is None
            self._parts.append(_head(size, _DATA, _END if last else 0, stream.number))
            self.put(part)
            moved, most_frames = True, most_frames - 1
        if waiting or self.paused:
            self._blocked[stream] = None
            return moved
        stream.waiting = None
        self._blocked.pop(stream, None)
        if not stream.closing:
            stream.owner.writable()
        elif stream.trailers is not None:
            self.headers(stream, stream.trailers, ends=True)
        else:
            if not moved:
                self.put(_head(0, _DATA, _END, stream.number))
            self._end(stream)
        return True

    def _end(self, stream: Stream) -> None:
        stream.local_closed = True
        self._ended(stream)
