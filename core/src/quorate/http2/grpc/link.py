"""One connection of a channel, from its first attempt to its end."""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field
from typing import Final, Protocol
from weakref import WeakKeyDictionary

from quorate.http2.connection import Connection, ConnectionLimits
from quorate.http2.errors import ErrorCode
from quorate.http2.headers import Headers
from quorate.http2.stream import Stream, StreamOwner
from quorate.http2.wire import Wire, scratch

_PING: Final = b"keep\0\0\0\0"
#: The answer of gRPC servers to clients that ping too often.
_TOO_MANY_PINGS: Final = b"too_many_pings"
#: One buffer is enough for all connections of a loop.
_SCRATCHES: Final[WeakKeyDictionary[asyncio.AbstractEventLoop, memoryview]] = WeakKeyDictionary()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelLimits:
    """Bounds of a channel."""

    connection: ConnectionLimits = field(default_factory=ConnectionLimits)
    #: The largest answer.
    message_bytes: int = 16 << 20
    #: The time for one attempt, until the first settings of the server.
    attempt_s: float = 20.0
    #: The pause after the first attempt that fails, and the longest one. They are varied by a fifth
    #: in both directions, and counted from where the attempt began.
    first_pause_s: float = 1.0
    longest_pause_s: float = 120.0
    #: A server that is silent while calls are open is pinged after the first, and considered lost
    #: after the second. None: no pings.
    keepalive_s: float | None = 30.0
    keepalive_timeout_s: float = 20.0
    #: Whether it is pinged without calls as well.
    keepalive_always: bool = False
    #: Time for a server to take the last bytes sent to it.
    linger_s: float = 1.0


class Target:
    """An address: `host:port`, with brackets around the host of IPv6, or `unix:/path`."""

    __slots__ = ("authority", "host", "name", "path", "port")

    def __init__(self, text: str, server_name: str) -> None:
        self.path, self.host, self.port = "", "", 0
        if text.startswith("unix:"):
            path = text[len("unix:") :]
            self.path = path[2:] if path.startswith("///") else path
            self.host = "localhost"
        else:
            host, colon, port = text.rpartition(":")
            bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
            if not colon or not bare or not port.isdigit() or (":" in bare and bare == host):
                raise ValueError(
                    f"{text!r} is not a target: use host:port, [address]:port or unix:/path"
                )
            self.host, self.port = bare, int(port)
        #: The name that the server's certificate must have.
        self.name: Final = server_name or self.host
        self.authority: Final = server_name or (self.host if self.path else text)


class LinkOwner(Protocol):
    """Handles the events of a connection as a whole. It must not raise."""

    def allowed(self) -> None:
        """The server may allow more calls at a time."""

    def left(self, link: Link, why: str) -> None:
        """No call may be begun on it any more; called once, or more often."""

    def ended(self, link: Link) -> None:
        """It is closed."""

    def quiet(self) -> None:
        """A connection has no call any more."""

    def pinged_too_often(self) -> None:
        """The server wants less pings."""


class Link:
    """A connection to a server, and its calls."""

    def __init__(
        self,
        owner: LinkOwner,
        limits: ChannelLimits,
        keepalive_s: float | None,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._owner: Final = owner
        self._limits: Final = limits
        self._keepalive_s: Final = keepalive_s
        self._loop: Final = loop
        self.connection: Connection
        #: The reason for its end; empty: not known.
        self.why = ""
        #: Done when it is closed.
        self.gone: Final[asyncio.Future[None]] = loop.create_future()
        self._wire: Wire | None = None
        self._settled: Final[asyncio.Future[None]] = loop.create_future()
        self._leaving = False
        self._looking: asyncio.TimerHandle | None = None
        self._pinged = False
        #: The number of reads at the last check.
        self._reads = 0

    @property
    def begun(self) -> bool:
        """Whether it has had a socket: `lost` follows then."""
        return self._wire is not None

    @property
    def busy(self) -> bool:
        """Whether a call is open."""
        return self._wire is not None and bool(self.connection.streams)

    async def connect(self, target: Target, context: ssl.SSLContext | None) -> None:
        """Connect, and wait for the settings of the server; raises `OSError`."""
        name = None if context is None else target.name
        try:
            if target.path:
                await self._loop.create_unix_connection(
                    self._wired, target.path, ssl=context, server_hostname=name
                )
            else:
                await self._loop.create_connection(
                    self._wired, target.host, target.port, ssl=context, server_hostname=name
                )
        except BaseException:
            # The loop closes a socket that was just connected, and not every loop says so.
            if self._wire is not None:
                self._wire.connection_lost(None)
            raise
        await self._settled
        if self._keepalive_s is not None:
            self._looking = self._loop.call_later(self._keepalive_s, self._look)

    def leave(self) -> None:
        """Close it once its calls have ended."""
        self._leaving = True
        self._close_if_idle()

    def close(self, why: str) -> None:
        """End its calls, and close it."""
        wire = self._wire
        if wire is None or self.gone.done():
            return
        self.why = why
        self.connection.lose(why)
        self.connection.close(ErrorCode.NO_ERROR, "")
        wire.close()
        self._loop.call_later(self._limits.linger_s, self._abort)

    def abort(self) -> None:
        """Drop it, in any state."""
        # Its failure is known to the caller.
        self._settled.cancel()
        self._abort()

    # --- its socket

    def connected(self, wire: Wire) -> Connection:
        """Begin the connection."""
        self._wire = wire
        self.connection = Connection(
            self, self._limits.connection, client=True, ready=wire.ready, full=wire.flush
        )
        tls = wire.transport.get_extra_info("ssl_object")
        if tls is not None and tls.selected_alpn_protocol() != "h2":
            self._fail("the server does not choose h2 by ALPN: it serves no HTTP/2 here")
            wire.transport.close()
        return self.connection

    def lost(self, wire: Wire, why: str) -> None:
        """Let the owner know that the connection is closed."""
        if self._looking is not None:
            self._looking.cancel()
        self.gone.set_result(None)
        self._fail(why)
        self._owner.ended(self)

    # --- its protocol

    def accept(self, stream: Stream, headers: Headers, ended: bool) -> StreamOwner:
        """Take no streams of a server's."""
        raise AssertionError("a server opens no streams")

    def refused(self, code: ErrorCode, why: str) -> None:
        """Stop using the connection after a violation by the server."""
        self._loop.call_soon(self._judge, f"the server broke a rule of HTTP/2: {why}")

    def configured(self) -> None:
        """The server has sent its settings."""
        if not self._settled.done():
            self._settled.set_result(None)
        else:
            self._owner.allowed()

    def going_away(self, last: int, code: int, why: bytes) -> None:
        """Begin no more calls."""
        if code != ErrorCode.NO_ERROR:
            text = why.decode("utf-8", "replace")
            self.why = f"the server ended the connection (code {code}): {text}"
            if why == _TOO_MANY_PINGS:
                self._owner.pinged_too_often()
        self._fail(self.why or "the server takes no more calls")
        self._leaving = True
        self._loop.call_soon(self._close_if_idle)

    def answered(self, payload: bytes) -> None:
        """Look again after a while: the server is there."""
        if self._pinged and self._looking is not None:
            self._looking.cancel()
            self._look()

    def idle(self) -> None:
        """Its last call has ended."""
        if self._leaving:
            self._loop.call_soon(self._close_if_idle)
        self._owner.quiet()

    # --- its life

    def _wired(self) -> Wire:
        buffer = _SCRATCHES.get(self._loop)
        if buffer is None:
            buffer = _SCRATCHES[self._loop] = scratch()
        return Wire(self, buffer, self._loop)

    def _fail(self, why: str) -> None:
        """Say that no calls can be begun."""
        self.why = self.why or why
        if not self._settled.done():
            self._settled.set_exception(ConnectionError(self.why))
            # It is known here, whether or not an attempt still waits for it.
            self._settled.exception()
        self._owner.left(self, self.why)

    def _judge(self, why: str) -> None:
        # A fault of one stream leaves the connection as it is.
        if self.connection.over:
            self._fail(why)

    def _close_if_idle(self) -> None:
        wire = self._wire
        if wire is not None and self._leaving and not self.busy and not self.gone.done():
            wire.close()
            self._loop.call_later(self._limits.linger_s, self._abort)

    def _abort(self) -> None:
        if self._wire is not None and not self.gone.done():
            self._wire.transport.abort()

    def _look(self) -> None:
        """Ping a server that has said nothing since the last look."""
        assert self._wire is not None
        assert self._keepalive_s is not None
        self._pinged = False
        asked = self._limits.keepalive_always or self.busy
        if self._reads != self._wire.reads or not asked:
            self._reads = self._wire.reads
            self._looking = self._loop.call_later(self._keepalive_s, self._look)
            return
        self._pinged = True
        self.connection.ping(_PING)
        self._looking = self._loop.call_later(self._limits.keepalive_timeout_s, self._judge_silence)

    def _judge_silence(self) -> None:
        assert self._wire is not None
        if self._reads != self._wire.reads:
            self._look()
            return
        self._fail(f"the server did not answer a ping in {self._limits.keepalive_timeout_s:g} s")
        self.connection.lose(self.why)
        self._abort()
