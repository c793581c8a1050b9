"""A server of gRPC methods."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, cast

from quorate.http2.accepting import stop_accepting
from quorate.http2.connection import Connection, ConnectionLimits
from quorate.http2.errors import ErrorCode
from quorate.http2.grpc.codes import Code
from quorate.http2.grpc.deadlines import Deadlines
from quorate.http2.grpc.fault_log import FaultLog
from quorate.http2.grpc.messages import ENCODINGS
from quorate.http2.grpc.metadata import CallHead, Metadata
from quorate.http2.grpc.running import Running
from quorate.http2.grpc.server_call import Method, ServerCall
from quorate.http2.headers import Headers
from quorate.http2.hpack import plain_block
from quorate.http2.stream import Stream, StreamOwner
from quorate.http2.wire import Wire, scratch

#: Connections that wait to be accepted.
_BACKLOG: Final = 1_024
#: The interval between two checks of connections.
_LOOK_S: Final = 1.0
#: Time for a client to read the end of its connection when the server stops.
_LAST_S: Final = 0.1
#: The beginning of HTTP/2, which is no request of HTTP/1.1.
_HTTP2: Final = b"PRI * HTTP/2.0"
_WRONG_TYPE: Final = plain_block([(b":status", b"415"), (b"content-type", b"text/plain")])
_WRONG_TYPE_TEXT: Final = b"this port serves gRPC: POST with content-type application/grpc\n"
_UNPACKED: Final = "identity, gzip"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """Bounds of a server; None: unbounded."""

    connection: ConnectionLimits = field(default_factory=ConnectionLimits)
    #: Connections at a time; None: bounded only by file descriptors.
    connections: int | None = None
    #: The largest request.
    message_bytes: int = 16 << 20
    #: Time until the first settings of a client.
    handshake_s: float = 10.0
    #: A connection is closed after this time without calls.
    idle_s: float | None = None
    #: A connection is closed after this age, once its calls have ended.
    age_s: float | None = None
    #: A silent client is pinged after the first, and considered lost after the second.
    keepalive_s: float | None = 60.0
    keepalive_timeout_s: float = 20.0


#: A code, its text, and its metadata.
Refusal = tuple[Code, str, Metadata]


class Coming(Protocol):
    """A request that has not arrived completely."""

    def peer(self) -> str:
        """Return the other end of its connection."""

    def refuse(self, refusal: Refusal) -> None:
        """End its call."""


class Observer(Protocol):
    """Observes connections, each by its peer as gRPC names it, and requests that begin."""

    def opened(self, peer: str, close: Callable[[], object]) -> bool:
        """Admit a connection, which `close` ends at once; False: it is closed instead."""

    def closed(self, peer: str) -> None:
        """An admitted connection is gone, with all that it held."""

    def take(self, request: Coming, size: int) -> Refusal | None:
        """Count the bytes of a request that begins to arrive; or return its refusal."""

    def give(self, request: Coming) -> None:
        """Give its bytes back: it has arrived, or its call has ended."""


#: Returns the protocol of a connection that does not begin as HTTP/2. It is given the other end,
#: and what to call when the connection is gone.
Otherwise = Callable[[str, Callable[[], None]], asyncio.Protocol]


class Server:
    """Serves the method that `find` returns for the path of a call; None: an unknown method.

    With `otherwise` its ports serve another protocol, too: the first bytes of a connection tell.
    """

    def __init__(
        self,
        find: Callable[[str], Method | None],
        limits: ServerLimits,
        loop: asyncio.AbstractEventLoop,
        observer: Observer | None = None,
        otherwise: Otherwise | None = None,
    ) -> None:
        self.find: Final = find
        self.limits: Final = limits
        self.loop: Final = loop
        self.observer: Final = observer
        self.otherwise: Final = otherwise
        #: The number of connections, including arriving ones.
        self._count = 0
        self.deadlines: Final = Deadlines(loop)
        self.connections: Final[set[Accepted]] = set()
        self.arriving: Final[set[Arrival | Unread]] = set()
        #: Faults of clients, by their codes.
        self.faults: Final = Counter[ErrorCode]()
        self.fault_log: Final = FaultLog()
        self._scratch: Final = scratch()
        self._listening: Final[list[asyncio.Server]] = []
        self._looking: asyncio.TimerHandle | None = None
        self._draining = False
        #: Is done once a connection is closed that `stop` waits for.
        self._lost: asyncio.Future[None] | None = None

    async def listen(self, host: str, port: int, context: ssl.SSLContext | None = None) -> int:
        """Accept connections at an address, and return its port; raises `OSError`."""
        server = await self.loop.create_server(
            lambda: self._accept(context), host, port, backlog=_BACKLOG
        )
        self._listens(server)
        found: int = server.sockets[0].getsockname()[1]
        return found

    async def listen_at(self, sock: socket.socket, context: ssl.SSLContext | None = None) -> None:
        """Accept connections at a socket that has its address."""
        self._listens(
            await self.loop.create_server(
                lambda: self._accept(context), sock=sock, backlog=_BACKLOG
            )
        )

    async def listen_unix(self, path: str) -> None:
        """Accept connections at a socket in the file system; raises `OSError`."""
        self._listens(await self.loop.create_unix_server(lambda: self._accept(None), path))

    async def stop(self, grace_s: float) -> None:
        """Accept no more calls, and end the open ones after `grace_s`."""
        self._draining = True
        await stop_accepting(self._listening)
        for arrival in list(self.arriving):
            arrival.abort()
        for accepted in list(self.connections):
            accepted.drain()
        with suppress(TimeoutError):
            async with asyncio.timeout(grace_s):
                while busy := [each.quiet() for each in self.connections if each.busy]:
                    await asyncio.wait(busy)
        for accepted in list(self.connections):
            accepted.close(ErrorCode.NO_ERROR, "the server stops")
        if self._looking is not None:
            self._looking.cancel()
        await self._all_lost()
        for accepted in list(self.connections):
            accepted.abort()
        await self._all_lost()
        self.fault_log.tell()

    def forget(self, gone: Accepted | Arrival | Unread) -> None:
        """Remove a closed connection, or one that has arrived, or failed to."""
        if isinstance(gone, Accepted):
            self.connections.discard(gone)
        else:
            self.arriving.discard(gone)
        if self._lost is not None and not self._lost.done():
            self._lost.set_result(None)

    async def _all_lost(self) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(_LAST_S):
                while self.connections or self.arriving:
                    self._lost = self.loop.create_future()
                    await self._lost

    def _listens(self, server: asyncio.Server) -> None:
        self._listening.append(server)
        if self._looking is None:
            self._looking = self.loop.call_later(_LOOK_S, self._look)

    def _accept(self, context: ssl.SSLContext | None) -> asyncio.BaseProtocol:
        accepted = Accepted(self)
        wire = Wire(accepted, self._scratch, self.loop)
        if self.otherwise is None:
            return wire if context is None else Arrival(self, wire, accepted, context)
        unread = Unread(self, wire, accepted, self.otherwise)
        return unread if context is None else Arrival(self, unread, unread, context)

    def admit(self, transport: asyncio.Transport) -> bool:
        """Count a connection; False: it is closed, as there are too many or the server stops."""
        if self._draining:
            transport.abort()
            return False
        most = self.limits.connections
        if (most is not None and self._count >= most) or (
            self.observer is not None
            and not self.observer.opened(peer_of(transport), transport.abort)
        ):
            self.faults[ErrorCode.ENHANCE_YOUR_CALM] += 1
            transport.abort()
            return False
        self._count += 1
        return True

    def leave(self, peer: str) -> None:
        """Stop counting a connection that is gone."""
        self._count -= 1
        if self.observer is not None:
            self.observer.closed(peer)

    def _look(self) -> None:
        self._looking = self.loop.call_later(_LOOK_S, self._look)
        now = self.loop.time()
        self.fault_log.tell(now)
        for accepted in list(self.connections):
            accepted.look(now)


class Accepted:
    """A connection of a client, and the calls on it."""

    def __init__(self, server: Server) -> None:
        self._server: Final = server
        self.loop: Final = server.loop
        self.deadlines: Final = server.deadlines
        self.observer: Final = server.observer
        self.most_bytes: Final = server.limits.message_bytes
        self.peer = ""
        #: Whether it counts as a connection of the server's.
        self.counted = False
        #: What the certificate of the client shows.
        self.shown: Mapping[str, Sequence[bytes]] = {}
        self.connection: Connection
        self._wire: Wire
        self._began_at = self._idle_from = server.loop.time()
        self._configured = False
        #: When something was read last, by how often something was; and whether it was asked since.
        self._reads = 0
        self._heard_at = self._began_at
        self._pinged = False
        self._draining = False
        self._quiet: asyncio.Future[None] | None = None

    # --- its socket

    def connected(self, wire: Wire) -> Connection:
        """Begin a connection."""
        self._wire = wire
        self.peer = peer_of(wire.transport)
        tls = wire.transport.get_extra_info("ssl_object")
        if tls is not None:
            self.shown = shown_by(tls)
            if tls.selected_alpn_protocol() != "h2":
                self.refused(ErrorCode.INADEQUATE_SECURITY, "TLS without h2 in ALPN")
                wire.transport.close()
        self.connection = Connection(
            self,
            self._server.limits.connection,
            client=False,
            ready=wire.ready,
            full=wire.flush,
        )
        self.counted = self.counted or self._server.admit(wire.transport)
        self._server.connections.add(self)
        return self.connection

    def lost(self, wire: Wire, why: str) -> None:
        """Forget a connection that is closed."""
        self._server.forget(self)
        if self.counted:
            self._server.leave(self.peer)
        self._tell_quiet()

    # --- its protocol

    def accept(self, stream: Stream, headers: Headers, ended: bool) -> StreamOwner:
        """Begin a call."""
        head = headers.memo
        if not isinstance(head, CallHead):
            head = headers.memo = CallHead(headers)
        method = self._server.find(head.path)
        if head.method != b"POST" or not head.content_type.startswith(b"application/grpc"):
            return Foreign(self.connection, stream, ended)
        call = ServerCall(self, stream, head, method or _UNKNOWN)
        stream.owner = call
        if method is None:
            call.finish(Code.UNIMPLEMENTED, f"no service of this server has the method {head.path}")
        elif head.encoding not in ENCODINGS:
            call.finish(
                Code.UNIMPLEMENTED,
                f"grpc-encoding {head.encoding.decode('latin-1')}: use one of {_UNPACKED}",
                (),
            )
        elif head.timeout_s == 0:
            call.finish(Code.DEADLINE_EXCEEDED, "the deadline had passed before the call came")
        else:
            call.begin(ended)
        return call

    def refused(self, code: ErrorCode, why: str) -> None:
        """Count a fault of the client's."""
        self._server.faults[code] += 1
        self._server.fault_log.add(code, self.peer, why)

    def configured(self) -> None:
        """The client has begun."""
        self._configured = True

    def going_away(self, last: int, code: int, why: bytes) -> None:
        """The client opens no more calls."""
        self._draining = True
        if not self.busy:
            self._wire.close()

    def answered(self, payload: bytes) -> None:
        """The client is there, as `Wire.reads` says."""

    def idle(self) -> None:
        """No call is open."""
        self._idle_from = self.loop.time()
        self._tell_quiet()
        if self._draining:
            self.loop.call_soon(self._close_if_idle)

    # --- its life

    @property
    def busy(self) -> bool:
        """Whether a call is open."""
        return bool(self.connection.streams)

    def drain(self) -> None:
        """Accept no more calls of the client."""
        self._draining = True
        self.connection.drain()

    def quiet(self) -> asyncio.Future[None]:
        """Return a future that is done once no call is open."""
        if self._quiet is None or self._quiet.done():
            self._quiet = self.loop.create_future()
        return self._quiet

    def close(self, code: ErrorCode, why: str) -> None:
        """End the connection, and its calls."""
        self.connection.close(code, why)
        self._wire.close()

    def abort(self) -> None:
        """Drop the connection without a GOAWAY."""
        self._wire.transport.abort()

    def look(self, now: float) -> None:
        """Enforce the bounds in time."""
        limits = self._server.limits
        if not self._configured:
            if now - self._began_at > limits.handshake_s:
                self._wire.transport.abort()
            return
        idle = not self.busy
        if idle and limits.idle_s is not None and now - self._idle_from > limits.idle_s:
            self.drain()
            self.close(ErrorCode.NO_ERROR, "idle")
        elif limits.age_s is not None and now - self._began_at > limits.age_s:
            self.drain()
            if idle:
                self.close(ErrorCode.NO_ERROR, "old")
        elif limits.keepalive_s is not None:
            self._keep_alive(now, limits.keepalive_s)

    def _keep_alive(self, now: float, every_s: float) -> None:
        if self._reads != self._wire.reads:
            self._reads, self._heard_at, self._pinged = self._wire.reads, now, False
        elif now - self._heard_at > every_s + self._server.limits.keepalive_timeout_s:
            self._wire.transport.abort()
        elif now - self._heard_at > every_s and not self._pinged:
            self._pinged = True
            self.connection.ping(b"keep\0\0\0\0")

    def _close_if_idle(self) -> None:
        if not self.busy:
            self._wire.close()

    def _tell_quiet(self) -> None:
        if self._quiet is not None and not self._quiet.done():
            self._quiet.set_result(None)


class Arrival(asyncio.Protocol):
    """A connection during its TLS handshake; it counts from now on."""

    def __init__(
        self,
        server: Server,
        wire: Wire | Unread,
        accepted: Accepted | Unread,
        context: ssl.SSLContext,
    ) -> None:
        self._server: Final = server
        self._wire: Final = wire
        self._accepted: Final = accepted
        self._context: Final = context
        self._plain: asyncio.Transport
        self._peer = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Shake hands."""
        plain = self._plain = cast(asyncio.Transport, transport)
        if self._server.admit(plain):
            self._peer = peer_of(plain)
            self._server.arriving.add(self)
            # At once: the next bytes of the client are for TLS, and not for this protocol.
            shaking = self._shake(plain)
            Running(self._server.loop, copy_context(), shaking, self._shaken).start()

    def abort(self) -> None:
        """End the connection."""
        self._plain.abort()

    async def _shake(self, plain: asyncio.Transport) -> asyncio.Transport | None:
        server = self._server
        return await server.loop.start_tls(
            plain,
            self._wire,
            self._context,
            server_side=True,
            ssl_handshake_timeout=server.limits.handshake_s,
        )

    def _shaken(self, made: asyncio.Transport | None, error: BaseException | None) -> None:
        """Begin the connection, unless the client has gone or the handshake failed."""
        self._server.forget(self)
        if error is not None or made is None or made.is_closing():
            self._plain.abort()
            self._server.leave(self._peer)
            return
        self._accepted.counted = True
        self._wire.connection_made(made)


class Unread(asyncio.Protocol):
    """A connection whose first bytes have not told its protocol; it counts from now on."""

    def __init__(
        self, server: Server, wire: Wire, accepted: Accepted, otherwise: Otherwise
    ) -> None:
        self._server: Final = server
        self._wire: Final = wire
        self._accepted: Final = accepted
        self._otherwise: Final = otherwise
        #: Whether it counts as a connection of the server's.
        self.counted = False
        self._peer = ""
        self._first = b""
        self._transport: asyncio.Transport | None = None
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the first bytes; with the end of a TLS handshake they came before."""
        made = self._transport = cast(asyncio.Transport, transport)
        if not self.counted and not self._server.admit(made):
            return
        self.counted = True
        self._peer = peer_of(made)
        self._server.arriving.add(self)
        self._late = self._server.loop.call_later(self._server.limits.handshake_s, made.abort)
        self._decide()

    def data_received(self, data: bytes) -> None:
        """Look at the first bytes."""
        self._first += data
        self._decide()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a connection that has sent too little."""
        if self._transport is not None and self.counted:
            self._arrived()
            self._server.leave(self._peer)

    def abort(self) -> None:
        """End the connection."""
        assert self._transport is not None
        self._transport.abort()

    def _decide(self) -> None:
        """Hand the connection over as soon as its protocol is known."""
        first, transport = self._first, self._transport
        if transport is None or not first or not self.counted:
            return
        if first.startswith(_HTTP2):
            self._arrived()
            self._accepted.counted = True
            transport.set_protocol(self._wire)
            self._wire.connection_made(transport)
            self._wire.fed(first)
        elif not _HTTP2.startswith(first):
            self._arrived()
            server, peer = self._server, self._peer
            other = self._otherwise(peer, lambda: server.leave(peer))
            transport.set_protocol(other)
            other.connection_made(transport)
            other.data_received(first)

    def _arrived(self) -> None:
        if self._late is not None:
            self._late.cancel()
        self._server.forget(self)


class Foreign:
    """A request that is not gRPC: it is answered once it has arrived."""

    def __init__(self, connection: Connection, stream: Stream, ended: bool) -> None:
        self._connection: Final = connection
        self._stream: Final = stream
        stream.owner = self
        self.data(b"", ended)

    def headers(self, headers: Headers, ended: bool) -> None:
        """Take trailers."""
        self.data(b"", ended)

    def data(self, content: bytes, ended: bool) -> None:
        """Drop bytes, up to the window of the stream."""
        if ended:
            sending = self._connection.sending
            sending.headers(self._stream, _WRONG_TYPE)
            sending.data(self._stream, _WRONG_TYPE_TEXT, ends=True)

    def writable(self) -> None:
        """Nothing waits."""

    def lost(self, code: ErrorCode | int, why: str) -> None:
        """Nothing is to be undone."""


async def _serve_nothing(request: object, call: ServerCall) -> None:
    raise AssertionError("a call of no method is answered at once")


_UNKNOWN: Final = Method(serve=_serve_nothing)


def peer_of(transport: asyncio.BaseTransport) -> str:
    """Return the other end of a socket, as gRPC names it."""
    found: socket.socket | None = transport.get_extra_info("socket")
    name = transport.get_extra_info("peername")
    if found is not None and found.family == socket.AF_INET6:
        address = str(name[0]).partition("%")[0]
        if address.startswith("::ffff:") and "." in address:
            return f"ipv4:{address[7:]}:{name[1]}"
        return f"ipv6:%5B{address}%5D:{name[1]}"
    if isinstance(name, tuple) and len(name) >= 2:
        return f"ipv4:{name[0]}:{name[1]}"
    return "unix:"


def shown_by(tls: ssl.SSLObject) -> Mapping[str, Sequence[bytes]]:
    """Return the names in the other end's certificate, and the certificate, under gRPC's keys."""
    content = tls.getpeercert(binary_form=True)
    if content is None:
        return {}
    fields: Any = tls.getpeercert() or {}
    parts = [pair for name in fields.get("subject", ()) for pair in name]
    others = fields.get("subjectAltName", ())
    return {
        "x509_common_name": [value.encode() for key, value in parts if key == "commonName"],
        "x509_subject_alternative_name": [value.encode() for _, value in others],
        "x509_pem_cert": [ssl.DER_cert_to_PEM_cert(content).encode()],
    }
