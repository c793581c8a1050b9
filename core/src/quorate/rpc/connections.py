"""The connections of clients: counts them by address, and closes idle ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple
from urllib.parse import unquote

from quorate.http2.grpc.codes import Code
from quorate.http2.grpc.server import Coming, Refusal
from quorate.plugin import Caller
from quorate.rpc.methods import failed_status
from quorate.rpc.status import DETAILS_KEY
from quorate.shards.refusals import ExhaustedError
from quorate.shards.shard.capacity import FairShare
from quorate.shards.timing import Background, every

#: The interval between two checks.
LOOK_S: Final = 1.0
#: The minimum rate of a request, after a second, once there is no room for others.
_CROWDED_BYTES_PER_S: Final = 4 << 20
_RETRY_MS: Final = 1_000


@dataclass(eq=False, slots=True)
class Connection:
    """The state of one connection."""

    #: The address of the other end.
    host: str
    used_at: float
    #: Ends it; None: the engine cannot.
    close: Callable[[], object] | None = None
    calls: int = 0
    is_node: bool = False
    #: Set while it counts as one of its address.
    address: str = ""
    #: Called with its other end when it is gone.
    closed: list[Callable[[str], None]] = field(default_factory=list)
    #: The last caller, and the same with its address: most make many calls.
    _caller: Caller | None = None
    _placed: Caller = field(default_factory=Caller)

    def placed(self, caller: Caller) -> Caller:
        """Return a caller with the address of the connection."""
        if caller is not self._caller and caller != self._caller:
            self._caller, self._placed = caller, replace(caller, address=self.host)
        return self._placed


class _Begun(NamedTuple):
    """A request that has not arrived completely; its call gives it back before it is closed."""

    connection: Connection
    size: int
    since: float


class Connections(Background):
    """Refuses connections that are too many of an address, and closes those without a call.

    An engine says of each when it is opened and closed. One that nobody calls on may have open
    calls whose requests do not come: it is closed after half as long again as an idle one.

    A request that has begun counts as a whole, and has some time to come: less once others find no
    room.
    """

    def __init__(
        self,
        share: FairShare | None,
        idle_s: int,
        loop: asyncio.AbstractEventLoop,
        room: FairShare | None = None,
        slow_s: float | None = None,
    ) -> None:
        super().__init__(loop)
        #: Whether connections are bounded.
        self.on = share is not None or idle_s > 0
        #: Those that were closed, by the reason.
        self.ended: Final = {"share": 0, "idle": 0}
        #: Calls that were ended because their requests did not come.
        self.stalled = 0
        self._share: Final = share
        #: Bytes that addresses may have of requests that come.
        self._room: Final = room
        #: Those requests, in the order in which they began.
        self._coming: Final[dict[Coming, _Begun]] = {}
        #: How many found no room at the last look.
        self._refused = 0
        self._slow_s: Final = slow_s
        self._unused_s: Final = idle_s * 1.5 if idle_s else None
        #: By the other end.
        self._open: Final[dict[str, Connection]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, peer: str) -> bool:
        return peer in self._open

    def opened(self, peer: str, close: Callable[[], object]) -> bool:
        """Count a connection, which `close` ends at once; False: its address has too many."""
        connection = Connection(address_of(peer), self._loop.time(), close)
        if self._share is not None:
            try:
                self._share.take(connection.host)
            except ExhaustedError:
                self.ended["share"] += 1
                return False
            connection.address = connection.host
        self._open[peer] = connection
        return True

    def closed(self, peer: str) -> None:
        """Forget a connection."""
        if (connection := self._open.pop(peer, None)) is not None:
            self._give(connection)
            for closed in connection.closed:
                closed(peer)

    def take(self, request: Coming, size: int) -> Refusal | None:
        """Count a request that begins to arrive; return the refusal if there is no room for it."""
        connection = self._open.get(request.peer())
        if self._room is None or connection is None or connection.is_node:
            return None
        try:
            self._room.take(connection.host, size)
        except ExhaustedError as error:
            return _refusal(error)
        self._coming[request] = _Begun(connection, size, self._loop.time())
        return None

    def give(self, request: Coming) -> None:
        """Stop counting a request that has arrived, or never will."""
        begun = self._coming.pop(request, None)
        if begun is not None and self._room is not None:
            self._room.give(begun.connection.host, begun.size)

    async def _run(self) -> None:
        if self._unused_s is not None or self._room is not None:
            await every(self._loop, LOOK_S, self.look, "looking at connections failed")

    def called(self, peer: str) -> Connection:
        """Record that a call begins, and return its connection."""
        connection = self._open.get(peer)
        if connection is None:
            connection = Connection(address_of(peer), 0.0)
        connection.calls += 1
        return connection

    def left(self, connection: Connection) -> None:
        """Record that a call ended."""
        connection.calls -= 1
        connection.used_at = self._loop.time()

    def on_close(self, peer: str, closed: Callable[[str], None]) -> None:
        """Call `closed` when a connection is gone."""
        if (connection := self._open.get(peer)) is not None:
            connection.closed.append(closed)

    def trust(self, peer: str) -> None:
        """Record that a node of the cluster calls: its connection is not limited."""
        if (connection := self._open.get(peer)) is not None:
            connection.is_node = True
            self._give(connection)
            for request in [
                each for each, of in self._coming.items() if of.connection is connection
            ]:
                self.give(request)

    def look(self) -> None:
        """Close idle connections, and end requests that arrive too slowly."""
        self._end_stalled()
        if self._unused_s is None:
            return
        since = self._loop.time() - self._unused_s
        for connection in list(self._open.values()):
            unused = not connection.calls and not connection.is_node
            if unused and connection.used_at < since and connection.close is not None:
                self.ended["idle"] += 1
                connection.close()

    def _end_stalled(self) -> None:
        if self._room is None or self._slow_s is None:
            return
        crowded, self._refused = self._room.refused > self._refused, self._room.refused
        now = self._loop.time()
        for request, begun in list(self._coming.items()):
            within_s = self._slow_s
            if crowded:
                within_s = min(within_s, 1 + begun.size / _CROWDED_BYTES_PER_S)
            if now - begun.since > within_s:
                self.stalled += 1
                what = (
                    f"{begun.size} bytes of the request did not arrive in {within_s:.1f} s, as "
                    "limits.slow_reader_s and limits.inflight_bytes require: send faster, or less "
                    "at once"
                )
                request.refuse(_refusal(ExhaustedError(what, _RETRY_MS)))

    def _give(self, connection: Connection) -> None:
        if connection.address and self._share is not None:
            self._share.give(connection.address)
            connection.address = ""


def _refusal(error: ExhaustedError) -> Refusal:
    status = failed_status("a request that begins", error)
    details = ((DETAILS_KEY, status.SerializeToString()),)
    return Code(status.code), status.message, details


def address_of(peer: str) -> str:
    """Return the address of the other end of a connection, which gRPC names so."""
    kind, _, rest = peer.partition(":")
    if kind not in ("ipv4", "ipv6"):
        return peer
    return unquote(rest.rpartition(":")[0]).strip("[]")
