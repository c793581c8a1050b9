from __future__ import annotations

import asyncio
import logging
import pickle
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, cast

import grpc.aio
import pytest
from quorate.consensus.formation import FormationRefusedError, Introduction
from quorate.consensus.messages import (
    Append,
    Entry,
    EntryKind,
    Heartbeat,
    Message,
    Peer,
    TimeoutNow,
)
from quorate.consensus.peer.network import (
    NOT_FORMED,
    OTHER_CLUSTER,
    OTHER_NODE,
    OTHER_REPLICA,
    OTHER_TARGET,
    OTHER_TOKEN,
    OVERSIZED,
    UNDELIVERABLE,
    UNKNOWN_NODE,
    IntroductionRefusedError,
    PeerNetwork,
    token_hash,
)
from quorate.consensus.peer.refused import STRANGER
from quorate.consensus.peer.streams import (
    Call,
    StreamLimits,
    open_channel,
    open_stream,
    read,
    server_options,
)
from quorate.consensus.peer.wire import (
    Answer,
    Handshake,
    decode_answer,
    decode_frame,
    decode_handshake,
    encode_answer,
    encode_frame,
    encode_handshake,
)

LIMITS = StreamLimits(entry_bytes=1 << 20, bulk_queue_bytes=4 << 20, retry_max_s=0.1)
CLUSTER = b"the cluster"
REPLICAS = {"a": 1, "b": 2}


class Station:
    """A node whose replicas only write down what comes."""

    def __init__(self, node: str, token: str = "token", replica: int = 0) -> None:
        self.token = token
        self.me = Peer(node, replica or REPLICAS[node])
        self.received: asyncio.Queue[tuple[str, Message]] = asyncio.Queue()
        self.remade: asyncio.Queue[str] = asyncio.Queue()
        self.config_index = 1
        self.newest_config_index = 1
        self.introduced_by: list[Introduction] = []
        self.refuses_to_form = False
        self.network = PeerNetwork(
            self.me,
            token,
            deliver=self._deliver,
            remade=self.remade.put_nowait,
            admit=self._admits,
            config_index=lambda: self.config_index,
            introduced=self._introduced,
            rng=random.Random(1),
            limits=LIMITS,
        )
        self.address = ""

    def _deliver(self, shard: str, message: Message) -> bool:
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
        server = grpc.aio.server(options=server_options(LIMITS))
        self.address = f"127.0.0.1:{server.add_insecure_port(address)}"
        self.network.add_to_server(server)
        await server.start()
        try:
            yield
        finally:
            await server.stop(None)

    def handshake(self, target: str, cluster: bytes = CLUSTER) -> Handshake:
        return Handshake(self.me, cluster, token_hash(self.token), self.config_index, target)


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


@asynccontextmanager
async def stream_to(station: Station, lane: str = "control") -> AsyncIterator[Call[bytes, bytes]]:
    """A stream whose other end is this test."""
    channel = open_channel(station.address, LIMITS)
    call = open_stream(channel, "bulk" if lane == "bulk" else "control")
    try:
        yield call
    finally:
        call.cancel()
        await channel.close(None)


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


async def test_a_message_for_a_node_without_an_address_is_dropped() -> None:
    a, b = Station("a"), Station("b")
    a.network.send("s", [message(a, b, 1)])
    assert a.network.dropped == 1


class Silent:
    """A node that shakes hands on both lanes and then reads control alone."""

    def __init__(self, me: Peer) -> None:
        self.me = me
        self.connections: dict[str, str] = {}
        self.read: asyncio.Queue[bytes] = asyncio.Queue()
        self.reads_bulk = asyncio.Event()
        self.address = ""

    @asynccontextmanager
    async def serving(self, asked_by: Station) -> AsyncIterator[None]:
        async def serve(lane: str, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
            asker = decode_handshake(await read(context) or b"")
            self.connections[lane] = context.peer()
            mine = Handshake(self.me, asker.cluster, asker.token_hash, 1, "")
            await context.write(encode_answer(Answer(mine, "")))
            if lane == "Bulk":
                await self.reads_bulk.wait()
            while (content := await read(context)) is not None:
                self.read.put_nowait(content)

        async def control(_: object, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
            await serve("Control", context)

        async def bulk(_: object, context: grpc.aio.ServicerContext[bytes, bytes]) -> None:
            await serve("Bulk", context)

        server = grpc.aio.server(options=server_options(LIMITS))
        methods = {
            "Control": grpc.stream_stream_rpc_method_handler(control),
            "Bulk": grpc.stream_stream_rpc_method_handler(bulk),
        }
        server.add_generic_rpc_handlers(
            [grpc.method_handlers_generic_handler("quorate.v1.PeerService", methods)]
        )
        self.address = f"127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        await server.start()
        try:
            asked_by.network.know({"b": self.address})
            asked_by.network.join(CLUSTER)
            yield
        finally:
            await asked_by.network.stop()
            await server.stop(None)


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
            (envelope,) = decode_frame(await silent.read.get())
        assert envelope.heartbeat.commit == 7
        assert a.remade.empty()
        silent.reads_bulk.set()
        assert await a.made() == "b"
        assert bulk.connections == 1


async def test_the_lanes_share_no_connection() -> None:
    a, silent = Station("a"), Silent(Station("b").me)
    async with silent.serving(a):
        await until(lambda: len(silent.connections) == 2)
        assert silent.connections["Control"] != silent.connections["Bulk"]


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
            async with stream_to(b) as call:
                await call.write(encode_handshake(asker.handshake(target, cluster)))
                answer = decode_answer(await read(call) or b"")
                assert answer.refusal == reason
                assert answer.handshake.peer == b.me
                assert await read(call) is None
        assert b.network.refused["a", reason] == 2
        assert sum(reason in record.getMessage() for record in caplog.records) == 1
        await b.network.stop()


async def test_a_node_without_a_cluster_is_put_off_and_not_blamed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    a, b = Station("a"), Station("b")
    async with pair(a, b):
        async with stream_to(b) as call:
            await call.write(encode_handshake(a.handshake("b")))
            assert decode_answer(await read(call) or b"").refusal == NOT_FORMED
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
        async with stream_to(b) as call:
            await call.write(encode_handshake(Station("a").handshake("b")))
            assert decode_answer(await read(call) or b"").refusal == UNKNOWN_NODE
        assert b.network.refused[STRANGER, UNKNOWN_NODE] == 1


async def test_a_member_of_a_later_membership_is_let_in_by_an_older_one() -> None:
    b, replaced = Station("b"), Station("a", replica=99)
    replaced.config_index = 2
    async with b.serving():
        b.network.know({"a": "127.0.0.1:1"})
        b.network.join(CLUSTER)
        async with stream_to(b) as call:
            await call.write(encode_handshake(replaced.handshake("b")))
            assert decode_answer(await read(call) or b"").refusal == ""
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
        await until(lambda: a.network.refused["c", f"it refuses this node: {OTHER_TARGET}"] > 0)
        with pytest.raises(IntroductionRefusedError, match=f"c: {OTHER_NODE}, b"):
            await a.network.introduce("c", a.introduction)


GARBAGE = [b"\xff" * 40, pickle.dumps({"type": "append_entries", "term": 1}), b"\x12\x01\xff"]


@pytest.mark.parametrize("garbage", GARBAGE, ids=["bytes", "pickle", "envelope"])
@pytest.mark.parametrize("lane", ["control", "bulk"])
async def test_garbage_is_counted_and_logged_once_and_the_stream_goes_on(
    garbage: bytes, lane: str, caplog: pytest.LogCaptureFixture
) -> None:
    a, b = Station("a"), Station("b")
    async with b.serving():
        b.network.know({"a": "127.0.0.1:1"})
        b.network.join(CLUSTER)
        async with stream_to(b, lane) as call:
            await call.write(encode_handshake(a.handshake("b")))
            assert decode_answer(await read(call) or b"").refusal == ""
            for _ in range(3):
                await call.write(garbage)
            await call.write(encode_frame([("s", message(a, b, 1))]))
            assert await b.next() == ("s", message(a, b, 1))
        assert b.network.refused == {("a", "a frame that cannot be read"): 3}
        # gRPC's own poller may complain there about the loop of an earlier test.
        assert sum(each.name.startswith("quorate") for each in caplog.records) == 1
        await b.network.stop()


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


async def test_an_oversized_frame_is_refused_and_the_stream_goes_on() -> None:
    a, b = Station("a"), Station("b")
    async with b.serving():
        b.network.know({"a": "127.0.0.1:1"})
        b.network.join(CLUSTER)
        async with stream_to(b, "bulk") as call:
            await call.write(encode_handshake(a.handshake("b")))
            await read(call)
            await call.write(bytes(LIMITS.received_bytes + 1))
            await call.write(encode_frame([("s", message(a, b, 1))]))
            assert await b.next() == ("s", message(a, b, 1))
        assert b.network.refused == {("a", OVERSIZED): 1}
        await b.network.stop()


async def test_a_frame_of_any_size_breaks_no_more_than_its_stream() -> None:
    a, b = Station("a"), Station("b")
    async with joined(a, b):
        async with stream_to(b, "bulk") as call:
            await call.write(encode_handshake(a.handshake("b")))
            await read(call)
            await call.write(bytes(4 * LIMITS.received_bytes))
            with pytest.raises(grpc.aio.AioRpcError) as broken:
                await read(call)
            assert broken.value.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
        a.network.send("s", [message(a, b, 1)])
        assert await b.next() == ("s", message(a, b, 1))


@pytest.mark.parametrize("garbage", [*GARBAGE, b""], ids=["bytes", "pickle", "envelope", "nothing"])
async def test_a_stream_that_begins_with_garbage_is_closed(garbage: bytes) -> None:
    b = Station("b")
    async with b.serving():
        async with stream_to(b) as call:
            await call.write(garbage)
            assert await read(call) is None
        assert sum(b.network.refused.values()) == 1


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


async def test_an_older_stream_of_a_lane_is_not_read_any_more() -> None:
    a, b = Station("a"), Station("b")
    async with b.serving():
        b.network.know({"a": "127.0.0.1:1"})
        b.network.join(CLUSTER)
        async with stream_to(b) as older, stream_to(b) as newer:
            for call in (older, newer):
                await call.write(encode_handshake(a.handshake("b")))
                assert decode_answer(await read(call) or b"").refusal == ""
            await older.write(encode_frame([("s", message(a, b, 1))]))
            assert await read(older) is None
            await newer.write(encode_frame([("s", message(a, b, 2))]))
            assert await b.next() == ("s", message(a, b, 2))
        await b.network.stop()


class Stream:
    """The side of a stream that is served; `answering` runs while its answer is on its way."""

    def __init__(self, answering: Callable[[], Awaitable[None]]) -> None:
        self.frames: asyncio.Queue[bytes] = asyncio.Queue()
        self._answering = answering

    async def read(self) -> bytes:
        return await self.frames.get()

    async def write(self, _: bytes) -> None:
        await self._answering()


async def test_an_older_stream_is_not_read_while_the_newer_one_is_answered() -> None:
    a, b = Station("a"), Station("b")
    b.network.know({"a": "127.0.0.1:1"})
    b.network.join(CLUSTER)

    async def nothing() -> None: ...

    async def late_frame() -> None:
        older.frames.put_nowait(encode_frame([("s", message(a, b, 1))]))
        async with asyncio.timeout(10):
            while not older.frames.empty():
                await asyncio.sleep(0)

    older, newer = Stream(nothing), Stream(late_frame)
    running = []
    for stream in (older, newer):
        stream.frames.put_nowait(encode_handshake(a.handshake("b")))
        running.append(asyncio.create_task(b.network._serve("control", None, cast(Any, stream))))
        await until(stream.frames.empty)
    await until(running[0].done)
    assert b.received.empty()
    running[1].cancel()
    await b.network.stop()


async def test_introductions_are_exchanged_before_there_is_a_cluster() -> None:
    a, b = Station("a"), Station("b")
    async with pair(a, b):
        assert await a.network.introduce("b", a.introduction) == b.introduction
        assert b.introduced_by == [a.introduction]


async def test_an_introduction_with_another_token_is_refused() -> None:
    a, b = Station("a", token="other"), Station("b")
    async with pair(a, b):
        with pytest.raises(IntroductionRefusedError, match=f"b: {OTHER_TOKEN.replace('[', '.')}"):
            await a.network.introduce("b", a.introduction)
        assert b.introduced_by == []
        assert b.network.refused == {("a", OTHER_TOKEN): 1}


async def test_why_a_node_cannot_form_a_cluster_with_another_is_said() -> None:
    a, b = Station("a"), Station("b")
    b.refuses_to_form = True
    async with pair(a, b):
        with pytest.raises(IntroductionRefusedError, match="b: make the files equal"):
            await a.network.introduce("b", a.introduction)


async def test_a_node_that_does_not_answer_is_named() -> None:
    a = Station("a")
    a.network.know({"b": "127.0.0.1:1"})
    with pytest.raises(IntroductionRefusedError, match=r"^b: "):
        await a.network.introduce("b", a.introduction)
    await a.network.stop()


async def test_a_node_that_is_forgotten_gets_nothing_any_more() -> None:
    a, b = Station("a"), Station("b")
    async with joined(a, b):
        a.network.know({"a": a.address})
        assert a.network.links == {}
        a.network.send("s", [Message(a.me, b.me, 1, 1, TimeoutNow())])
        assert a.network.dropped == 1
