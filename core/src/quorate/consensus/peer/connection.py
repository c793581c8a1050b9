"""Frames on a TCP connection."""

import asyncio
import socket
import ssl
from typing import Final, Protocol, cast

from quorate.consensus.peer.wire import LENGTH

#: The size of the read buffer while no larger frame is pending.
_READ_BYTES: Final = 64 << 10
#: The largest buffer that is reused for the next frame.
_KEPT_BYTES: Final = 2 << 20
#: Bytes that the transport may buffer before a link stops writing.
_WRITE_BYTES: Final = 1 << 20


class FrameReader(Protocol):
    """The user of a connection."""

    def opened(self, connection: "Connection") -> None:
        """The connection is established."""

    def read(self, content: memoryview) -> None:
        """Process a frame; its content is valid until this returns."""

    def oversized(self, size: int) -> None:
        """A frame exceeds the limit; the connection ends."""

    def has_room(self) -> None:
        """The write buffer is empty; more may be written."""

    def closed(self) -> None:
        """The connection has ended."""


class Connection(asyncio.BufferedProtocol):
    """Splits the input into frames, and reports when more can be written.

    Frames of up to `largest` bytes are read; a larger one ends the connection before a byte of it
    is kept. A peer that acknowledges nothing for `silent_s` is considered dead.
    """

    def __init__(self, reader: FrameReader, largest: int, silent_s: float) -> None:
        self._reader: Final = reader
        self._silent_s: Final = silent_s
        self._buffer = memoryview(bytearray(_READ_BYTES))
        #: Bytes read and not processed: from `_begin` to `_end`.
        self._begin = 0
        self._end = 0
        self._transport: asyncio.Transport | None = None
        self.largest = largest
        self.writable = False

    @property
    def peer(self) -> str:
        """The address of the other end."""
        return "an unknown address" if self._transport is None else address_of(self._transport)

    @property
    def host(self) -> str:
        """The machine at the other end."""
        return self.peer.rpartition(":")[0]

    @property
    def certificate(self) -> bytes | None:
        """The certificate of the other end, as DER; None without TLS."""
        if self._transport is None:
            return None
        encrypted: ssl.SSLObject | None = self._transport.get_extra_info("ssl_object")
        return None if encrypted is None else encrypted.getpeercert(binary_form=True)

    def write(self, frame: bytes) -> None:
        """Send bytes; call it only while `writable`."""
        if self._transport is not None:
            self._transport.write(frame)

    def close(self) -> None:
        """Flush the written bytes and close; nothing is read any more."""
        self._end_with("close")

    def abort(self) -> None:
        """Close at once."""
        self._end_with("abort")

    def _end_with(self, how: str) -> None:
        transport, self._transport, self.writable = self._transport, None, False
        if transport is not None:
            getattr(transport, how)()

    # Called by the transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set the connection up."""
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=_WRITE_BYTES)
        _notice_death(self._transport.get_extra_info("socket"), self._silent_s)
        self.writable = True
        self._reader.opened(self)

    def connection_lost(self, _: Exception | None) -> None:
        """Forget the transport."""
        self._transport, self.writable = None, False
        self._reader.closed()

    def pause_writing(self) -> None:
        """Stop writing: the write buffer is full."""
        self.writable = False

    def resume_writing(self) -> None:
        """Go on."""
        if self._transport is not None:
            self.writable = True
            self._reader.has_room()

    def get_buffer(self, _: int) -> memoryview:
        """Return the buffer to read into."""
        return self._buffer[self._end :]

    def buffer_updated(self, size: int) -> None:
        """Process every complete frame."""
        self._end += size
        view = self._buffer
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
        if self._begin == self._end and len(view) <= _KEPT_BYTES:
            self._begin = self._end = 0
        else:
            self._make_room(wanted)

    def _make_room(self, wanted: int) -> None:
        """Move the unprocessed bytes to the front of a buffer large enough for their frame."""
        if self._begin == 0 and wanted <= len(self._buffer):
            return
        left = bytes(self._buffer[self._begin : self._end])
        if wanted > len(self._buffer) or len(self._buffer) > _KEPT_BYTES:
            self._buffer = memoryview(bytearray(max(wanted, _READ_BYTES)))
        self._buffer[: len(left)] = left
        self._begin, self._end = 0, len(left)


def address_of(transport: asyncio.BaseTransport) -> str:
    """Return the address of the other end."""
    found = transport.get_extra_info("peername")
    return f"{found[0]}:{found[1]}" if found else "an unknown address"


def _notice_death(connected: socket.socket, silent_s: float) -> None:
    """Let the system end a connection to a dead peer, as far as it supports that."""
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
