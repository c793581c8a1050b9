"""Snapshots over real connections, between two nodes that only write down what comes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from quorate.config.sections import LimitsSection, TlsSection
from quorate.consensus.formation import Introduction
from quorate.consensus.journal import Position
from quorate.consensus.messages import Message, Peer
from quorate.consensus.peer.network import (
    OTHER_CLUSTER,
    OTHER_REPLICA,
    OTHER_TARGET,
    OTHER_TOKEN,
    PeerHooks,
    PeerNetwork,
)
from quorate.consensus.peer.streams import StreamLimits, open_channel, read
from quorate.plugin.shard_id import ShardId
from quorate.rpc.server import RpcServer
from quorate.shards.snapshots.rpc import NetworkSnapshots
from quorate.shards.snapshots.snapshot_messages import (
    Chunk,
    Offer,
    ReceiverBusyError,
    SnapshotRefusedError,
    TransferError,
    decode_answer,
)
from quorate.storage.data.checkpoint import Manifest, SnapshotFile
from quorate.storage.data.record import AppliedRecord

LIMITS = StreamLimits(retry_max_s=0.1)
A, B = Peer("a", 1), Peer("b", 2)
CONTENT = bytes(range(256)) * 4_096


class Taken:
    """A reception that keeps what comes, and refuses where it is told to."""

    def __init__(self, refuses_at: str, waits_at_finish: asyncio.Event | None) -> None:
        self.content = b""
        self.finishing = False
        self.installed = False
        self.abandoned = asyncio.Event()
        self._refuses_at = refuses_at
        self._waits_at_finish = waits_at_finish

    async def write(self, chunk: Chunk) -> None:
        if self._refuses_at == "write":
            raise SnapshotRefusedError("not this part")
        assert chunk.offset == len(self.content)
        self.content += chunk.content

    async def finish(self) -> None:
        if self._refuses_at == "finish":
            raise SnapshotRefusedError("it is damaged")
        self.finishing = True
        if self._waits_at_finish is not None:
            await self._waits_at_finish.wait()
        self.installed = True

    def abandon(self) -> None:
        self.abandoned.set()


class Station:
    """A node."""

    def __init__(self, me: Peer, *, token: str = "token", cluster: bytes = b"cluster") -> None:
        self.me = me
        self.offers: list[Offer] = []
        self.receptions: list[Taken] = []
        self.refuses_at = ""
        self.waits_at_finish: asyncio.Event | None = None
        self.server: RpcServer
        self.admits = True
        self.network = PeerNetwork(
            me,
            token,
            PeerHooks(
                deliver=self._deliver,
                remade=lambda _: None,
                admit=lambda *_: self.admits,
                config_index=lambda: 1,
                introduced=self._introduced,
            ),
            rng=random.Random(1),
            limits=LIMITS,
        )
        self.snapshots = NetworkSnapshots(self.network, LIMITS)
        self.network.join(cluster)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator[str]:
        server = self.server = RpcServer(LimitsSection(), LIMITS)
        port = server.bind("127.0.0.1", 0, TlsSection())
        self.snapshots.add_to(server, self._receive)
        await server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            await server.stop(0)

    def _receive(self, offer: Offer) -> Taken:
        self.offers.append(offer)
        if self.refuses_at == "offer":
            raise SnapshotRefusedError("not now")
        if self.refuses_at == "busy":
            raise ReceiverBusyError("it is receiving one of shard kv/0")
        self.receptions.append(Taken(self.refuses_at, self.waits_at_finish))
        return self.receptions[-1]

    def _deliver(self, shard: str, message: Message, _: bool) -> bool:
        raise AssertionError(shard, message)

    def _introduced(self, other: Introduction) -> Introduction:
        raise AssertionError(other)


@asynccontextmanager
async def pair(a: Station, b: Station) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        addresses = {
            station.me.node: await stack.enter_async_context(station.serving())
            for station in (a, b)
        }
        for station in (a, b):
            station.network.know(addresses)
            stack.push_async_callback(station.network.stop)
        yield


def offer(target: Peer = B) -> Offer:
    record = AppliedRecord(Position(7, 3), 1, b"members", 11, 12, 13)
    files = (SnapshotFile("000001.sst", len(CONTENT), 99), SnapshotFile("CURRENT", 0, 0))
    return Offer(ShardId("kv", 2), A, target, 5, Manifest(record, files))


async def send(station: Station, offered: Offer, size: int = 100_000) -> None:
    transfer = await station.snapshots.open(offered)
    try:
        for offset in range(0, len(CONTENT), size):
            await transfer.write(
                Chunk(file=0, offset=offset, content=CONTENT[offset : offset + size])
            )
        await transfer.finish()
    finally:
        transfer.cancel()


async def test_a_snapshot_arrives_as_it_was_sent() -> None:
    a, b = Station(A), Station(B)
    async with pair(a, b):
        await send(a, offer())

    assert b.offers == [offer()]
    [taken] = b.receptions
    assert taken.content == CONTENT
    assert taken.installed


@pytest.mark.parametrize(
    ("where", "reason"),
    [("offer", "not now"), ("write", "not this part"), ("finish", "it is damaged")],
)
async def test_why_it_is_refused_is_known(where: str, reason: str) -> None:
    a, b = Station(A), Station(B)
    b.refuses_at = where
    async with pair(a, b):
        with pytest.raises(SnapshotRefusedError, match=f"b refused it: {reason}"):
            # As long as it goes on: the answer comes before the end.
            await send(a, offer(), size=10_000)
        for taken in b.receptions:
            await asyncio.wait_for(taken.abandoned.wait(), 10)
            assert not taken.installed


def _other_replica(b: Station) -> None:
    b.admits = False


@pytest.mark.parametrize(
    ("a", "target", "reason", "prepare"),
    [
        (Station(A, token="guessed"), B, OTHER_TOKEN, None),
        (Station(A, cluster=b"other"), B, OTHER_CLUSTER, None),
        (Station(A), B, OTHER_REPLICA, _other_replica),
    ],
    ids=["token", "cluster", "replica"],
)
async def test_strangers_are_refused_as_on_the_streams(
    a: Station, target: Peer, reason: str, prepare: Callable[[Station], None] | None
) -> None:
    b = Station(B)
    if prepare is not None:
        prepare(b)
    async with pair(a, b):
        with pytest.raises(SnapshotRefusedError) as refused:
            await send(a, offer(target))

    assert reason in str(refused.value)
    assert not b.offers


async def test_another_node_at_an_address_is_not_installed() -> None:
    a, b = Station(A), Station(B)
    async with pair(a, b):
        address = a.network.address("b")
        assert address is not None
        a.network.know({"c": address})
        with pytest.raises(SnapshotRefusedError, match=OTHER_TARGET):
            await send(a, offer(Peer("c", 3)))


async def test_a_transfer_that_is_cancelled_is_abandoned() -> None:
    a, b = Station(A), Station(B)
    async with pair(a, b):
        transfer = await a.snapshots.open(offer())
        await transfer.write(Chunk(file=0, offset=0, content=CONTENT[:100]))
        async with asyncio.timeout(10):
            while not (b.receptions and b.receptions[0].content):
                await asyncio.sleep(0)
        transfer.cancel()
        await asyncio.wait_for(b.receptions[0].abandoned.wait(), 10)

    assert not b.receptions[0].installed


async def test_a_receiver_that_is_at_another_snapshot_says_so() -> None:
    a, b = Station(A), Station(B)
    b.refuses_at = "busy"
    async with pair(a, b):
        with pytest.raises(ReceiverBusyError, match=r"^it is receiving one of shard kv/0$"):
            await send(a, offer())


async def test_a_node_that_is_gone_is_named() -> None:
    a, b = Station(A), Station(B)
    async with pair(a, b):
        known = a.network.address("b")
    assert known is not None
    a.network.know({"b": known})
    with pytest.raises(TransferError, match="the connection to b was lost"):
        await send(a, offer())
    a.network.know({})
    with pytest.raises(TransferError, match="the address of b is unknown"):
        await send(a, offer())
    await a.network.stop()


@pytest.mark.parametrize("content", [b"", b"\xff\xff", b"\x12\x00"])
async def test_garbage_is_answered_and_nothing_else(content: bytes) -> None:
    b = Station(B)
    async with b.serving() as address:
        channel = open_channel(address, LIMITS)
        install = channel.stream_stream("/quorate.v1.SnapshotService/Install", None, None)
        call = install(None)
        await call.write(content)
        answer = await read(call)
        assert answer is not None
        assert "it cannot be read" in decode_answer(answer)[0]
        await channel.close(None)

    assert not b.offers


async def test_a_node_that_goes_in_the_middle_breaks_the_transfer() -> None:
    a, b = Station(A), Station(B)
    b.waits_at_finish = asyncio.Event()
    async with pair(a, b):
        transfer = await a.snapshots.open(offer())
        try:
            await transfer.write(Chunk(file=0, offset=0, content=CONTENT))
            async with asyncio.timeout(10):
                while not (b.receptions and b.receptions[0].finishing):
                    await asyncio.sleep(0)
            await b.server.stop(0)
            with pytest.raises(TransferError, match="the connection to b was lost"):
                await transfer.finish()
        finally:
            transfer.cancel()
