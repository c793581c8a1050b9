"""The server: its listeners, its connections, and the transactions sent to its clients."""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from typing import Any, Final

from quorate.plugin import Access, NodeApi

from quorate_zookeeper import metrics
from quorate_zookeeper.config import ZooKeeperConfig
from quorate_zookeeper.serving import tls, words
from quorate_zookeeper.serving.connection import CONNECT_S, Connection
from quorate_zookeeper.serving.counts import Counts
from quorate_zookeeper.serving.following import Follower
from quorate_zookeeper.serving.holding import Held
from quorate_zookeeper.serving.lives import renew_forever
from quorate_zookeeper.serving.watches import Watches
from quorate_zookeeper.v1 import rows_pb2 as rows

_log = logging.getLogger(__name__)

#: The right that the user of ZooKeeper's clients needs.
_NEEDED: Final = Access(right="write", domain="zookeeper")
_BACKLOG: Final = 1_024
#: Maximum interval of the check for sessions to renew.
_TICK_S: Final = 0.5
#: Number of checks within the shortest session timeout.
_TICKS: Final = 12
_OBSERVE_S: Final = 5.0
#: Minimum interval between two warnings about clients; those between are counted.
_WARNING_S: Final = 1.0


class Server:
    """Serves the clients of a node until it is closed."""

    def __init__(self, node: NodeApi, config: ZooKeeperConfig) -> None:
        self.node: Final = node
        self.config: Final = config
        self.loop: Final = asyncio.get_running_loop()
        self.watches: Final = Watches(config.watch_bytes)
        self.held: Final = Held()
        self.counts: Final = Counts()
        self.connections: Final[set[Connection]] = set()
        #: Connections without a session, oldest first.
        self._silent: Final[dict[Connection, None]] = {}
        #: Held while a connection reads children in pages.
        self.listing: Final = asyncio.Lock()
        #: Connections whose next reply waits for events.
        self.blocked: Final[set[Connection]] = set()
        self._by_session: Final[dict[int, Connection]] = {}
        self._hosts: Final[Counter[str]] = Counter()
        self._follower: Final = Follower(node, self._happened, self._passed, self._lost)
        #: The zxid that each waiter waits for.
        self._waiting: Final[dict[asyncio.Future[None], int]] = {}
        self._tasks: Final[set[asyncio.Task[None]]] = set()
        self._listening: Final[list[asyncio.Server]] = []
        self._warned_s = float("-inf")
        self._suppressed = 0
        self._closing = False
        self.began_s: Final = self.loop.time()

    async def open(self) -> None:
        """Listen; raises `OSError`."""
        config = self.config
        self.start(self._follower.run())
        tick_s = min(_TICK_S, config.min_session_timeout_ms / 1_000 / _TICKS)
        self.start(renew_forever(self.node, self._by_session.values(), tick_s))
        self.start(self._observe())
        if config.port:
            await self._listen(config.port, None)
        if config.tls_port:
            await self._listen(config.tls_port, tls.context_of(config))

    async def close(self) -> None:
        """Close all connections; their sessions continue."""
        self._closing = True
        for each in self._listening:
            each.close()
        for connection in list(self.connections):
            connection.abort()
        while self.connections:
            await asyncio.sleep(0)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def zxid(self) -> int:
        """The zxid of the last transaction with its events sent."""
        return self._follower.zxid

    @property
    def live(self) -> bool:
        """Whether clients are served."""
        return self._follower.live

    @property
    def received(self) -> int:
        """Requests since it began to serve."""
        return self.counts.received + sum(each.received for each in self.connections)

    @property
    def sent(self) -> int:
        """Replies and events since it began to serve."""
        return self.counts.sent + sum(each.sent for each in self.connections)

    # Called by connections.

    def admits(self, user: str) -> bool:
        """Whether the configured user, or else that of a certificate, may write to the tree."""
        return not self.node.is_reserved(user) and self.node.allows(
            self.config.user or user, _NEEDED
        )

    def now_s(self) -> float:
        """Return the loop's time."""
        return self.loop.time()

    def entered(self, connection: Connection) -> bool:
        """Register a connection; return False if there are too many, or the server is closing."""
        config, host = self.config, connection.host
        self.connections.add(connection)
        self._hosts[host] += 1
        if self._closing:
            return False
        if config.connections_per_host and self._hosts[host] > config.connections_per_host:
            others = self._hosts[host] - 1
            self.warn(f"{connection.peer} is refused: its host has {others:,} connections")
            self.counts.rejected += 1
            return False
        if len(self.connections) > config.connections:
            oldest = next(iter(self._silent), None)
            if oldest is None:
                self.warn(f"{connection.peer} is refused: there are {config.connections:,} others")
                self.counts.rejected += 1
                return False
            # A connection without a session gives way to a new one.
            del self._silent[oldest]
            oldest.abort()
        self._silent[connection] = None
        return True

    def left(self, connection: Connection) -> None:
        """Remove a connection and its watches; its session continues."""
        self.connections.discard(connection)
        self.counts.dropped += 1
        self.counts.received += connection.received
        self.counts.sent += connection.sent
        self._silent.pop(connection, None)
        self.blocked.discard(connection)
        self.watches.forget(connection)
        self._hosts[connection.host] -= 1
        if not self._hosts[connection.host]:
            del self._hosts[connection.host]
        if self._by_session.get(connection.session) is connection:
            del self._by_session[connection.session]

    def attached(self, connection: Connection) -> None:
        """Record the session of a connection, and abort an earlier connection of the session."""
        self._silent.pop(connection, None)
        earlier = self._by_session.get(connection.session)
        self._by_session[connection.session] = connection
        if earlier is not None:
            earlier.abort()

    async def reached(self, zxid: int, timeout_s: float) -> bool:
        """Wait until the events up to a transaction are sent; return False on a timeout."""
        if self.live and self.zxid >= zxid:
            return True
        reached = self.loop.create_future()
        self._waiting[reached] = zxid
        try:
            async with asyncio.timeout(timeout_s):
                await reached
        except TimeoutError:
            return False
        finally:
            del self._waiting[reached]
        return True

    def answer_word(self, connection: Connection, word: bytes) -> bool:
        """Answer a four-letter command; return False if it is none."""
        name = word.decode(errors="replace")
        if name not in words.WORDS:
            return False
        self.start(words.answer(self, connection, name))
        return True

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Run a coroutine in the background until the server is closed."""
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def warn(self, what: str) -> None:
        """Log a fault of a client, at most once per second."""
        now_s = self.now_s()
        if now_s - self._warned_s < _WARNING_S:
            self._suppressed += 1
            return
        more = f" (and {self._suppressed:,} similar)" if self._suppressed else ""
        self._warned_s, self._suppressed = now_s, 0
        _log.warning("ZooKeeper's clients: %s%s", what, more)

    # Changes of the tree.

    def _happened(self, zxid: int, transaction: rows.Transaction) -> None:
        self.watches.fire(zxid, transaction.changes)
        for session in transaction.ended_sessions:
            if (connection := self._by_session.get(session)) is not None:
                connection.end()
        for moved in transaction.attachments:
            held = self._by_session.get(moved.session)
            if held is not None and held.number < moved.connection:
                held.close()

    def _passed(self) -> None:
        if self.blocked:
            blocked = list(self.blocked)
            self.blocked.clear()
            for connection in blocked:
                connection.flush()
        for future, zxid in self._waiting.items():
            if zxid <= self.zxid and not future.done():
                future.set_result(None)

    def _lost(self) -> None:
        """Abort all connections: events may be missing, and clients resume when they reconnect."""
        _log.info("closing %d connections of ZooKeeper's clients", len(self.connections))
        for connection in list(self.connections):
            connection.abort()

    # Background work.

    async def _listen(self, port: int, context: ssl.SSLContext | None) -> None:
        listening = await self.loop.create_server(
            lambda: Connection(self),
            self.config.host,
            port,
            backlog=_BACKLOG,
            ssl=context,
            ssl_handshake_timeout=None if context is None else CONNECT_S,
            reuse_port=self.node.shares_ports,
        )
        self._listening.append(listening)

    async def _observe(self) -> None:
        sent = withheld = 0
        while True:
            await asyncio.sleep(_OBSERVE_S)
            watches = self.watches
            self.node.observe(metrics.CONNECTIONS.name, len(self.connections))
            self.node.observe(metrics.WATCHES.name, len(watches))
            self.node.count(metrics.EVENTS.name, watches.sent - sent, outcome="sent")
            self.node.count(metrics.EVENTS.name, watches.withheld - withheld, outcome="withheld")
            sent, withheld = watches.sent, watches.withheld


@asynccontextmanager
async def serving(node: NodeApi) -> AsyncIterator[None]:
    """Serve ZooKeeper's clients during the node's lifespan, if a port is configured."""
    config = node.config(ZooKeeperConfig)
    if not config.port and not config.tls_port:
        yield
        return
    server = Server(node, config)
    try:
        await server.open()
        yield
    finally:
        await server.close()
