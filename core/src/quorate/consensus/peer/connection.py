"""Frames on one TCP connection."""

import asyncio
import socket
from typing import Final, Protocol, cast

from quorate.consensus.peer.wire import LENGTH

#: What is read at once while no larger frame is under way.
_READ_BYTES: Final = 64 << 10
#: The largest buffer that is kept for the next frame.
_KEPT_BYTES: Final = 2 << 20
#: What TCP may hold of what was written before a link keeps the rest to itself.
_WRITE_BYTES: Final = 1 << 20


class FrameReader(Protocol):
    """What a connection is for."""

    def opened(self, connection: "Connection") -> None:
        """Begin: the connection stands."""

    def read(self, content: memoryview) -> None:
        """Take the content of a frame; it is good until this returns."""

    def oversized(self, size: int) -> None:
        """Hear that a frame is larger than allowed; the connection ends."""

    def has_room(self) -> None:
        """Hear that what was written has left, and more may follow."""

    def closed(self) -> None:
        """End: the connection is no more."""


class Connection(asyncio.BufferedProtocol):
    """Cuts what comes into frames, and says whether there is room for more to be sent.

    Frames of up to `largest` bytes are read; a larger one ends the connection before a byte of it
    is kept. An end that does not acknowledge what it is sent for `silent_s` is taken for dead.
    """

    def __init__(self, reader: FrameReader, largest: int, silent_s: float) -> None:
        self._reader: Final = reader
        self._silent_s: Final = silent_s
        self._buffer = bytearray(_READ_BYTES)
        #: What was read and not taken: from `_begin` to `_end`.
        self._begin = 0
        self._end = 0
        self._transport: asyncio.Transport | None = None
        self.largest = largest
        self.writable = False

    @property
    def peer(self) -> str:
        """The address of the other end."""
        found = self._transport and self._transport.get_extra_info("peername")
        return f"{found[0]}:{found[1]}" if found else "an unknown address"

    def write(self, frame: bytes) -> None:
        """Send bytes; to be called while `writable`."""
        if self._transport is not None:
            self._transport.write(frame)

    def close(self) -> None:
        """Send what was written, and end; nothing is read any more."""
        self._end_with("close")

    def abort(self) -> None:
        """End at once."""
        self._end_with("abort")

    def _end_with(self, how: str) -> None:
        transport, self._transport, self.writable = self._transport, None, False
        if transport is not None:
            getattr(transport, how)()

    # What the transport calls.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set the connection up."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=_WRITE_BYTES)
        _notice_death(self._transport.get_extra_info("socket"), self._silent_s)
        self.writable = True
        self._reader.opened(self)

    def connection_lost(self, _: Exception | None) -> None:
        """Let go."""
        self._transport, self.writable = None, False
        self._reader.closed()

    def pause_writing(self) -> None:
        """Send no more: the other end does not read as fast."""
        self.writable = False

    def resume_writing(self) -> None:
        """Go on."""
        if self._transport is not None:
            self.writable = True
            self._reader.has_room()

    def get_buffer(self, _: int) -> memoryview:
        """Return where to put what comes."""
        return memoryview(self._buffer)[self._end :]

    def buffer_updated(self, size: int) -> None:
        """Take every frame that is complete."""
        self._end += size
        view = memoryview(self._buffer)
        wanted = 0
        while self._transport is not None and self._end - self._begin >= LENGTH.size:
            (length,) = LENGTH.unpack_from(view, self._begin)
            if length > self.largest:
                self._reader.oversized(length)
                self.abort()
                return
            begin = self._begin + LENGTH.size
            if self._end < begin + length:
                wanted = LENGTH.size + length
                break
            self._begin = begin + length
            self._reader.read(view[begin : self._begin])
        self._make_room(wanted)

    def _make_room(self, wanted: int) -> None:
        """Move what is left to the front of a buffer that is large enough for its frame."""
        if self._begin == 0 and wanted <= len(self._buffer):
            return
        left = self._buffer[self._begin : self._end]
        if wanted > len(self._buffer) or len(self._buffer) > _KEPT_BYTES:
            self._buffer = bytearray(max(wanted, _READ_BYTES))
        self._buffer[: len(left)] = left
        self._begin, self._end = 0, len(left)


def _notice_death(connected: socket.socket, silent_s: float) -> None:
    """Have the system end a connection whose other end is gone; what it cannot do is left out."""
    connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    idle_s = max(1, int(silent_s / 2))
    for option, value in (
        ("TCP_KEEPIDLE", idle_s),
        ("TCP_KEEPINTVL", idle_s),
        ("TCP_KEEPCNT", 1),
        ("TCP_USER_TIMEOUT", int(silent_s * 1_000)),
    ):
        if hasattr(socket, option):
            connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
