"""The server of RocketMQ's protocol: its listener, its connections, and their limits."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, Final

from quorate.plugin import Access, Invalid, NodeApi, Rejected

from quorate_name_server.brokers.confirming import may_be_retried
from quorate_name_server.config import NameServerConfig
from quorate_name_server.remoting.codes import CODES, CONTROLLER_CODES
from quorate_name_server.remoting.connection import Connection
from quorate_name_server.remoting.controller import Controller
from quorate_name_server.remoting.door import Door, RefusedError
from quorate_name_server.remoting.frames import MalformedError
from quorate_name_server.remoting.headers import NO_PERMISSION, SYSTEM_ERROR, Request, Response
from quorate_name_server.remoting.java_json import BodyError
from quorate_name_server.remoting.notifying import notify_forever
from quorate_name_server.remoting.tls import Certificates


class FrameBudget:
    """A budget of bytes, granted in the order of requests."""

    def __init__(self, most_bytes: int) -> None:
        self._left = most_bytes
        self._waiting: Final[deque[tuple[int, Callable[[], None]]]] = deque()

    def take(self, size: int, ready: Callable[[], None]) -> bool:
        """Take room; if there is none, return False and call `ready` once it is taken."""
        if self._waiting or size > self._left:
            self._waiting.append((size, ready))
            return False
        self._left -= size
        return True

    def give(self, size: int) -> None:
        """Return room, and serve waiting requests."""
        self._left += size
        while self._waiting and self._waiting[0][0] <= self._left:
            taken, ready = self._waiting.popleft()
            self._left -= taken
            ready()


_log = logging.getLogger(__name__)

_SYSTEM_BUSY: Final = 2
_NOT_SUPPORTED: Final = 3
_NOBODY: Final = (
    "this cluster requires authentication, which this protocol lacks: set remoting_user of "
    "[plugins.name_server] to a user with write on name_server, or use the certificate of one"
)
_RESERVED: Final = (
    "the name in this certificate is that of a node, or reserved: use one with a name of its own"
)
#: The access that every request over this protocol needs.
_NEEDED: Final = Access(right="write", domain="name_server")
#: Time after which an unused connection is closed.
IDLE_S: Final = 120.0
_IDLE_CHECK_S: Final = 5.0
#: The size limit of large frames of all connections together.
BUDGET_BYTES: Final = 1 << 28
_BACKLOG: Final = 1_024
#: The shortest interval between two warnings; the ones in between are counted.
_COMPLAINT_S: Final = 1.0
_LONGEST_REMARK: Final = 500

Handle = Callable[[Connection, Request], Response | Awaitable[Response]]


class UnencryptedError(OSError):
    """TLS is required, and no certificate is configured."""

    def __init__(self) -> None:
        super().__init__(
            "plugins.name_server.remoting_tls_only needs a certificate; set remoting_cert_file, or "
            "tls.cert_file for the whole node"
        )


class Server:
    """Serves the connections of a port until it is closed.

    `tls` encrypts connections if the section names no certificate of its own. `codes` holds the
    handler of each request, and `lose` is called with each closed connection that has
    registrations.
    """

    def __init__(
        self,
        node: NodeApi,
        port: int,
        codes: Mapping[int, Handle],
        lose: Callable[[Connection], Coroutine[Any, Any, None]],
        tls: ssl.SSLContext | None = None,
    ) -> None:
        config = node.config(NameServerConfig)
        self._node: Final = node
        self._tls: Final = tls
        self._config: Final = config
        self._port: Final = port
        self._codes: Final = codes
        self._lose: Final = lose
        self.tls_only: Final = config.remoting_tls_only
        self.budget: Final = FrameBudget(BUDGET_BYTES)
        self._certificates: Final = (
            Certificates(
                config.remoting_cert_file,
                config.remoting_key_file,
                config.remoting_client_ca_file,
            )
            if config.remoting_cert_file
            else None
        )
        self._connections: Final[set[Connection]] = set()
        #: Connections without a complete frame yet, oldest first.
        self._silent: Final[dict[Connection, None]] = {}
        self._tasks: Final[set[asyncio.Task[None]]] = set()
        self._complained_s = float("-inf")
        self._unsaid = 0
        self._closing = False
        self._listening: asyncio.Server | None = None

    async def open(self) -> None:
        """Listen; raises `OSError`."""
        loop = asyncio.get_running_loop()
        self._listening = await loop.create_server(
            lambda: Connection(self),
            self._config.remoting_host,
            self._port,
            backlog=_BACKLOG,
            reuse_port=self._node.shares_ports,
        )
        self.start(self._close_idle())

    async def close(self) -> None:
        """Close all connections; brokers that registered over them stay registered."""
        self._closing = True
        if self._listening is not None:
            self._listening.close()
        for task in self._tasks:
            task.cancel()
        for connection in self._connections:
            connection.abort()
        while self._connections:
            await asyncio.sleep(0)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # Called by connections.

    def now_s(self) -> float:
        """Return the loop's time, by which idle connections are found, in seconds."""
        return asyncio.get_running_loop().time()

    def tls_context(self) -> ssl.SSLContext:
        """Return the TLS context of a new connection; raises `MalformedError`."""
        if self._certificates is None:
            if self._tls is None:
                raise MalformedError("the peer uses TLS; set remoting_cert_file, or [tls]")
            return self._tls
        try:
            return self._certificates.context()
        except OSError as error:
            raise MalformedError(f"cannot read the certificate: {error}") from None

    def entered(self, connection: Connection) -> bool:
        """Register a connection; return False if there are too many, or the server is closing."""
        self._connections.add(connection)
        if self._closing:
            return False
        if len(self._connections) > self._config.remoting_connections:
            oldest = next(iter(self._silent), None)
            if oldest is not None:
                # A connection without a request gives way to a new one.
                del self._silent[oldest]
                oldest.abort()
                self._silent[connection] = None
                return True
            self.complain(
                f"a connection of {connection.host} is refused: the limit of "
                f"{self._config.remoting_connections:,} is reached; raise remoting_connections"
            )
            return False
        self._silent[connection] = None
        return True

    def heard(self, connection: Connection) -> None:
        """Record that a connection has sent a complete frame."""
        self._silent.pop(connection, None)

    def left(self, connection: Connection) -> None:
        """Remove a connection, and unregister the brokers that registered over it."""
        self._connections.discard(connection)
        self._silent.pop(connection, None)
        if connection.registrations and not self._closing:
            self.start(self._lose(connection))

    def answer(self, connection: Connection, request: Request) -> Response | Awaitable[Response]:
        """Answer a request, at once if possible."""
        handle = self._codes.get(request.code)
        if handle is None:
            return Response(_NOT_SUPPORTED, f" request type {request.code} not supported")
        if self._node.is_reserved(connection.user):
            return Response(NO_PERMISSION, _RESERVED)
        if not self._node.allows(self._config.remoting_user or connection.user, _NEEDED):
            return Response(NO_PERMISSION, _NOBODY)
        user = connection.user or self._config.remoting_user
        try:
            with self._node.acting(user, connection.peer):
                answer = handle(connection, request)
        except Exception as error:  # noqa: BLE001 - one request alone fails
            return self._failed(request, error)
        if isinstance(answer, Response):
            return answer
        return self._awaited(request, answer, user, connection.peer)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background until the server is closed."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def complain(self, what: str) -> None:
        """Log a fault of a peer, at most once per second."""
        now_s = self.now_s()
        if now_s - self._complained_s < _COMPLAINT_S:
            self._unsaid += 1
            return
        more = f" (and {self._unsaid:,} similar)" if self._unsaid else ""
        self._complained_s, self._unsaid = now_s, 0
        _log.warning("RocketMQ door: %s%s", what[:_LONGEST_REMARK], more)

    async def _awaited(
        self, request: Request, answer: Awaitable[Response], user: str, peer: str
    ) -> Response:
        try:
            with self._node.acting(user, peer):
                return await answer
        except Exception as error:  # noqa: BLE001 - one request alone fails
            return self._failed(request, error)

    def _failed(self, request: Request, error: Exception) -> Response:
        if isinstance(error, RefusedError):
            return error.response
        if getattr(error, "code", "") == "RESOURCE_EXHAUSTED":
            return Response(_SYSTEM_BUSY, str(error)[:_LONGEST_REMARK])
        if not (isinstance(error, (BodyError, Invalid, Rejected)) or may_be_retried(error)):
            _log.error("RocketMQ door: request %d failed", request.code, exc_info=error)
        return Response(SYSTEM_ERROR, f"{type(error).__name__}: {error}"[:_LONGEST_REMARK])

    async def _close_idle(self) -> None:
        while True:
            await asyncio.sleep(_IDLE_CHECK_S)
            until_s = self.now_s() - IDLE_S
            for connection in list(self._connections):
                if connection.active_s < until_s:
                    # A close would wait for a peer that may have stopped reading.
                    connection.abort()


@asynccontextmanager
async def serving(node: NodeApi) -> AsyncIterator[None]:
    """Serve RocketMQ's protocol on the configured ports during the node's lifespan."""
    config = node.config(NameServerConfig)
    tls = node.tls()
    is_served = config.remoting_port or config.controller_port
    if is_served and config.remoting_tls_only and not (tls or config.remoting_cert_file):
        raise UnencryptedError

    async with AsyncExitStack() as open_ports:

        async def serve(port: int, of: Any, handlers: Mapping[int, Callable[..., Any]]) -> Server:
            codes = {code: partial(handle, of) for code, handle in handlers.items()}
            server = Server(node, port, codes, of.lose, tls)
            await server.open()
            open_ports.push_async_callback(server.close)
            return server

        if config.remoting_port:
            door = Door(node)
            server = await serve(config.remoting_port, door, CODES)
            server.start(notify_forever(door))
        if config.controller_port:
            await serve(config.controller_port, Controller(node), CONTROLLER_CODES)
        yield
