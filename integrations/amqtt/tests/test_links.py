"""What one broker sends another one receives once, whatever becomes of the connection."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any, cast

import pytest
from quorate.client import AsyncClient, ChangeKind, WatchedChange
from quorate.plugin import keys
from quorate.v1.cluster_pb2 import Broker
from quorate_amqtt.config import Peers
from quorate_amqtt.links import ADDRESS, ROLE, Links
from quorate_amqtt.v1 import links_pb2 as pb


class Cluster:
    """Stands in for the cluster: tells of brokers, one after the other."""

    def __init__(self) -> None:
        self.changes: list[WatchedChange] = [WatchedChange(kind=ChangeKind.LISTED)]
        self._more = asyncio.Event()

    def tell(self, kind: ChangeKind, broker: Broker) -> None:
        self.changes.append(
            WatchedChange(
                kind=kind,
                family="cluster.brokers",
                key=keys.pack(broker.name),
                value=b"" if kind is ChangeKind.DELETED else broker.SerializeToString(),
            )
        )
        self._more.set()

    async def watch(self, *_: Any, **__: Any) -> AsyncGenerator[WatchedChange, None]:
        told = 0
        while True:
            while told < len(self.changes):
                told += 1
                yield self.changes[told - 1]
            self._more.clear()
            await self._more.wait()


class Peer:
    """A broker: what it receives, and a server that can lose its connections."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.received: list[bytes] = []
        self.writers: list[asyncio.StreamWriter] = []

    async def start(self, name: str, epoch: int, role: str = ROLE) -> None:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        self.row = Broker(
            name=name,
            epoch=epoch,
            roles=[role],
            cluster_name="mqtt",
            addresses={ADDRESS: f"127.0.0.1:{port}"},
        )
        self.reached: set[int] = set()
        self.links = Links(self.row, Peers(), self._receive, self._reach)
        self._following = asyncio.create_task(self.links.follow(cast(AsyncClient, self._cluster)))
        self._cluster.tell(ChangeKind.CREATED, self.row)

    async def stop(self) -> None:
        self._following.cancel()
        await asyncio.gather(self._following, return_exceptions=True)
        self._server.close()
        self.lose()

    def lose(self) -> None:
        for writer in self.writers:
            writer.transport.abort()
        self.writers.clear()

    async def has(self, count: int) -> None:
        while len(self.received) < count:
            await asyncio.sleep(0.001)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with suppress(asyncio.CancelledError):
            await self.links.accept(reader, writer)

    def _reach(self, epochs: set[int]) -> None:
        self.reached = epochs

    def _receive(self, epoch: int, frame: pb.Frame) -> None:
        self.received.append(frame.message.payload)


def frame(number: int) -> pb.Frame:
    return pb.Frame(message=pb.Message(tenant="acme", topic="t", payload=str(number).encode()))


@pytest.fixture
async def pair() -> AsyncGenerator[tuple[Peer, Peer], None]:
    cluster = Cluster()
    one, two = Peer(cluster), Peer(cluster)
    await one.start("one", 1)
    await two.start("two", 2)
    async with asyncio.timeout(30):
        await asyncio.gather(one.links.linked(), two.links.linked())
    # Each has heard of the other when it was told of itself.
    while not (one.links._links and two.links._links):
        await asyncio.sleep(0.001)
    yield one, two
    await one.stop()
    await two.stop()


async def test_frames_come_in_their_order(pair: tuple[Peer, Peer]) -> None:
    one, two = pair
    for number in range(500):
        one.links.send_all(frame(number))
    assert one.links.send(2, frame(500))
    assert not one.links.send(3, frame(501))

    await two.has(501)

    assert two.received == [str(number).encode() for number in range(501)]
    assert one.received == []


async def test_nothing_is_lost_or_doubled_with_a_connection(pair: tuple[Peer, Peer]) -> None:
    one, two = pair
    for number in range(300):
        one.links.send_all(frame(number))
        if number % 60 == 30:
            await two.has(number // 2)
            two.lose()

    await two.has(300)

    assert two.received == [str(number).encode() for number in range(300)]


async def test_a_broker_that_is_gone_is_sent_nothing(pair: tuple[Peer, Peer]) -> None:
    one, two = pair
    one._cluster.tell(ChangeKind.DELETED, two.row)
    while one.links._links:
        await asyncio.sleep(0.001)

    assert not one.links.send(2, frame(1))
    assert one.reached == set()


async def test_a_broker_is_reached_while_its_connection_stands(pair: tuple[Peer, Peer]) -> None:
    one, two = pair
    assert one.reached == {2}
    two._server.close()

    two.lose()

    while one.reached:
        await asyncio.sleep(0.001)


async def test_a_later_process_of_a_broker_takes_its_place(pair: tuple[Peer, Peer]) -> None:
    one, two = pair
    again = Peer(one._cluster)
    await again.start("two", 3)
    while one.links._links.keys() != {3}:
        await asyncio.sleep(0.001)

    one.links.send_all(frame(1))

    await again.has(1)
    assert two.received == []
    await again.stop()


@pytest.mark.parametrize(
    "hello",
    [
        pb.Hello(broker="eve", broker_epoch=9, receiver_epoch=2, next=1),
        pb.Hello(broker="one", broker_epoch=1, receiver_epoch=7, next=1),
    ],
)
async def test_who_is_not_registered_is_not_heard(
    pair: tuple[Peer, Peer], hello: pb.Hello, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quorate_amqtt.links._KNOWN_S", 0.05)
    _, two = pair
    host, _, port = two.row.addresses[ADDRESS].partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    for each in (pb.Frame(hello=hello), frame(1)):
        encoded = each.SerializeToString()
        writer.write(len(encoded).to_bytes(4, "big") + encoded)

    with suppress(ConnectionError):
        assert await reader.read() == b""

    assert two.received == []
    writer.close()


@pytest.mark.parametrize("said", [b"\xff\xff\xff\xffx", b"\0\0\0\5GET /", b"\0\0"])
async def test_who_speaks_something_else_is_hung_up_on(
    pair: tuple[Peer, Peer], said: bytes
) -> None:
    _, two = pair
    host, _, port = two.row.addresses[ADDRESS].partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(said)
    writer.write_eof()

    with suppress(ConnectionError):
        assert await reader.read() == b""

    assert two.received == []
    writer.close()
