"""How brokers pass messages on to each other.

Each broker sends to each other one over a connection of its own, and has a number for each frame.
What the other has not confirmed is sent again after a lost connection, and the other passes over
what it has: so a message gets there once, as long as both brokers live.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
from collections import deque
from collections.abc import Callable
from contextlib import aclosing, suppress
from typing import Final, Protocol

from google.protobuf.message import DecodeError
from quorate.client import AsyncClient, ChangeKind
from quorate.v1.cluster_pb2 import Broker

from quorate_amqtt.config import Peers
from quorate_amqtt.v1 import links_pb2 as pb

_LOG: Final = logging.getLogger(__name__)
#: The role of MQTT brokers, and the name of the address that their peers connect to.
ROLE: Final = "mqtt"
ADDRESS: Final = "peers"
#: Frames that wait for a broker that cannot be reached; then the oldest are dropped.
_MOST: Final = 100_000
_LARGEST: Final = 16 << 20
_CONNECT_S: Final = 2.0
_AGAIN_S: Final = 0.1
#: Time to wait until the watch shows a broker that has connected.
_KNOWN_S: Final = 5.0
#: Frames after which at the latest receipt is confirmed.
_CONFIRM: Final = 64

Receive = Callable[[int, pb.Frame], None]


class _Writes(Protocol):
    def write(self, data: bytes) -> None: ...


class Link:
    """The frames for one registration of another broker."""

    def __init__(
        self,
        own: pb.Hello,
        address: str,
        tls: ssl.SSLContext | None,
        changed: Callable[[], None],
    ) -> None:
        #: Called when it is connected, and when it is not any more.
        self._changed: Final = changed
        self._own: Final = own
        self._address: Final = address
        self._tls: Final = tls
        #: Frames without a confirmation, in order; the last has the number `_last`.
        self._frames: Final[deque[bytes]] = deque()
        self._last = 0
        self._writer: asyncio.StreamWriter | None = None
        self.connected: Final = asyncio.Event()
        self.dropped = 0

    @property
    def stands(self) -> bool:
        """Whether the other broker can be reached now."""
        return self._writer is not None

    def send(self, frame: pb.Frame) -> None:
        """Send a frame, now or when the other can be reached."""
        encoded = frame.SerializeToString()
        if len(self._frames) >= _MOST:
            self._frames.popleft()
            self.dropped += 1
        self._frames.append(encoded)
        self._last += 1
        if self._writer is not None:
            _write(self._writer, encoded)

    async def run(self) -> None:
        """Keep connected, until it is cancelled."""
        while True:
            with suppress(OSError, EOFError, TimeoutError, DecodeError):
                await self._connection()
            await asyncio.sleep(_AGAIN_S)

    async def _connection(self) -> None:
        host, _, port = self._address.rpartition(":")
        async with asyncio.timeout(_CONNECT_S):
            reader, writer = await asyncio.open_connection(
                host.strip("[]"), int(port), ssl=self._tls
            )
        try:
            hello = pb.Hello(next=self._last - len(self._frames) + 1)
            hello.MergeFrom(self._own)
            _write(writer, pb.Frame(hello=hello).SerializeToString())
            # The first answer names the last frame that the peer has from earlier connections.
            self._confirm(await _read(reader))
            for frame in self._frames:
                _write(writer, frame)
            self._writer = writer
            self.connected.set()
            self._changed()
            while True:
                self._confirm(await _read(reader))
        finally:
            self._writer = None
            writer.transport.abort()
            self._changed()

    def _confirm(self, frame: pb.Frame) -> None:
        unconfirmed = max(0, self._last - frame.received.number)
        while len(self._frames) > unconfirmed:
            self._frames.popleft()


class Links:
    """The links to all brokers of a cluster, by the epochs of their registrations."""

    def __init__(
        self, broker: Broker, peers: Peers, receive: Receive, reached: Callable[[set[int]], None]
    ) -> None:
        self._broker: Final = broker
        #: Called with all brokers that can be reached, whenever that changes.
        self._reached: Final = reached
        self._receive: Final = receive
        self._outgoing: Final = _context(peers, ssl.Purpose.SERVER_AUTH)
        self._links: Final[dict[int, Link]] = {}
        self._running: Final[dict[int, asyncio.Task[None]]] = {}
        #: Brokers by the keys of their rows.
        self._brokers: Final[dict[bytes, Broker]] = {}
        #: The number of the last frame that was received of each.
        self._received: Final[dict[int, int]] = {}
        #: The latest connection of each peer: it repeats the frames of an earlier one.
        self._latest: Final[dict[int, asyncio.StreamReader]] = {}
        self._changed: Final = asyncio.Condition()
        self._listed = False

    def send(self, epoch: int, frame: pb.Frame) -> bool:
        """Send a frame to a broker; tell whether there is such a one."""
        link = self._links.get(epoch)
        if link is not None:
            link.send(frame)
        return link is not None

    def send_all(self, frame: pb.Frame) -> None:
        """Send a frame to all other brokers."""
        for link in self._links.values():
            link.send(frame)

    async def follow(self, q: AsyncClient) -> None:
        """Link to new brokers, and forget brokers that leave, for ever."""
        watch = q.watch("cluster.brokers", marks=True)
        given: set[bytes] | None = set()
        try:
            async with aclosing(watch) as changes:
                async for change in changes:
                    match change.kind:
                        case ChangeKind.RESYNC:
                            given = set()
                        case ChangeKind.LISTED:
                            if given is not None:
                                for key in self._brokers.keys() - given:
                                    self._forget(key)
                            given, self._listed = None, True
                        case ChangeKind.BOOKMARK:
                            continue
                        case ChangeKind.DELETED:
                            self._forget(change.key)
                        case _:
                            self._meet(change.key, Broker.FromString(change.value))
                            if given is not None:
                                given.add(change.key)
                    await self._tell_changed()
        finally:
            for task in self._running.values():
                task.cancel()

    async def linked(self) -> None:
        """Wait until all other brokers send to this one, and it to them.

        From then on no message passes by its clients. Brokers that do not answer are waited for
        until the cluster holds them to be dead.
        """
        async with self._changed:
            await self._changed.wait_for(
                lambda: (
                    self._listed
                    and all(link.connected.is_set() for link in self._links.values())
                    and self._links.keys() <= self._received.keys()
                )
            )

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Receive the frames of another broker, until its connection ends."""
        try:
            with suppress(OSError, EOFError, TimeoutError, DecodeError):
                async with asyncio.timeout(_KNOWN_S):
                    hello = (await _read(reader)).hello
                    await self._known(hello)
                await self._receive_all(hello, reader, writer)
        finally:
            writer.transport.abort()

    async def _known(self, hello: pb.Hello) -> None:
        """Wait until the watch shows the broker that says hello, and check it."""
        if hello.receiver_epoch != self._broker.epoch:
            raise EOFError("it wants to reach an earlier process")
        async with self._changed:
            await self._changed.wait_for(lambda: hello.broker_epoch in self._links)

    async def _receive_all(
        self, hello: pb.Hello, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        epoch = hello.broker_epoch
        self._latest[epoch] = reader
        received = max(self._received.get(epoch, 0), hello.next - 1)
        self._received[epoch] = received
        await self._tell_changed()
        _write(writer, _received(received))
        # Frames that were confirmed just now are not sent again.
        number, confirmed = received, received
        while True:
            frame = await _read(reader)
            if self._latest.get(epoch) is not reader:
                return
            number += 1
            self._received[epoch] = number
            self._receive(epoch, frame)
            if number - confirmed >= _CONFIRM or not _has_more(reader):
                confirmed = number
                _write(writer, _received(number))

    async def _tell_changed(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    def _tell_reached(self) -> None:
        self._reached({epoch for epoch, link in self._links.items() if link.stands})

    def _meet(self, key: bytes, broker: Broker) -> None:
        known = self._brokers.get(key)
        if known is not None and known.epoch == broker.epoch:
            return
        self._forget(key)
        if (
            broker.epoch == self._broker.epoch
            or ROLE not in broker.roles
            or broker.cluster_name != self._broker.cluster_name
            or ADDRESS not in broker.addresses
        ):
            return
        self._brokers[key] = broker
        own = pb.Hello(
            broker=self._broker.name,
            broker_epoch=self._broker.epoch,
            receiver_epoch=broker.epoch,
        )
        link = self._links[broker.epoch] = Link(
            own, broker.addresses[ADDRESS], self._outgoing, self._tell_reached
        )
        self._running[broker.epoch] = asyncio.create_task(self._run(link))
        _LOG.info("linking to %s at %s", broker.name, broker.addresses[ADDRESS])

    async def _run(self, link: Link) -> None:
        async def tell() -> None:
            await link.connected.wait()
            await self._tell_changed()

        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(tell())
            tasks.create_task(link.run())

    def _forget(self, key: bytes) -> None:
        broker = self._brokers.pop(key, None)
        if broker is not None:
            del self._links[broker.epoch]
            self._running.pop(broker.epoch).cancel()
            self._received.pop(broker.epoch, None)
            self._latest.pop(broker.epoch, None)
            self._tell_reached()
            _LOG.info("%s is gone", broker.name)


def incoming(peers: Peers) -> ssl.SSLContext | None:
    """Return how connections of other brokers are encrypted; None: they are not."""
    context = _context(peers, ssl.Purpose.CLIENT_AUTH)
    if context is not None:
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _context(peers: Peers, purpose: ssl.Purpose) -> ssl.SSLContext | None:
    if peers.certfile is None:
        return None
    context = ssl.create_default_context(purpose, cafile=peers.cafile)
    context.load_cert_chain(peers.certfile, peers.keyfile)
    return context


def _received(number: int) -> bytes:
    return pb.Frame(received=pb.Received(number=number)).SerializeToString()


def _write(writer: _Writes, frame: bytes) -> None:
    writer.write(len(frame).to_bytes(4, "big") + frame)


async def _read(reader: asyncio.StreamReader) -> pb.Frame:
    size = int.from_bytes(await reader.readexactly(4), "big")
    if size > _LARGEST:
        raise EOFError(f"{size} bytes are no frame")
    return pb.Frame.FromString(await reader.readexactly(size))


def _has_more(reader: asyncio.StreamReader) -> bool:
    return bool(reader._buffer)  # type: ignore[attr-defined]
