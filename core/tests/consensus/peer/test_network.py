from __future__ import annotations

import asyncio
import gc
import logging
import pickle
import random
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import uvloop
from cryptography import x509
from quorate.cli import authority
from quorate.cli.authority import make_authority, sign
from quorate.client import Tls
from quorate.config.sections import LimitsSection, TlsSection
from quorate.consensus.formation import FormationRefusedError, Introduction
from quorate.consensus.messages import (
    Append,
    Entry,
    EntryKind,
    Heartbeat,
    Lane,
    Message,
    Peer,
)
from quorate.consensus.peer.frames import decode_frame, encode_frame
from quorate.consensus.peer.incoming import NO_TLS, OVERSIZED, SILENT, STRANGER
from quorate.consensus.peer.network import (
    NO_PORT,
    NOT_FORMED,
    OLDER_DIRECTORY,
    OTHER_CERTIFICATE,
    OTHER_CLUSTER,
    OTHER_NODE,
    OTHER_REPLICA,
    OTHER_TARGET,
    OTHER_TOKEN,
    UNDELIVERABLE,
    UNKNOWN_NODE,
    IntroductionRefusedError,
    PeerHooks,
    PeerNetwork,
)
from quorate.consensus.peer.proofs import token_hash
from quorate.consensus.peer.streams import (
    CLIENT_CERTIFICATE,
    FOREIGN_CERTIFICATE,
    INTRODUCE,
    OTHER_NAME,
    SERVICE,
    StreamLimits,
    ask,
)
from quorate.consensus.peer.wire import (
    LENGTH,
    NO_OPENING,
    OTHER_VERSION,
    VERSION,
    Answer,
    Handshake,
    MalformedMessageError,
    Start,
    decode_answer,
    decode_handshake,
    decode_opening,
    encode_answer,
    encode_handshake,
    encode_introduction,
    encode_opening,
)
from quorate.http2.grpc.call_errors import CallError
from quorate.http2.grpc.channel import Channel
from quorate.node import certified
from quorate.node.certificates import Certificates
from quorate.rpc.engines.engine import Encryption
from quorate.rpc.server import RpcServer

LIMITS = StreamLimits(entry_bytes=1 << 20, bulk_queue_bytes=4 << 20, retry_max_s=0.1)
HURRIED = replace(LIMITS, answer_s=0.1)
CLUSTER = b"the cluster"
REPLICAS = {"a": 1, "b": 2}


def certificates_of(directory: Path, node: str) -> Certificates:
    """Return the certificates of a node in a directory."""
    chain, key, ca = (directory / name for name in (f"{node}.pem", f"{node}.key", "ca.pem"))
    files = TlsSection(cert_file=chain, key_file=key, ca_file=ca, require_client_cert=True)
    return Certificates(files, node)


def self_signed(directory: Path, node: str) -> None:
    """Write a certificate of a node that nobody has signed but itself."""
    name = authority._named(node)
    alternatives = x509.SubjectAlternativeName([x509.DNSName(node)])
    authority._issue(directory, node, name, name, None, 1, (), (alternatives,))


class Station:
    """A node whose replicas only write down what comes."""

    def __init__(
        self,
        node: str,
        token: str = "token",
        replica: int = 0,
        limits: StreamLimits = LIMITS,
        tls: Certificates | None = None,
        *,
        takes_hash: bool = True,
    ) -> None:
        self.token = token
        self.me = Peer(node, replica or REPLICAS[node])
        self.received: asyncio.Queue[tuple[str, Message]] = asyncio.Queue()
        #: Whether each message came alone.
        self.alone: list[bool] = []
        self.remade: asyncio.Queue[str] = asyncio.Queue()
        self.config_index = 1
        self.newest_config_index = 1
        self.introduced_by: list[Introduction] = []
        self.refuses_to_form = False
        self.start = Start()
        #: The latest start of the other one that this one has met.
        self.newest = Start()
        self.outdated_by: list[str] = []
        self.network = PeerNetwork(
            self.me,
            token,
            PeerHooks(
                deliver=self._deliver,
                remade=self.remade.put_nowait,
                admit=self._admits,
                config_index=lambda: self.config_index,
                introduced=self._introduced,
                start=lambda: self.start,
                is_newest=lambda _, start: start >= self.newest,
                outdated=self.outdated_by.append,
                takes_hash=lambda: takes_hash,
            ),
            rng=random.Random(1),
            limits=limits,
            tls=None if tls is None else tls.peers(),
        )
        self.tls = tls
        self.address = ""

    def _deliver(self, shard: str, message: Message, alone: bool) -> bool:
        self.alone.append(alone)
        self.received.put_nowait((shard, message))
        return shard.startswith("s")

    def _admits(self, peer: Peer, config_index: int) -> bool:
        return REPLICAS[peer.node] == peer.replica or config_index > self.newest_config_index

    def _introduced(self, other: Introduction) -> Introduction:
        if self.refuses_to_form:
            raise FormationRefusedError("make the files equal")
        self.introduced_by.append(other)
        return self.introduction

    @property
    def introduction(self) -> Introduction:
        return Introduction(self.me, ("a", "b"), b"")

    async def next(self) -> tuple[str, Message]:
        async with asyncio.timeout(10):
            return await self.received.get()

    async def made(self) -> str:
        async with asyncio.timeout(10):
            return await self.remade.get()

    @asynccontextmanager
    async def serving(self, address: str = "127.0.0.1:0") -> AsyncIterator[None]:
        server = RpcServer(LimitsSection(), LIMITS)
        tls = self.tls
        encryption = None if tls is None else Encryption(tls.grpc, tls.server_credentials)
        host, _, wanted = address.rpartition(":")
        port = server.bind(host, int(wanted), TlsSection(), encryption)
        self.address = f"127.0.0.1:{port}"
        self.network.add_to(server)
        await self.network.listen("127.0.0.1")
        await server.start()
        try:
            yield
        finally:
            await server.stop(0)
            await self.network._incoming.stop()

    def handshake(self, target: str, cluster: bytes = CLUSTER) -> Handshake:
        return Handshake(self.me, cluster, token_hash(self.token), self.config_index, target)


class LongPauses(random.Random):
    """Lets a pause last until something ends it."""

    begun = 0

    def uniform(self, a: float, b: float) -> float:
        self.begun += 1
        return 1e6


@asynccontextmanager
async def pair(a: Station, b: Station) -> AsyncIterator[None]:
    async with AsyncExitStack() as stack:
        for station in (a, b):
            await stack.enter_async_context(station.serving())
            stack.push_async_callback(station.network.stop)
        a.network.know({"a": a.address, "b": b.address})
        b.network.know({"a": a.address, "b": b.address})
        yield


@asynccontextmanager
async def joined(a: Station, b: Station) -> AsyncIterator[None]:
    """Two stations of one cluster, when all four streams stand."""
    async with pair(a, b):
        for station in (a, b):
            station.network.join(CLUSTER)
        await until(lambda: all(link.stands for s in (a, b) for link in s.network.links.values()))
        assert [await a.made(), await b.made()] == ["b", "a"]
        yield


class Dialer:
    """The other end of a connection that this test made."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer

    async def shake(self, handshake: Handshake, lane: Lane = "control") -> Answer:
        self.writer.write(encode_opening(lane, encode_handshake(handshake)))
        return await self.answer(lane)

    async def answer(self, lane: Lane = "control") -> Answer:
        async with asyncio.timeout(10):
            frame = await read_frame(self._reader)
        answered, content = decode_opening(memoryview(frame))
        assert answered == lane
        return decode_answer(content)

    async def cut_off(self) -> bool:
        """Wait until the other end has closed without sending anything."""
        async with asyncio.timeout(10):
            try:
                return await self._reader.read() == b""
            except ConnectionResetError:
                return True


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    (length,) = LENGTH.unpack(await reader.readexactly(LENGTH.size))
    return await reader.readexactly(length)


@asynccontextmanager
async def connected(station: Station, tls: ssl.SSLContext | None = None) -> AsyncIterator[Dialer]:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1",
        station.network.port,
        ssl=tls,
        server_hostname=None if tls is None else station.me.node,
    )
    try:
        yield Dialer(reader, writer)
    finally:
        writer.transport.abort()


def warnings_of(caplog: pytest.LogCaptureFixture) -> list[str]:
    # gRPC's own poller may complain there about the loop of an earlier test.
    return [each.getMessage() for each in caplog.records if each.name.startswith("quorate")]


def refuse(error: Exception) -> None:
    raise AssertionError(error)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.001)


def message(sender: Station, receiver: Station, number: int) -> Message:
    return Message(sender.me, receiver.me, 3, 1, Heartbeat(number, 0))


def entries(sender: Station, receiver: Station, index: int, size: int) -> Message:
    entry = Entry(index, 3, EntryKind.COMMAND, bytes(size))
    return Message(
        sender.me, receiver.me, 3, 1, Append(index - 1, 3 if index > 1 else 0, (entry,), 0)
    )


async def test_both_lanes_carry_messages_of_all_shards_in_order() -> None:
    a, b = Station("a"), Station("b")
    async with joined(a, b):
        sent = [message(a, b, number) for number in range(50)]
        for number, each in enumerate(sent):
            a.network.send(f"s/{number % 3}", [each])
        assert [await b.next() for _ in sent] == [
            (f"s/{number % 3}", each) for number, each in enumerate(sent)
        ]
        bulk = [entries(a, b, index, 1_000) for index in range(1, 50)]
        a.network.send("s", bulk)
        assert [(await b.next())[1] for _ in bulk] == bulk
        back = message(b, a, 1)
        b.network.send("s", [back])
        assert await a.next() == ("s", back)


async def test_what_is_queued_together_travels_in_one_frame() -> None:
    a, b = Station("a"), Station("b")
    async with joined(a, b):
        a.network.send("s", [message(a, b, number) for number in range(100)])
        for _ in range(100):
            await b.next()
        link = a.network.links["b", "control"]
        assert (link.frames, link.messages) == (1, 100)
        assert b.alone == [False] * 100
        a.network.send("s", [message(a, b, 100)])
        await b.next()
        assert b.alone[-1]


async def test_a_bulk_frame_ends_at_its_limit_and_a_larger_entry_travels_alone() -> None:
    a, b = Station("a"), Station("b")
    async with joined(a, b):
        sizes = [400 << 10, 400 << 10, 400 << 10, 1 << 20, 10]
        a.network.send("s", [entries(a, b, index + 1, size) for index, size in enumerate(sizes)])
        for _ in sizes:
            await b.next()
        link = a.network.links["b", "bulk"]
        assert (link.frames, link.messages) == (4, 5)
        assert link.entry_bytes == sum(sizes) + 32 * len(sizes)


async def test_what_is_sent_to_a_node_that_is_down_is_dropped_and_its_streams_are_made_again() -> (
    None
):
    a, b = Station("a"), Station("b")
    async with AsyncExitStack() as stack:
        stack.push_async_callback(a.network.stop)
        stack.push_async_callback(b.network.stop)
        async with b.serving():
            a.network.know({"b": b.address})
            b.network.know({"a": "127.0.0.1:1"})
            a.network.join(CLUSTER)
            b.network.join(CLUSTER)
            assert await a.made() == "b"
        await until(lambda: not any(link.stands for link in a.network.links.values()))
        a.network.send("s", [message(a, b, 1), entries(a, b, 1, 10)])
        assert {lane: link.dropped for (_, lane), link in a.network.links.items()} == {
            "control": 1,
            "bulk": 1,
        }
        async with b.serving(b.address):
            assert await a.made() == "b"
            await until(lambda: a.network.links["b", "control"].stands)
            a.network.send("s", [message(a, b, 2)])
            assert await b.next() == ("s", message(a, b, 2))
            assert a.network.links["b", "bulk"].connections == 2


async def test_a_node_that_connects_is_connected_to_without_the_rest_of_a_pause() -> None:
    a, b, pauses = Station("a"), Station("b"), LongPauses()
    a.network._rng = pauses  # type: ignore[misc]
    async with AsyncExitStack() as stack:
        stack.push_async_callback(a.network.stop)
        stack.push_async_callback(b.network.stop)
        await stack.enter_async_context(a.serving())
        async with b.serving():
            pass
        a.network.know({"b": b.address})
        a.network.join(CLUSTER)
        await until(lambda: pauses.begun == 2)
        await stack.enter_async_context(b.serving(b.address))
        b.network.know({"a": a.address})
        b.network.join(CLUSTER)
        await until(lambda: all(link.stands for link in a.network.links.values()))


async def test_a_message_for_a_replica_that_the_node_is_not_any_more_is_dropped() -> None:
    a, b = Station("a"), Station("b")
    async with joined(a, b):
        replaced = Message(a.me, Peer("b", 99), 3, 1, Heartbeat(1, 0))
        a.network.send("s", [replaced, message(a, b, 2)])
        assert await b.next() == ("s", message(a, b, 2))
        assert a.network.links["b", "control"].dropped == 1


async def test_a_message_for_a_node_without_an_address_is_dropped() -> None:
    a, b = Station("a"), Station("b")
    a.network.send("s", [message(a, b, 1)])
    assert a.network.dropped == 1


class Silent:
    """A node that shakes hands on both lanes and then reads control alone."""

    def __init__(self, me: Peer) -> None:
        self.me = me
        self.connections: dict[str, object] = {}
        self.read: asyncio.Queue[bytes] = asyncio.Queue()
        self.reads_bulk = asyncio.Event()
        self.writers: list[asyncio.StreamWriter] = []

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        lane, shown = decode_opening(memoryview(await read_frame(reader)))
        asker = decode_handshake(shown)
        self.connections[lane] = writer.get_extra_info("peername")
        mine = Handshake(self.me, asker.cluster, asker.token_hash, 1, "")
        writer.write(encode_opening(lane, encode_answer(Answer(mine, ""))))
        if lane == "bulk":
            await self.reads_bulk.wait()
        with suppress(asyncio.IncompleteReadError, ConnectionResetError):
            while True:
                self.read.put_nowait(await read_frame(reader))

    @asynccontextmanager
    async def serving(self, asked_by: Station, port: int | None = None) -> AsyncIterator[None]:
        streams = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        taken = streams.sockets[0].getsockname()[1] if port is None else port

        async def introduce(_: bytes, __: object) -> bytes:
            mine = Introduction(Peer("b", 2), (), b"")
            return encode_introduction(mine, token_hash("token"), taken)

        server = RpcServer(LimitsSection(), LIMITS)
        # As a node of a release that knows no challenges.
        server.add_bytes(f"/{SERVICE}/{INTRODUCE}", introduce)
        bound = server.bind("127.0.0.1", 0, TlsSection())
        await server.start()
        try:
            asked_by.network.know({"b": f"127.0.0.1:{bound}"})
            asked_by.network.join(CLUSTER)
            yield
        finally:
            await asked_by.network.stop()
            await server.stop(0)
            streams.close()
            for writer in self.writers:
                writer.transport.abort()


async def test_control_goes_on_while_bulk_is_stuck_and_the_loss_is_told_when_it_goes_on() -> None:
    a, b = Station("a"), Station("b")
    silent = Silent(b.me)
    async with silent.serving(a):
        await until(lambda: all(link.stands for link in a.network.links.values()))
        assert await a.made() == "b"
        bulk = a.network.links["b", "bulk"]
        index = 0
        while not bulk.dropped:
            index += 1
            a.network.send("s", [entries(a, b, index, 512 << 10)])
            await asyncio.sleep(0)
        a.network.send("s", [message(a, b, 7)])
        async with asyncio.timeout(10):
            frame = memoryview(await silent.read.get())
        assert decode_frame(frame, a.me, b.me, 0, refuse) == [("s", message(a, b, 7))]
        assert a.remade.empty()
        silent.reads_bulk.set()
        assert await a.made() == "b"
        assert bulk.connections == 1


async def test_a_node_that_stops_reading_holds_no_more_than_the_queue_and_what_tcp_takes() -> None:
    a, b = Station("a"), Station("b")
    silent = Silent(b.me)
    async with silent.serving(a):
        await until(lambda: all(link.stands for link in a.network.links.values()))
        bulk = a.network.links["b", "bulk"]
        size, put = 256 << 10, 0
        while bulk.dropped < 10:
            put += 1
            a.network.send("s", [entries(a, b, put, size)])
            await asyncio.sleep(0)
        waits = put - bulk.dropped - bulk.messages
        assert waits * size <= LIMITS.bulk_queue_bytes
        assert bulk.stands
        silent.reads_bulk.set()
        await until(lambda: bulk.messages == put - bulk.dropped)


async def test_a_node_without_a_port_for_others_is_named() -> None:
    a, silent = Station("a"), Silent(Station("b").me)
    async with silent.serving(a, port=0):
        await until(lambda: a.network.refused["b", NO_PORT] > 1)


async def test_a_connection_to_an_end_that_is_gone_is_made_anew() -> None:
    a, b = Station("a"), Station("b")
    silent = Silent(b.me)
    async with silent.serving(a):
        assert await a.made() == "b"
        await until(lambda: len(silent.writers) == 2)
        for writer in silent.writers:
            writer.transport.abort()
        assert await a.made() == "b"


async def test_the_lanes_share_no_connection() -> None:
    a, silent = Station("a"), Silent(Station("b").me)
    async with silent.serving(a):
        await until(lambda: len(silent.connections) == 2)
        assert silent.connections["control"] != silent.connections["bulk"]


async def test_whoever_answers_in_another_node_s_name_is_not_talked_to() -> None:
    a, silent = Station("a"), Silent(Peer("c", 3))
    async with silent.serving(a):
        await until(lambda: a.network.refused["b", OTHER_NODE] > 2)
        assert not any(link.connections for link in a.network.links.values())


@pytest.mark.parametrize(
    ("token", "replica", "cluster", "target", "reason"),
    [
        ("other", 1, CLUSTER, "b", OTHER_TOKEN),
        ("token", 1, b"another", "b", OTHER_CLUSTER),
        ("token", 1, CLUSTER, "c", OTHER_TARGET),
        ("token", 99, CLUSTER, "b", OTHER_REPLICA),
    ],
    ids=["token", "cluster", "target", "replica"],
)
async def test_a_stranger_s_stream_is_refused_by_name(
    token: str,
    replica: int,
    cluster: bytes,
    target: str,
    reason: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    asker = Station("a", token, replica)
    b = Station("b")
    async with b.serving():
        b.network.know({"a": "127.0.0.1:1"})
        b.network.join(CLUSTER)
        for _ in range(2):
            async with connected(b) as dialer:
                answer = await dialer.shake(asker.handshake(target, cluster))
                assert answer.refusal == reason
                assert answer.handshake.peer == b.me
                assert answer.handshake.token_hash == b""
                assert await dialer.cut_off()
        assert b.network.refused["a", reason] == 2
        assert sum(reason in record.getMessage() for record in caplog.records) == 1
        await b.network.stop()


async def test_nodes_prove_their_token_without_its_hash() -> None:
    a, b = Station("a", takes_hash=False), Station("b", takes_hash=False)
    async with joined(a, b):
        async with connected(b) as dialer:
            assert (await dialer.shake(a.handshake("b"))).refusal == OTHER_TOKEN
        async with Channel(b.address) as channel:
            content = encode_introduction(a.introduction, token_hash(a.token), 1)
            with pytest.raises(CallError) as failed:
                await ask(channel, content, 10)
        assert failed.value.details() == OTHER_TOKEN


async def test_a_proof_that_was_overheard_is_worth_nothing() -> None:
    a, b = Station("a", takes_hash=False), Station("b", takes_hash=False)
    async with joined(a, b):
        _, _, challenge = await a.network._introduce("b", a.introduction, b.address)
        overheard = a.network._handshake("b", "connection", challenge)
        async with connected(b) as dialer:
            answer = await dialer.shake(overheard)
            assert answer.refusal == ""
            proof = answer.handshake.token_hash
            assert a.network._proofs.proves(proof, "connected", challenge, b.me)
        async with connected(b) as dialer:
            assert (await dialer.shake(overheard)).refusal == OTHER_TOKEN


async def test_a_node_of_a_former_release_is_talked_to_until_that_is_over() -> None:
    for takes_hash in (True, False):
        a = Station("a", takes_hash=takes_hash)
        async with Silent(Peer("b", 2)).serving(a):
            if takes_hash:
                assert (await a.network.introduce("b", a.introduction)).peer.node == "b"
            else:
                with pytest.raises(IntroductionRefusedError, match="token is another one"):
                    await a.network.introduce("b", a.introduction)
        await a.network.stop()


async def test_a_node_without_a_cluster_is_put_off_and_not_blamed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    a, b = Station("a"), Station("b")
    async with pair(a, b):
        async with connected(b) as dialer:
            assert (await dialer.shake(a.handshake("b"))).refusal == NOT_FORMED
        a.network.join(CLUSTER)
        b.network.join(CLUSTER)
        assert await a.made() == "b"
        assert not a.network.refused
        assert not b.network.refused
        # gRPC's own poller may complain there about the loop of an earlier test.
        assert [each for each in caplog.records if each.name.startswith("quorate")] == []


async def test_a_node_that_is_not_known_is_refused() -> None:
    b = Station("b")
    async with b.serving():
        b.network.join(CLUSTER)
        async with connected(b) as dialer:
            assert (await dialer.shake(Station("a").handshake("b"))).refusal == UNKNOWN_NODE
        assert b.network.refused[STRANGER, UNKNOWN_NODE] == 1


async def test_a_member_of_a_later_membership_is_let_in_by_an_older_one() -> None:
    b, replaced = Station("b"), Station("a", replica=99)
    replaced.config_index = 2
    async with b.serving():
        b.network.know({"a": "127.0.0.1:1"})
        b.network.join(CLUSTER)
        async with connected(b) as dialer:
            assert (await dialer.shake(replaced.handshake("b"))).refusal == ""
        await b.network.stop()


@pytest.mark.parametrize(
    ("token", "replica", "cluster", "reason"),
    [
        ("other", 2, CLUSTER, f"it refuses this node: {OTHER_TOKEN}"),
        ("token", 2, b"another", f"it refuses this node: {OTHER_CLUSTER}"),
        ("token", 99, CLUSTER, OTHER_REPLICA),
    ],
    ids=["token", "cluster", "replica"],
)
async def test_the_asker_knows_why_and_sends_nothing(
    token: str, replica: int, cluster: bytes, reason: str
) -> None:
    b = Station("b", token, replica)
    a = Station("a")
    async with pair(a, b):
        b.network.join(cluster)
        a.network.join(CLUSTER)
        await until(lambda: a.network.refused["b", reason] > 2)
        assert not any(link.stands for link in a.network.links.values())
        a.network.send("s", [message(a, b, 1)])
        assert a.network.links["b", "control"].dropped == 1


async def test_another_node_at_an_address_is_not_talked_to() -> None:
    a, b = Station("a"), Station("b")
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(b.serving())
        stack.push_async_callback(a.network.stop)
        stack.push_async_callback(b.network.stop)
        b.network.know({"a": "127.0.0.1:1"})
        b.network.join(CLUSTER)
        a.network.know({"c": b.address})
        a.network.join(CLUSTER)
        await until(lambda: a.network.refused["c", OTHER_NODE] > 0)
        with pytest.raises(IntroductionRefusedError, match=f"c: {OTHER_NODE}, b"):
            await a.network.introduce("c", a.introduction)


GARBAGE = [
    b"\xff" * 40,
    pickle.dumps({"type": "append_entries", "term": 1}),
    b"GET / HTTP/1.1\r\nHost: b\r\n\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
]
NAMES = ["bytes", "pickle", "http", "grpc"]


@pytest.mark.parametrize("garbage", GARBAGE, ids=NAMES)
@pytest.mark.parametrize("lane", ["control", "bulk"])
async def test_a_frame_that_cannot_be_read_ends_its_connection_with_one_warning(
    garbage: bytes, lane: Lane, caplog: pytest.LogCaptureFixture
) -> None:
    a, b = Station("a"), Station("b")
    async with b.serving():
        b.network.know({"a": "127.0.0.1:1"})
        b.network.join(CLUSTER)
        for _ in range(2):
            async with connected(b) as dialer:
                assert (await dialer.shake(a.handshake("b"), lane)).refusal == ""
                good = encode_frame([("s", message(a, b, 1))])
                dialer.writer.write(good + LENGTH.pack(len(garbage)) + garbage + good)
                assert await dialer.cut_off()
                assert await b.next() == ("s", message(a, b, 1))
        assert b.received.empty()
        assert b.network.refused == {("a", "a frame that cannot be read"): 2}
        [warning] = warnings_of(caplog)
        assert "refused from a: a frame that cannot be read" in warning
        assert "from 127.0.0.1:" in warning


async def test_one_malformed_message_does_not_take_its_neighbours_along() -> None:
    a, b = Station("a"), Station("b")
    async with joined(a, b):
        bad = Message(a.me, b.me, 3, 1, Append(5, 9, (), 0))
        a.network.send("s", [entries(a, b, 1, 5), bad, entries(a, b, 2, 5)])
        assert [(await b.next())[1] for _ in range(2)] == [
            entries(a, b, 1, 5),
            entries(a, b, 2, 5),
        ]
        assert b.network.refused == {("a", "entries ahead of their sender's term"): 1}


async def test_a_frame_over_the_limit_ends_its_connection_before_it_is_read() -> None:
    a, b = Station("a"), Station("b")
    async with joined(a, b), connected(b) as dialer:
        assert (await dialer.shake(a.handshake("b"), "bulk")).refusal == ""
        dialer.writer.write(LENGTH.pack(LIMITS.received_bytes + 1))
        assert await dialer.cut_off()
        assert b.network.refused == {("a", OVERSIZED): 1}
        # It took the place of the bulk connection of `a`, which is made again.
        assert await a.made() == "b"
        a.network.send("s", [message(a, b, 1)])
        assert await b.next() == ("s", message(a, b, 1))


@pytest.mark.parametrize("garbage", [*GARBAGE, b"\0\0\0\0"], ids=[*NAMES, "nothing"])
async def test_a_connection_that_begins_with_garbage_is_cut_off(
    garbage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    b = Station("b")
    async with b.serving():
        for _ in range(2):
            async with connected(b) as dialer:
                dialer.writer.write(garbage)
                assert await dialer.cut_off()
        assert b.network.refused == {(STRANGER, NO_OPENING): 2}
        assert len(warnings_of(caplog)) == 1


async def test_another_version_is_refused_by_name(caplog: pytest.LogCaptureFixture) -> None:
    a, b = Station("a"), Station("b")
    opening = bytearray(encode_opening("control", encode_handshake(a.handshake("b"))))
    opening[LENGTH.size + 7] = VERSION + 1
    async with b.serving():
        async with connected(b) as dialer:
            dialer.writer.write(opening)
            assert await dialer.cut_off()
        assert b.network.refused == {(STRANGER, OTHER_VERSION): 1}
        [warning] = warnings_of(caplog)
        assert f"version {VERSION + 1}, this node has {VERSION}" in warning


async def test_who_connects_and_says_nothing_is_cut_off() -> None:
    b = Station("b", limits=HURRIED)
    async with b.serving():
        async with connected(b) as silent, connected(b) as slow:
            slow.writer.write(encode_opening("control", b"x" * 100)[:-1])
            assert await silent.cut_off()
            assert await slow.cut_off()
        assert b.network.refused == {(STRANGER, SILENT): 2}


async def test_strangers_without_number_do_not_keep_a_member_out() -> None:
    a, b = Station("a"), Station("b", limits=replace(LIMITS, answer_s=60.0))
    async with b.serving(), AsyncExitStack() as stack:
        b.network.know({"a": "127.0.0.1:1"})
        b.network.join(CLUSTER)
        strangers = [await stack.enter_async_context(connected(b)) for _ in range(200)]
        assert await strangers[0].cut_off()
        async with connected(b) as dialer:
            assert (await dialer.shake(a.handshake("b"))).refusal == ""


async def test_a_message_for_a_shard_that_is_not_here_yet_is_counted_and_no_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    a, b = Station("a"), Station("b")
    with caplog.at_level(logging.INFO, "quorate"):
        async with joined(a, b):
            a.network.send("other", [message(a, b, 1)])
            await b.next()
            await until(lambda: b.network.refused == {("a", UNDELIVERABLE): 1})
    assert [each.levelname for each in caplog.records if UNDELIVERABLE in each.message] == ["INFO"]


async def test_an_older_connection_of_a_lane_is_not_read_any_more() -> None:
    a, b = Station("a"), Station("b")
    async with b.serving():
        b.network.know({"a": "127.0.0.1:1"})
        b.network.join(CLUSTER)
        async with connected(b) as older, connected(b) as newer:
            assert (await older.shake(a.handshake("b"))).refusal == ""
            # What the older one sends before the newer is answered may come, nothing after that.
            assert (await newer.shake(a.handshake("b"))).refusal == ""
            older.writer.write(encode_frame([("s", message(a, b, 1))]))
            assert await older.cut_off()
            newer.writer.write(encode_frame([("s", message(a, b, 2))]))
            assert await b.next() == ("s", message(a, b, 2))
            assert b.received.empty()


async def test_frames_may_come_in_any_pieces() -> None:
    a, b = Station("a"), Station("b")
    sent = [entries(a, b, index, size) for index, size in enumerate((0, 1, 70_000, 3, 300_000), 1)]
    content = b"".join(encode_frame([("s", each)]) for each in sent)
    async with b.serving():
        b.network.know({"a": "127.0.0.1:1"})
        b.network.join(CLUSTER)
        async with connected(b) as dialer:
            await dialer.shake(a.handshake("b"))
            pieces = [*(content[at : at + 1] for at in range(300)), content[300:65_000]]
            for piece in (*pieces, content[65_000:]):
                dialer.writer.write(piece)
                await asyncio.sleep(0)
            assert [(await b.next())[1] for _ in sent] == sent


async def test_connections_are_encrypted_with_the_certificates_of_both_nodes(
    tmp_path: Path,
) -> None:
    make_authority(tmp_path)
    for node in ("a", "b"):
        sign(tmp_path, node, [node])
    a, b = (Station(node, tls=certificates_of(tmp_path, node)) for node in ("a", "b"))
    async with joined(a, b):
        a.network.send("s", [message(a, b, 1), entries(a, b, 1, 200_000)])
        assert {(await b.next())[1] for _ in range(2)} == {
            message(a, b, 1),
            entries(a, b, 1, 200_000),
        }
        async with connected(b) as plain:
            plain.writer.write(encode_opening("control", encode_handshake(a.handshake("b"))))
            with pytest.raises(
                (asyncio.IncompleteReadError, ConnectionResetError, MalformedMessageError)
            ):
                await plain.answer()


def test_tls_stands_though_its_first_bytes_came_before_the_connection_was_looked_at(
    tmp_path: Path,
) -> None:
    make_authority(tmp_path)
    for node in ("a", "b"):
        sign(tmp_path, node, [node])

    async def shake_hands() -> str | None:
        b = Station("b", tls=certificates_of(tmp_path, "b"))
        async with b.serving():
            # The loop of this test, which is the node's, stands still until they are there.
            plain = socket.create_connection(("127.0.0.1", b.network.port))
            plain.setblocking(False)
            outgoing = certificates_of(tmp_path, "a").peers().outgoing
            with outgoing.wrap_socket(
                plain, server_hostname="b", do_handshake_on_connect=False
            ) as encrypted:
                with pytest.raises(ssl.SSLWantReadError):
                    encrypted.do_handshake()
                encrypted.settimeout(10)
                await asyncio.to_thread(encrypted.do_handshake)
                return encrypted.version()

    # As a node does.
    assert uvloop.run(shake_hands()) == "TLSv1.3"


async def test_a_node_with_the_certificate_of_another_one_is_refused(tmp_path: Path) -> None:
    make_authority(tmp_path)
    for node in ("a", "b"):
        sign(tmp_path, node, [node, "127.0.0.1"])
    certificates = certificates_of(tmp_path, "a")
    a, b = Station("a", tls=certificates), Station("b", tls=certificates)
    async with pair(a, b):
        for station in (a, b):
            station.network.join(CLUSTER)
        with pytest.raises(IntroductionRefusedError, match="b: "):
            await a.network.introduce("b", a.introduction)
        with pytest.raises(IntroductionRefusedError, match=OTHER_CERTIFICATE):
            await b.network.introduce("a", b.introduction)
        async with connected(a, certificates.peers().outgoing) as dialer:
            answer = await dialer.shake(b.handshake("a"))
        assert answer.refusal == OTHER_CERTIFICATE
        assert not any(link.stands for s in (a, b) for link in s.network.links.values())


async def test_a_caller_whose_certificate_names_nobody_is_no_node(tmp_path: Path) -> None:
    make_authority(tmp_path)
    sign(tmp_path, "a", [])
    sign(tmp_path, "b", ["b"])
    a, b = (Station(node, tls=certificates_of(tmp_path, node)) for node in ("a", "b"))
    async with pair(a, b):
        with pytest.raises(IntroductionRefusedError, match=OTHER_CERTIFICATE):
            await a.network.introduce("b", a.introduction)


async def test_an_authority_of_clients_is_accepted_beside_that_of_nodes(tmp_path: Path) -> None:
    for directory, name in ((tmp_path, "b"), (tmp_path, "a"), (tmp_path / "clients", "c")):
        if not (directory / "ca.pem").exists():
            make_authority(directory)
        sign(directory, name, [name])
    ca = tmp_path / "ca.pem"
    files = TlsSection(
        cert_file=tmp_path / "b.pem",
        key_file=tmp_path / "b.key",
        ca_file=ca,
        client_ca_file=tmp_path / "clients" / "ca.pem",
        require_client_cert=True,
    )
    a, b = (
        Station("a", tls=certificates_of(tmp_path, "a")),
        Station("b", tls=Certificates(files, "b")),
    )
    async with pair(a, b):
        assert await a.network.introduce("b", a.introduction) == b.introduction
        client = Tls(ca=ca, cert=tmp_path / "clients" / "c.pem", key=tmp_path / "clients" / "c.key")
        async with Channel(b.address, context=client.context(), server_name="b") as channel:
            content = encode_introduction(a.introduction, token_hash(a.token), 1)
            with pytest.raises(CallError) as failed:
                await ask(channel, content, 10)
        # It gets in, and is no node.
        assert failed.value.details() == OTHER_CERTIFICATE


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("foreign", FOREIGN_CERTIFICATE),
        ("other", OTHER_NAME),
        ("client", CLIENT_CERTIFICATE),
        ("self-signed", "its certificate is self-signed; let an authority sign it there"),
        ("ended", "its certificate has ended; replace it there"),
    ],
)
async def test_a_node_whose_certificate_is_not_accepted_is_named(
    tmp_path: Path, kind: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    own, made = tmp_path / "own", tmp_path / "made"
    for directory in (own, made):
        make_authority(directory)
    sign(own, "a", ["a"])
    signed = made if kind == "foreign" else own
    if kind == "ended":
        monkeypatch.setattr(authority, "timedelta", lambda **_: timedelta(seconds=0))
        monkeypatch.setattr(certified, "untimely", lambda _: None)
    sign(signed, "b", ["c" if kind == "other" else "b"], serves=kind != "client")
    if kind == "self-signed":
        self_signed(own, "b")
    a, b = (
        Station("a", tls=certificates_of(own, "a")),
        Station("b", tls=certificates_of(signed, "b")),
    )
    async with pair(a, b):
        a.network.join(CLUSTER)
        await until(lambda: a.network.refused["b", said] > 0)


async def test_a_client_of_the_same_authority_cannot_pass_as_a_node(tmp_path: Path) -> None:
    make_authority(tmp_path)
    sign(tmp_path, "b", ["b"])
    sign(tmp_path, "a", ["a"], serves=False)
    a, b = (Station(node, tls=certificates_of(tmp_path, node)) for node in ("a", "b"))
    async with pair(a, b):
        b.network.join(CLUSTER)
        with pytest.raises(IntroductionRefusedError, match="was issued for a client"):
            await a.network.introduce("b", a.introduction)
        async with connected(b, certificates_of(tmp_path, "a").peers().outgoing) as dialer:
            answer = await dialer.shake(a.handshake("b"))
        assert answer.refusal == CLIENT_CERTIFICATE
    assert b.network.refused["a", CLIENT_CERTIFICATE] >= 2


async def test_a_client_with_the_name_of_a_node_is_none(tmp_path: Path) -> None:
    make_authority(tmp_path)
    for node in ("a", "b"):
        sign(tmp_path, node, [node])
    sign(tmp_path, "client", ["a"], serves=False)
    a, b = (Station(node, tls=certificates_of(tmp_path, node)) for node in ("a", "b"))
    async with pair(a, b):
        assert b.network.is_certified((tmp_path / "a.pem").read_bytes())
        assert not b.network.is_certified((tmp_path / "client.pem").read_bytes())
        # Nor is a node of whom nobody knows.
        sign(tmp_path, "c", ["c"])
        assert not b.network.is_certified((tmp_path / "c.pem").read_bytes())


async def test_strangers_that_begin_no_tls_are_bounded_as_others_are(tmp_path: Path) -> None:
    make_authority(tmp_path)
    for node in ("a", "b"):
        sign(tmp_path, node, [node])
    a, b = (Station(node, tls=certificates_of(tmp_path, node)) for node in ("a", "b"))
    async with pair(a, b), AsyncExitStack() as stack:
        b.network.join(CLUSTER)
        strangers = [await stack.enter_async_context(connected(b)) for _ in range(200)]
        assert await strangers[0].cut_off()
        certificates = certificates_of(tmp_path, "a").peers().outgoing
        async with connected(b, certificates) as dialer:
            assert (await dialer.shake(a.handshake("b"))).refusal == ""
        strangers[-1].writer.write(b"GET / HTTP/1.1\r\n\r\n")
        assert await strangers[-1].cut_off()
        await until(lambda: b.network.refused[STRANGER, NO_TLS] > 0)


async def test_a_node_that_stops_leaves_no_connection_on_its_way_to_tls(tmp_path: Path) -> None:
    make_authority(tmp_path)
    sign(tmp_path, "b", ["b"])
    b = Station("b", tls=certificates_of(tmp_path, "b"))
    async with b.serving(), connected(b) as stalling:
        stalling.writer.write(b"\x16\x03\x01")
        await until(lambda: len(b.network._incoming.unknown) == 1)
        [encrypting] = b.network._incoming.encrypting
        await b.network.stop()
        assert encrypting.done()


async def test_a_node_that_stops_leaves_no_connection_that_it_is_accepting() -> None:
    for turns in range(5):
        b = Station("b")
        async with b.serving():
            with socket.create_connection(("127.0.0.1", b.network._incoming.port)):
                for _ in range(turns):
                    await asyncio.sleep(0)
                await b.network.stop()
            # A transport that is left open warns when it is collected.
            gc.collect()


async def test_a_stranger_that_stalls_within_tls_is_cut_off(tmp_path: Path) -> None:
    make_authority(tmp_path)
    sign(tmp_path, "b", ["b"])
    b = Station("b", limits=HURRIED, tls=certificates_of(tmp_path, "b"))
    async with b.serving(), connected(b) as stalling:
        stalling.writer.write(b"\x16\x03\x01")
        assert await stalling.cut_off()
        await b.network.stop()


async def test_a_node_whose_later_start_is_known_is_refused_and_hears_of_it() -> None:
    a, b = Station("a"), Station("b")
    a.start, b.newest = Start(3, 7), Start(4, 8)
    async with pair(a, b):
        for station in (a, b):
            station.network.join(CLUSTER)
        await until(lambda: "b" in a.outdated_by)
        assert not any(link.stands for s in (a, b) for link in s.network.links.values())
        assert b.network.refused["a", OLDER_DIRECTORY]
        assert not b.outdated_by
        a.start = Start(5, 9)
        await until(lambda: all(link.stands for s in (a, b) for link in s.network.links.values()))
