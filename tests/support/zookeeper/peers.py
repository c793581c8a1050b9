"""Clients that speak ZooKeeper's protocol byte by byte, and a server on a node in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from quorate.testing import MemoryNode
from quorate.testing.ports import free_ports
from quorate_zookeeper.wire import jute
from quorate_zookeeper.wire.codes import Op
from quorate_zookeeper.wire.jute import Record

OPEN = ((31, "world", "anyone"),)
NOTIFICATION = -1
EPHEMERAL, SEQUENTIAL = 1, 2


def acl(*entries: tuple[int, str, str]) -> bytes:
    """Return an access control list."""
    return jute.vector(
        jute.int32(perms) + jute.text(scheme) + jute.text(id_) for perms, scheme, id_ in entries
    )


def create(
    path: str,
    data: bytes | None = b"",
    *,
    flags: int = 0,
    entries: Sequence[tuple[int, str, str]] = OPEN,
) -> bytes:
    """Return the record of a create."""
    return jute.text(path) + jute.buffer(data) + acl(*entries) + jute.int32(flags)


def delete(path: str, version: int = -1) -> bytes:
    """Return the record of a delete, or of a check."""
    return jute.text(path) + jute.int32(version)


def set_data(path: str, data: bytes | None, version: int = -1) -> bytes:
    """Return the record of a change of data."""
    return jute.text(path) + jute.buffer(data) + jute.int32(version)


def read(path: str, *, watch: bool = False) -> bytes:
    """Return the record of a read."""
    return jute.text(path) + (b"\x01" if watch else b"\x00")


def multi(*operations: tuple[int, bytes]) -> bytes:
    """Return the record of a multi."""
    parts = (jute.int32(op) + b"\x00" + jute.int32(-1) + body for op, body in operations)
    return b"".join(parts) + jute.int32(-1) + b"\x01" + jute.int32(-1)


@dataclass(frozen=True)
class Stat:
    """What a stat says."""

    czxid: int
    mzxid: int
    created_at_ms: int
    modified_at_ms: int
    version: int
    cversion: int
    aversion: int
    owner: int
    length: int
    children: int
    pzxid: int

    @classmethod
    def of(cls, record: Record) -> Stat:
        """Read it."""
        czxid, mzxid, created, modified = (record.int64() for _ in range(4))
        version, cversion, aversion = (record.int32() for _ in range(3))
        owner, length, children = record.int64(), record.int32(), record.int32()
        return cls(
            czxid=czxid,
            mzxid=mzxid,
            created_at_ms=created,
            modified_at_ms=modified,
            version=version,
            cversion=cversion,
            aversion=aversion,
            owner=owner,
            length=length,
            children=children,
            pzxid=record.int64(),
        )


@dataclass(frozen=True)
class Reply:
    """A reply or a notification."""

    xid: int
    zxid: int
    error: int
    body: bytes

    @property
    def record(self) -> Record:
        """What it holds."""
        return Record(self.body)

    @property
    def results(self) -> list[tuple[int, int]]:
        """The type and the error of each result of a failed multi."""
        record = self.record
        found: list[tuple[int, int]] = []
        while True:
            type_, ended, error = record.int32(), record.boolean(), record.int32()
            if ended:
                return found
            found.append((type_, error))
            assert record.int32() == error


@dataclass(frozen=True)
class Event:
    """A notification."""

    zxid: int
    type: int
    path: str


@dataclass
class Peer:
    """A connection. `seen` holds replies and events in the order in which they came."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    session: int = 0
    password: bytes = b""
    timeout_ms: int = 0
    xid: int = 0
    seen: list[Reply | Event] = field(default_factory=list)

    async def ask(self, op: int, body: bytes = b"") -> Reply:
        """Send a request, and return its reply."""
        xid = self.send(op, body)
        reply = await self.reply()
        assert reply.xid == xid
        return reply

    def send(self, op: int, body: bytes = b"", *, xid: int | None = None) -> int:
        """Send a request."""
        if xid is None:
            self.xid += 1
            xid = self.xid
        self.writer.write(jute.buffer(jute.int32(xid) + jute.int32(op) + body))
        return xid

    async def reply(self) -> Reply:
        """Return the next reply; events before it are seen."""
        while True:
            found = await self.next()
            if isinstance(found, Reply):
                return found

    async def event(self) -> Event:
        """Return the next event, which comes before any reply."""
        found = await self.next()
        assert isinstance(found, Event), found
        return found

    async def next(self) -> Reply | Event:
        """Return what comes next."""
        async with asyncio.timeout(60):
            frame = Record(await self.frame())
        xid, zxid, error = frame.int32(), frame.int64(), frame.int32()
        found: Reply | Event
        if xid == NOTIFICATION:
            type_, state, path = frame.int32(), frame.int32(), frame.text()
            assert (state, error) == (3, 0)
            found = Event(zxid, type_, path)
        else:
            found = Reply(xid, zxid, error, frame.rest)
        self.seen.append(found)
        return found

    async def frame(self) -> bytes:
        """Return the next frame."""
        length = int.from_bytes(await self.reader.readexactly(4))
        return await self.reader.readexactly(length)

    async def is_closed(self) -> bool:
        """Wait for the end of the connection, before which nothing comes."""
        async with asyncio.timeout(60):
            try:
                return await self.reader.read() == b""
            except ConnectionResetError:
                return True

    async def stat(self, path: str) -> Stat | None:
        """Return the stat of a znode, if there is one."""
        reply = await self.ask(Op.EXISTS, read(path))
        return None if reply.error else Stat.of(reply.record)

    async def children(self, path: str) -> list[str]:
        """Return the children of a znode."""
        record = (await self.ask(Op.GET_CHILDREN, read(path))).record
        return sorted(record.vector(record.text))


async def begin(
    peer: Peer,
    session: int = 0,
    password: bytes = bytes(16),
    *,
    timeout_ms: int = 10_000,
    last_zxid: int = 0,
) -> None:
    """Say the first frame of a connection, and take its answer."""
    opening = (
        jute.int32(0)
        + jute.int64(last_zxid)
        + jute.int32(timeout_ms)
        + jute.int64(session)
        + jute.buffer(password)
        + b"\x00"
    )
    peer.writer.write(jute.buffer(opening))
    async with asyncio.timeout(60):
        record = Record(await peer.frame())
    assert record.int32() == 0
    peer.timeout_ms, peer.session = record.int32(), record.int64()
    peer.password = record.buffer() or b""
    assert record.rest == b"\x00"


@dataclass
class Door:
    """A server on a node in memory, and its clients."""

    node: MemoryNode
    port: int
    _peers: list[Peer] = field(default_factory=list)

    @classmethod
    @asynccontextmanager
    async def opened(cls, **settings: Any) -> AsyncIterator[Door]:
        """Open one with settings of the plugin."""
        [port] = free_ports(0)
        config = {"zookeeper": {"port": port, **settings}}
        node = MemoryNode(["zookeeper"], config=config, at_ms=1_000_000)
        async with node:
            door = cls(node, port)
            try:
                yield door
            finally:
                for peer in door._peers:
                    peer.writer.close()

    async def raw(self) -> Peer:
        """Return a connection that has said nothing."""
        peer = Peer(*await asyncio.open_connection("127.0.0.1", self.port))
        self._peers.append(peer)
        return peer

    async def connect(
        self,
        session: int = 0,
        password: bytes = bytes(16),
        *,
        timeout_ms: int = 10_000,
        last_zxid: int = 0,
    ) -> Peer:
        """Return a connection with a session; 0: the one that was asked for has ended."""
        peer = await self.raw()
        await begin(peer, session, password, timeout_ms=timeout_ms, last_zxid=last_zxid)
        return peer
