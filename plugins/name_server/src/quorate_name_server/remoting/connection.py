"""One connection, which reads requests from a stream of bytes and writes the answers."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Final, cast

from quorate_name_server.remoting.frames import Frame, Frames, MalformedError, skip_proxy
from quorate_name_server.remoting.headers import Request, Response, decode, encode
from quorate_name_server.remoting.tls import HANDSHAKE, Tls

if TYPE_CHECKING:
    from quorate_name_server.remoting.registering import Renewed
    from quorate_name_server.remoting.server import Server

#: The most requests of one connection in progress.
MOST_IN_FLIGHT: Final = 64
#: A larger frame waits until there is room for it.
LARGE: Final = 1 << 16


class Connection(asyncio.Protocol):
    """Reads requests and writes answers; it stops reading while too many requests are pending.

    A request that can be answered at once needs no task; the others are answered in any order.
    """

    def __init__(self, server: Server) -> None:
        self._server: Final = server
        self._frames: Final = Frames()
        self._waiting: Final[deque[Frame]] = deque()
        #: The bytes before the first frame; None once it has begun.
        self._opening: bytes | None = b""
        self._tls: Tls | None = None
        self._transport: asyncio.Transport | None = None
        self._in_flight = 0
        #: Room held for a large frame, and whether the connection still waits for it.
        self._held_room = 0
        self._wants_room = False
        self._writable = True
        self._reads = True
        self._out: list[bytes] = []
        self._out_bytes = 0
        #: The peer's address, as `host:port`, and its host.
        self.peer = ""
        self.host = ""
        #: The address at which the peer has reached this node.
        self.own_address = ""
        #: The time of the last complete frame or reply, in seconds.
        self.active_s = 0.0
        #: The registrations of this connection, by broker and address of the member; on a
        #: controller's, the ids of replicas.
        self.registrations: Final[dict[tuple[str, str], int]] = {}
        #: The last registrations of these members that changed nothing.
        self.renewed: Final[dict[tuple[str, str], Renewed]] = {}

    # Called by asyncio.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the connection, or abort it if the server refuses it."""
        self._transport = cast(asyncio.Transport, transport)
        peer = transport.get_extra_info("peername") or ("", 0)
        self.host, self.peer = str(peer[0]), f"{peer[0]}:{peer[1]}"
        own = transport.get_extra_info("sockname") or ("", 0)
        self.own_address = f"{own[0]}:{own[1]}"
        self.active_s = self._server.now_s()
        if not self._server.entered(self):
            self.abort()

    def connection_lost(self, error: Exception | None) -> None:
        """Clean up: requests in progress are no longer answered."""
        self._transport = None
        self._waiting.clear()
        if not self._wants_room:
            self._give_room()
        self._server.left(self)

    def data_received(self, data: bytes) -> None:
        """Buffer bytes, and answer the complete requests."""
        try:
            if self._opening is not None:
                data = self._begin(self._opening + data)
            elif self._tls is not None:
                data = self._tls.receive(data)
            if found := self._frames.feed(data):
                # A frame that arrives byte by byte holds its room no longer than a stalled one.
                self.active_s = self._server.now_s()
                self._server.heard(self)
                self._waiting.extend(found)
            self._work()
            self._mind_room()
        except MalformedError as error:
            self._server.complain(f"the connection of {self.host} is closed: {error}")
            self.close()
        self._flush()
        if self._tls is not None and self._tls.ended:
            self.close()

    def pause_writing(self) -> None:
        """Stop serving requests: the peer does not read its answers."""
        self._writable = False
        self._pace()

    def resume_writing(self) -> None:
        """Resume serving requests."""
        self._writable = True
        self._go_on()

    # Called by the server.

    @property
    def user(self) -> str:
        """The user of the peer's certificate; empty without one."""
        return "" if self._tls is None else self._tls.user

    @property
    def is_open(self) -> bool:
        """Whether data can be sent to the peer."""
        return self._transport is not None and not self._transport.is_closing()

    def close(self) -> None:
        """Close the connection after sending the pending data."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close the connection at once."""
        if self._transport is not None:
            self._transport.abort()

    # Requests and answers.

    def _begin(self, data: bytes) -> bytes:
        """Strip a PROXY header, begin TLS if the peer does, and return the bytes of frames."""
        rest = skip_proxy(data)
        if not rest:
            self._opening = data
            return b""
        self._opening = None
        if rest[0] == HANDSHAKE:
            self._tls = Tls(self._server.tls_context(), self._send)
            return self._tls.receive(rest)
        if self._server.tls_only:
            raise MalformedError("the peer does not use TLS")
        return rest

    @property
    def _busy(self) -> bool:
        """Whether no other request may start now."""
        most = 1 if self._held_room else MOST_IN_FLIGHT
        return self._in_flight >= most or not self._writable

    def _work(self) -> None:
        while self._waiting and not self._busy and self.is_open:
            received = self._waiting.popleft()
            request = decode(received)
            if request.is_response:
                continue
            answer = self._server.answer(self, request)
            if isinstance(answer, Response):
                self._answered(request, answer)
            else:
                self._in_flight += 1
                self._server.start(self._later(request, answer))
        self._pace()

    async def _later(self, request: Request, answer: Awaitable[Response]) -> None:
        try:
            response = await answer
        finally:
            self._in_flight -= 1
        self._answered(request, response)
        self._go_on()

    def _go_on(self) -> None:
        try:
            self._work()
        except MalformedError as error:
            self._server.complain(f"the connection of {self.host} is closed: {error}")
            self.close()
        self._mind_room()
        self._flush()

    def _answered(self, request: Request, response: Response) -> None:
        if not request.one_way:
            self._out.append(encode(response, request.opaque))
            self._out_bytes += len(self._out[-1])
            if self._out_bytes > LARGE:
                # The transport calls back when the peer does not read: no further request is
                # started then.
                self._flush()

    def _flush(self) -> None:
        if self._out:
            out, self._out, self._out_bytes = b"".join(self._out), [], 0
            if self.is_open:
                self.active_s = self._server.now_s()
                send = self._send if self._tls is None else self._tls.send
                send(out)

    def _send(self, data: bytes) -> None:
        if self._transport is not None and self.is_open:
            self._transport.write(data)

    def _mind_room(self) -> None:
        """Hold room for a large frame from its head until it is answered."""
        if not self.is_open or (self._held_room and self._in_flight):
            return
        expected = self._frames.expected if self._frames.held else 0
        if expected <= LARGE:
            expected = 0
        if expected != self._held_room:
            self._give_room()
        if expected and not self._held_room:
            self._held_room = expected
            self._wants_room = not self._server.budget.take(expected, self._roomy)
            self._pace()

    def _roomy(self) -> None:
        self._wants_room = False
        if self._transport is None:
            self._give_room()
        else:
            self._pace()

    def _give_room(self) -> None:
        if self._held_room and not self._wants_room:
            size, self._held_room = self._held_room, 0
            self._server.budget.give(size)

    def _pace(self) -> None:
        """Pause or resume reading, by the pending work."""
        reads = not (self._busy or self._waiting or self._wants_room)
        if reads != self._reads and self._transport is not None and self.is_open:
            self._reads = reads
            if reads:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()
