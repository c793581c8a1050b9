"""The connections of clients: how many each address has, and which of them nobody uses.

gRPC neither says who connects nor bounds it by address. The sockets are looked at by their
descriptors, in a thread; one that is to go is shut down, as if its client had closed it.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import socket
import stat
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from typing import Final, NamedTuple
from urllib.parse import unquote

from quorate.groups.refusals import ExhaustedError
from quorate.groups.shard.capacity import FairShare
from quorate.groups.timing import end, pause
from quorate.plugin import Caller

_log = logging.getLogger(__name__)

#: How often they are looked at.
LOOK_S: Final = 1.0
_DESCRIPTORS: Final = "/dev/fd"


class _Socket(NamedTuple):
    """A descriptor with its inode number, which identifies the socket."""

    inode: int
    #: The other end as gRPC names it; empty: it is no connection of the port.
    peer: str


class Connection:
    """What is known of a connection."""

    __slots__ = (
        "_caller",
        "_placed",
        "address",
        "calls",
        "closed",
        "found",
        "host",
        "is_node",
        "used_at",
    )

    def __init__(self, host: str, now: float) -> None:
        #: Where the other end is.
        self.host: Final = host
        #: The last caller, and the same with its address: most make many calls.
        self._caller: Caller | None = None
        self._placed = Caller()
        self.calls = 0
        self.used_at = now
        self.is_node = False
        #: Whether its socket was found: a call may be known first.
        self.found = False
        #: Set while it counts as one of its address.
        self.address = ""
        #: Called with its other end when it is gone.
        self.closed: list[Callable[[str], None]] = []

    def placed(self, caller: Caller) -> Caller:
        """Return a caller with the address of the connection."""
        if caller is not self._caller and caller != self._caller:
            self._caller, self._placed = caller, replace(caller, address=self.host)
        return self._placed


class Connections:
    """Closes connections that are too many of an address, and those without a call.

    gRPC itself closes one that has no call for `idle_s`, as it should be done. But a call counts
    there from its first byte on: this closes what has no whole request for half as long again.
    """

    def __init__(
        self, share: FairShare | None, idle_s: int, loop: asyncio.AbstractEventLoop
    ) -> None:
        #: Whether connections are looked at.
        self.on = share is not None or idle_s > 0
        #: Those that were closed, by the reason.
        self.closed: Final = {"share": 0, "idle": 0}
        self._share: Final = share
        self._unused_s: Final = idle_s * 1.5 if idle_s else None
        self._loop: Final = loop
        #: By the other end.
        self._open: Final[dict[str, Connection]] = {}
        self._sockets: dict[int, _Socket] = {}
        self._ports: frozenset[int] = frozenset()
        self._looking: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._open)

    def listen(self, ports: Collection[int]) -> None:
        """Be for the connections that this process accepts at these ports."""
        self._ports = frozenset(ports)
        if self.on:
            self.look()

    def look(self) -> None:
        """Look after connections from now on."""
        self.on = True
        if self._looking is None and self._ports:
            self._looking = self._loop.create_task(self._look(self._ports))

    async def stop(self) -> None:
        """Look no more."""
        await end(self._looking)

    def called(self, peer: str) -> Connection:
        """Record that a call begins, and return its connection."""
        # One that nobody looks at would stay for ever.
        connection = self._of(peer) if self.on else Connection(address_of(peer), 0.0)
        connection.calls += 1
        return connection

    def left(self, connection: Connection) -> None:
        """Record that a call ended."""
        connection.calls -= 1
        connection.used_at = self._loop.time()

    def on_close(self, peer: str, closed: Callable[[str], None]) -> None:
        """Let something know when a connection is gone."""
        self._of(peer).closed.append(closed)

    def trust(self, peer: str) -> None:
        """Record that a node of the cluster calls: its connections are left alone."""
        connection = self._of(peer)
        connection.is_node = True
        self._give(connection)

    def _of(self, peer: str) -> Connection:
        connection = self._open.get(peer)
        if connection is None:
            connection = self._open[peer] = Connection(address_of(peer), self._loop.time())
        return connection

    async def _look(self, ports: frozenset[int]) -> None:
        while True:
            try:
                self._sockets = await asyncio.to_thread(_sockets, ports, self._sockets)
                if closing := self._judge({each.peer for each in self._sockets.values()} - {""}):
                    await asyncio.to_thread(_shut_down, ports, closing, self._sockets)
            except OSError:
                _log.exception("connections cannot be looked at")
            await pause(self._loop, LOOK_S)

    def _judge(self, present: set[str]) -> set[str]:
        """Record the open connections, and return those to close."""
        now = self._loop.time()
        for peer in [each for each in self._open if each not in present]:
            connection = self._open[peer]
            # A connection whose call came first is seen at the next look.
            if connection.found or now - connection.used_at > 3 * LOOK_S:
                del self._open[peer]
                self._give(connection)
                for closed in connection.closed:
                    closed(peer)
        closing = {peer for peer in present if not self._counted(peer)}
        self.closed["share"] += len(closing)
        if self._unused_s is not None:
            unused = {
                peer
                for peer in present - closing
                if self._is_unused(self._open[peer], now - self._unused_s)
            }
            self.closed["idle"] += len(unused)
            closing |= unused
        return closing

    def _counted(self, peer: str) -> bool:
        """Count a connection that is new; False: its address has too many."""
        connection = self._of(peer)
        connection.found = True
        if connection.address or connection.is_node or self._share is None:
            return True
        try:
            self._share.take(connection.host)
        except ExhaustedError:
            return False
        connection.address = connection.host
        return True

    def _is_unused(self, connection: Connection, since: float) -> bool:
        return not connection.calls and not connection.is_node and connection.used_at < since

    def _give(self, connection: Connection) -> None:
        if connection.address and self._share is not None:
            self._share.give(connection.address)
            connection.address = ""


def address_of(peer: str) -> str:
    """Return the address of the other end of a connection, which gRPC names so."""
    kind, _, rest = peer.partition(":")
    if kind not in ("ipv4", "ipv6"):
        return peer
    return unquote(rest.rpartition(":")[0]).strip("[]")


def peer_name(address: str, port: int) -> str:
    """Return the other end of a connection as gRPC names it."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else ip
    return f"ipv4:{mapped}:{port}" if mapped is not None else f"ipv6:%5B{ip}%5D:{port}"


def _sockets(ports: frozenset[int], known: dict[int, _Socket]) -> dict[int, _Socket]:
    """Return the sockets of this process by their descriptors; what is known is not asked again."""
    found = {}
    for name in os.listdir(_DESCRIPTORS):
        descriptor = int(name)
        # Another thread may close it at any time.
        with suppress(OSError):
            status = os.fstat(descriptor)
            if stat.S_ISSOCK(status.st_mode):
                before = known.get(descriptor)
                if before is None or before.inode != status.st_ino:
                    before = _Socket(status.st_ino, _peer_of(descriptor, ports))
                found[descriptor] = before
    return found


def _peer_of(descriptor: int, ports: frozenset[int]) -> str:
    """Return the other end of a connection accepted at one of these; empty for other sockets."""
    try:
        found = socket.socket(fileno=descriptor)
    except OSError:
        return ""
    try:
        if found.family not in (socket.AF_INET, socket.AF_INET6):
            return ""
        if found.getsockname()[1] not in ports:
            return ""
        return peer_name(*found.getpeername()[:2])
    except OSError:
        # The one that listens.
        return ""
    finally:
        # It is gRPC's to close.
        found.detach()


def _shut_down(ports: frozenset[int], peers: set[str], sockets: dict[int, _Socket]) -> None:
    """End the connections with these other ends."""
    for descriptor, known in sockets.items():
        if known.peer not in peers:
            continue
        # The copy stays of this connection whatever becomes of the descriptor.
        with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as copy:
            peer, port = peer_name(*copy.getpeername()[:2]), copy.getsockname()[1]
            if peer == known.peer and port in ports:
                copy.shutdown(socket.SHUT_RDWR)
