"""Joins a connection to a socket of `asyncio`."""

from __future__ import annotations

import asyncio
from typing import Final, Protocol, cast

from quorate.http2.connection import Connection
from quorate.http2.errors import ConnectionFault

#: Bytes of one read from a socket. Buffers are shared by connections: only the beginning of a
#: frame is kept between two reads.
READ_BYTES: Final = 1 << 18
#: Bytes that may wait at a socket before data waits at its stream.
_HIGH_WATER: Final = 1 << 18
#: Time for the other end to read the reason for the end of its connection.
_LINGER_S: Final = 1.0


class WireOwner(Protocol):
    """Handles the events of a connection's socket."""

    def connected(self, wire: Wire) -> Connection:
        """Return the connection of an established socket."""

    def lost(self, wire: Wire, why: str) -> None:
        """The socket is closed; its streams have been notified."""


class Wire(asyncio.BufferedProtocol):
    """The socket of a connection, read into a buffer that it shares with others of its loop."""

    __slots__ = (
        "_ended",
        "_loop",
        "_lost",
        "_owner",
        "_rest",
        "_scratch",
        "_stands",
        "_turn",
        "connection",
        "reads",
        "transport",
    )

    def __init__(
        self, owner: WireOwner, scratch: memoryview, loop: asyncio.AbstractEventLoop
    ) -> None:
        self._owner: Final = owner
        self._scratch: Final = scratch
        self._loop: Final = loop
        #: The beginning of a frame that has not arrived as a whole.
        self._rest: Final = bytearray()
        self._turn: asyncio.Handle | None = None
        #: The other end broke the rules and got the reason: its bytes are ignored, and it is sent
        #: nothing more.
        self._ended = False
        self._lost = False
        #: The number of reads.
        self.reads = 0
        #: Whether the socket is established; bytes with the end of its handshake arrive before.
        self._stands = False
        self.transport: asyncio.Transport
        self.connection: Connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin the connection."""
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(_HIGH_WATER)
        self.connection = self._owner.connected(self)
        self.connection.begin()
        self._stands = True
        if self._rest:
            self._receive(len(self._rest))

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return where the next bytes go."""
        return self._scratch

    def buffer_updated(self, nbytes: int) -> None:
        """Process the bytes that have arrived, and send the answers that are ready by then."""
        self.reads += 1
        if self._ended:
            return
        rest = self._rest
        if rest or not self._stands:
            rest += self._scratch[:nbytes]
            if self._stands:
                self._receive(len(rest))
            return
        connection = self.connection
        connection.sending.hold()
        try:
            used = connection.receive(self._scratch, nbytes)
        except ConnectionFault as fault:
            connection.lose(str(fault))
            self._end()
            return
        if used != nbytes:
            rest += self._scratch[used:nbytes]
        self.flush()

    def fed(self, content: bytes) -> None:
        """Process bytes that arrived before the socket was this protocol's."""
        self.reads += 1
        if not self._ended:
            self._rest.extend(content)
            self._receive(len(self._rest))

    def _receive(self, size: int) -> None:
        """Process the complete frames of the bytes that were kept."""
        self.connection.sending.hold()
        try:
            with memoryview(self._rest) as view:
                used = self.connection.receive(view, size)
        except ConnectionFault as fault:
            self.connection.lose(str(fault))
            self._end()
            return
        del self._rest[:used]
        self.flush()

    def eof_received(self) -> bool:
        """Close the socket when the other end has closed its own."""
        return False

    def pause_writing(self) -> None:
        """Let data wait with its streams."""
        self.connection.sending.paused = True

    def resume_writing(self) -> None:
        """Send the waiting data."""
        sending = self.connection.sending
        sending.paused, sending.acknowledgements = False, 0
        sending.go_on()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the streams; a repeated call, or one before the connection began, does nothing."""
        if self._lost or not self._stands:
            return
        self._lost = self._ended = True
        why = (str(exc) or type(exc).__name__) if exc else "the connection was closed"
        self.connection.lose(why)
        self._owner.lost(self, why)

    def ready(self) -> None:
        """Flush at the end of this turn of the loop, with all frames added by then."""
        self._turn = self._loop.call_soon(self.flush)

    def flush(self) -> None:
        """Write the waiting frames to the socket."""
        sending = self.connection.sending
        if sending:
            content = sending.take()
            if not self._ended and not self.transport.is_closing():
                self.transport.write(content)
        else:
            sending.take()

    def _end(self) -> None:
        """Send the reason for the end of the connection, and drain incoming bytes for a while.

        A socket that is closed with unread bytes is reset, and the reason lost. Streams end at
        once: further data of their owners is dropped.
        """
        self.flush()
        self._ended = True
        if self.transport.can_write_eof():
            self.transport.write_eof()
            self._loop.call_later(_LINGER_S, self.transport.abort)
        else:
            self.transport.close()

    def close(self) -> None:
        """Flush, and close the socket."""
        self.flush()
        self.transport.close()


def scratch(size: int = READ_BYTES) -> memoryview:
    """Return a buffer for the wires of one event loop."""
    return memoryview(bytearray(size))
