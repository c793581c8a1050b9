"""What a caller may hold of a server, and what becomes of what it holds too long."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import grpc
import grpc.aio
import pytest
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.wrappers_pb2 import StringValue
from google.rpc import error_details_pb2, status_pb2
from quorate.config.sections import EngineName, LimitsSection, TlsSection
from quorate.plugin import Caller, keys
from quorate.plugin.access import Open, Rights
from quorate.plugin.advanced import Grant
from quorate.rpc import callers
from quorate.rpc.connections import address_of
from quorate.rpc.limits import WATCH, CallLimits, Room
from quorate.rpc.methods import Behaviour
from quorate.rpc.server import RpcServer
from quorate.rpc.status import DETAILS_KEY, detail
from quorate.shards.refusals import ExhaustedError, SlowReaderError
from quorate.shards.routing.quotas import Quotas
from quorate.shards.shard.capacity import FairShare
from quorate.shards.timing import end
from quorate.v1.quota_pb2 import Quota

LARGE = "x" * 3_000_000


class Service:
    """Waits for ever at `wait`, answers a lot at `much`, and echoes the rest."""

    def __init__(self) -> None:
        self.waiting = 0
        self.ended = 0

    async def unary_unary(self, request: StringValue, context: Any) -> StringValue:
        await self._wait(request)
        return StringValue(value=LARGE) if request.value == "much" else request

    async def unary_stream(self, request: StringValue, context: Any) -> AsyncIterator[StringValue]:
        await self._wait(request)
        try:
            while request.value == "much":
                yield StringValue(value=LARGE)
        finally:
            self.ended += 1
        yield request

    async def stream_unary(self, requests: AsyncIterator[StringValue], context: Any) -> StringValue:
        return await anext(aiter(requests))

    async def stream_stream(
        self, requests: AsyncIterator[StringValue], context: Any
    ) -> AsyncIterator[StringValue]:
        async for each in requests:
            yield each

    async def _wait(self, request: StringValue) -> None:
        if request.value == "wait":
            self.waiting += 1
            try:
                await asyncio.Event().wait()
            finally:
                self.waiting -= 1


class Site:
    """A server, and channels to it."""

    def __init__(self, port: int, limits: CallLimits, service: Service) -> None:
        self.port = port
        self.limits = limits
        self.service = service
        self._channels: list[grpc.aio.Channel] = []

    def channel(self) -> grpc.aio.Channel:
        """Open a connection of its own."""
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.max_receive_message_length", -1)]
        channel = grpc.aio.insecure_channel(f"127.0.0.1:{self.port}", options=options)
        self._channels.append(channel)
        return channel

    def call(self, text: str, kind: str = "unary_unary", channel: Any = None) -> Any:
        method = getattr(channel or self.channel(), kind)(
            f"/limited.Calls/{kind}", StringValue.SerializeToString, StringValue.FromString
        )
        return method(StringValue(value=text), timeout=20)

    async def close(self) -> None:
        for channel in self._channels:
            await channel.close(None)


Serve = Callable[..., Any]


def by_nobody(_: str, serve: Behaviour) -> Behaviour:
    """Let each call have a caller who has proved nothing."""

    async def served(request: Any, context: Any) -> Any:
        callers.begin(callers.NOBODY)
        return await serve(request, context)

    return served


@pytest.fixture
def serve(four_kinds: Callable[[str], ServiceDescriptor]) -> Serve:
    @asynccontextmanager
    async def served(engine: EngineName = "http2", **limits: int) -> AsyncIterator[Site]:
        section = LimitsSection.model_validate(limits)
        service = Service()
        bounds = CallLimits(section, ("exempt.Service",), asyncio.get_running_loop())
        server = RpcServer(section, outermost=[by_nobody], bounds=bounds, engine=engine)
        server.add(four_kinds("limited.Calls"), service)
        port = server.bind("127.0.0.1", 0, TlsSection())
        await server.start()
        site = Site(port, bounds, service)
        try:
            yield site
        finally:
            await site.close()
            await server.stop(0)

    return served


async def until(true: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not true():
            await asyncio.sleep(0.01)


async def refusal(call: Awaitable[object]) -> status_pb2.Status:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    assert raised.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED, raised.value
    metadata: Any = raised.value.trailing_metadata()
    return status_pb2.Status.FromString(dict(metadata)[DETAILS_KEY])


def test_one_caller_gets_half_and_two_a_third_each() -> None:
    share = FairShare("things", 12, "limits.things")

    def taken_by(who: str) -> int:
        taken = 0
        while True:
            try:
                share.take(who)
            except ExhaustedError:
                return taken
            taken += 1

    assert taken_by("a") == 6
    assert taken_by("b") == 3
    share.give("a", 6)
    share.give("b", 3)
    for _ in range(4):
        share.take("a")
        share.take("b")
    assert (taken_by("a"), taken_by("b"), taken_by("c")) == (0, 0, 2)


def test_who_has_nothing_gets_what_there_is() -> None:
    share = FairShare("bytes", 10, "limits.bytes")
    share.take("a", 8)
    with pytest.raises(
        ExhaustedError, match=r"2 are free.*limits\.bytes|limits\.bytes.*2 are free"
    ):
        share.take("a", 1)
    share.take("b", 2)
    with pytest.raises(ExhaustedError):
        share.take("c", 1)
    assert share.refused == 2


def test_nothing_is_always_there_and_is_given_back() -> None:
    share = FairShare("bytes", 10, "limits.bytes")
    share.take("a", 0)
    share.give("a", 0)
    share.take("b", 10)
    share.take("a", 0)
    share.charge("a", 0)
    assert share.held == {"b": 10}


def test_what_is_given_back_twice_is_a_bug_that_ends_no_call(
    caplog: pytest.LogCaptureFixture,
) -> None:
    share = FairShare("bytes", 10, "limits.bytes")
    share.take("a", 3)
    share.give("a", 4)
    share.give("b")
    assert (share.total, share.held, share.refused) == (0, {}, 0)
    assert "a gives back 4 bytes and had 3" in caplog.text
    assert "b gives back 1 bytes and had 0" in caplog.text


async def test_empty_requests_are_served_where_bytes_are_bounded(serve: Serve) -> None:
    async with serve(inflight_bytes=20 << 20) as site:
        channel = site.channel()
        answers = await asyncio.gather(*(site.call("", channel=channel) for _ in range(20)))
        assert [each.value for each in answers] == [""] * 20
        assert site.limits.shares["inflight_bytes"].total == 0


async def test_calls_beyond_the_share_are_refused_by_name_and_may_come_again(serve: Serve) -> None:
    async with serve(open_calls=4) as site:
        channel = site.channel()
        waiting = [site.call("wait", channel=channel) for _ in range(2)]
        await until(lambda: site.service.waiting == 2)

        status = await refusal(site.call("hello", channel=channel))

        info = detail(status, error_details_pb2.ErrorInfo)
        assert info.metadata["quota"] == "limits.open_calls"
        assert info.metadata["retry"] == "safe"
        assert detail(status, error_details_pb2.RetryInfo).retry_delay.ToMilliseconds() > 0
        assert "127.0.0.1 has 2 of the 4 open calls" in status.message
        for call in waiting:
            call.cancel()
        await until(lambda: not site.service.waiting)
        await until(lambda: not site.limits.shares["open_calls"].total)
        assert (await site.call("hello", channel=channel)).value == "hello"


@pytest.mark.parametrize("engine", ["http2", "grpcio"])
@pytest.mark.parametrize("kind", ["unary_unary", "unary_stream"])
async def test_everything_is_given_back_at_the_end(serve: Serve, kind: str, engine: str) -> None:
    async with serve(engine, connections=0, open_calls=100, inflight_bytes=20 << 20) as site:
        call = site.call("hello", kind)
        if kind == "unary_unary":
            await call
        else:
            assert [each.value async for each in call] == ["hello"]

        await until(lambda: not any(each.total for each in site.limits.shares.values()))


@pytest.mark.parametrize("engine", ["http2", "grpcio"])
async def test_answers_that_are_not_sent_count_until_they_are_and_are_dropped(
    serve: Serve, engine: str
) -> None:
    async with serve(engine, inflight_bytes=20 << 20, slow_reader_s=1) as site:
        # A client of HTTP/2 that opens no window for what it asks.
        stubborn = await _stubborn(site.port, b"\x0a\x04much", 3)
        share = site.limits.shares["inflight_bytes"]
        await until(lambda: share.total > 3 * len(LARGE))

        await until(lambda: not share.total)

        assert site.limits.slow_readers == 3
        stubborn.close()
        assert (await site.call("hello")).value == "hello"


async def test_a_request_counts_from_its_beginning(serve: Serve) -> None:
    request = bytes(11 << 20)
    async with serve(inflight_bytes=40 << 20) as site:
        share = site.limits.shares["inflight_bytes"]
        half = await _stubborn(site.port, request, 1, whole=False)
        await until(lambda: share.total == len(request))
        # Another one would have its address hold more than it leaves for others.
        with pytest.raises(grpc.aio.AioRpcError) as failed:
            await site.call(request.decode())
        found = failed.value
        assert found.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "127.0.0.1 has" in str(found.details())
        half.close()
        await until(lambda: not share.total)


async def test_a_request_that_does_not_come_gives_its_room_to_others(serve: Serve) -> None:
    async with serve(inflight_bytes=17 << 20) as site:
        share, connections = site.limits.shares["inflight_bytes"], site.limits.connections
        half = await _stubborn(site.port, bytes(4 << 20), 1, whole=False)
        await until(lambda: share.total == 4 << 20)

        refused = 0
        while not connections.stalled:
            with suppress(grpc.aio.AioRpcError):
                await site.call("x" * (6 << 20))
                break
            refused += 1
            await asyncio.sleep(0.1)

        assert refused
        assert connections.stalled == 1
        await site.call("x" * (6 << 20))
        half.close()


async def test_a_stream_whose_client_reads_nothing_is_ended(serve: Serve) -> None:
    async with serve(slow_reader_s=1) as site:
        call = site.call("much", "unary_stream")
        await call.read()

        await until(lambda: site.service.ended == 1)

        assert site.limits.slow_readers == 1
        with pytest.raises(grpc.aio.AioRpcError):
            await _read_all(call)


async def test_what_streams_write_counts_until_it_is_taken(serve: Serve) -> None:
    async with serve(inflight_bytes=17 << 20) as site:
        share = site.limits.shares["inflight_bytes"]
        calls = [site.call("much", "unary_stream") for _ in range(8)]

        # Those that are too many are refused, or ended although nothing else bounds their time.
        await until(lambda: share.refused + site.limits.slow_readers >= 5)

        assert share.total <= share.most
        for call in calls:
            call.cancel()
        await until(lambda: not share.total)


async def test_an_address_gets_half_of_the_connections(serve: Serve) -> None:
    async with serve(connections=6) as site:
        channels = [site.channel() for _ in range(3)]
        for channel in channels:
            await site.call("hello", channel=channel)
        await until(lambda: site.limits.shares["connections"].total == 3)

        excess = socket.create_connection(("127.0.0.1", site.port))
        excess.setblocking(False)
        loop = asyncio.get_running_loop()
        async with asyncio.timeout(20):
            while await loop.sock_recv(excess, 1_000):
                pass

        excess.close()
        assert site.limits.connections.ended == {"share": 1, "idle": 0}
        for channel in channels:
            await site.call("hello", channel=channel)


async def test_a_connection_of_a_node_is_not_counted(serve: Serve) -> None:
    async with serve(connections=2) as site:
        connections = site.limits.connections
        of_node = socket.create_connection(("127.0.0.1", site.port))
        await until(lambda: len(connections) == 1)
        connections.trust("ipv4:{}:{}".format(*of_node.getsockname()))
        other = socket.create_connection(("127.0.0.1", site.port))
        await until(lambda: len(connections) == 2 and site.limits.shares["connections"].total == 1)

        assert connections.ended == {"share": 0, "idle": 0}
        of_node.close()
        other.close()
        await until(lambda: not len(connections))
        assert site.limits.shares["connections"].total == 0


async def test_what_has_no_whole_request_is_closed(serve: Serve) -> None:
    async with serve(idle_connection_s=1) as site:
        half = await _stubborn(site.port, b"\x0a\x05hello", 1, whole=False)
        waiting = site.call("wait")
        await until(lambda: site.service.waiting == 1)
        loop = asyncio.get_running_loop()

        async with asyncio.timeout(20):
            while await loop.sock_recv(half, 1_000):
                pass

        half.close()
        assert site.limits.connections.ended["idle"] == 1
        # Whoever waits for an answer is not idle.
        assert site.service.waiting == 1
        waiting.cancel()


def test_the_address_of_a_connection_is_read_from_its_name() -> None:
    assert address_of("ipv4:10.0.0.1:5") == "10.0.0.1"
    assert address_of("ipv6:%5B::1%5D:5") == "::1"
    assert address_of("unix:/a:b") == "unix:/a:b"


async def _read_all(call: Any) -> None:
    while await call.read():
        pass


def _frame(kind: int, flags: int, stream: int, content: bytes) -> bytes:
    return (
        len(content).to_bytes(3, "big") + bytes((kind, flags)) + stream.to_bytes(4, "big") + content
    )


def _header(name: str, value: str) -> bytes:
    return b"\0" + b"".join(bytes((len(each),)) + each.encode() for each in (name, value))


async def _stubborn(port: int, request: bytes, calls: int, *, whole: bool = True) -> socket.socket:
    """Make calls over a connection that takes nothing of their answers, or leave them half sent."""
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setblocking(False)
    loop = asyncio.get_running_loop()
    # No window for what is sent back.
    frames = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", _frame(4, 0, 0, b"\0\4\0\0\0\0")]
    headers = b"".join(
        _header(*each)
        for each in (
            (":method", "POST"),
            (":scheme", "http"),
            (":path", "/limited.Calls/unary_unary"),
            (":authority", "localhost"),
            ("content-type", "application/grpc"),
            ("te", "trailers"),
        )
    )
    message = b"\0" + len(request).to_bytes(4, "big") + request
    for number in range(calls):
        frames.append(_frame(1, 4, 2 * number + 1, headers))
        frames.append(
            _frame(0, 1, 2 * number + 1, message)
            if whole
            else _frame(0, 0, 2 * number + 1, message[:6])
        )
    await loop.sock_sendall(connection, b"".join(frames))
    return connection


class Tenants(Open):
    """Knows callers by the tenant that all of their rights are in, after the slash."""

    enabled = True

    def rights(self, name: str) -> Rights:
        _, _, tenant = name.partition("/")
        grants = (
            Grant(right="read", domain="kv", tenant=tenant),
            Grant(right="write", domain="mqtt", tenant=tenant),
        )
        return Rights(name, grants)


@dataclass
class Bounded:
    """The watches that a server would let through."""

    limits: CallLimits
    open: list[asyncio.Task[Any]] = field(default_factory=list)

    async def watch(self, name: str, port: int) -> str:
        """Open a watch that stays open; return the quota that it is refused for."""
        refused: list[str] = []

        async def stay(request: Any, context: Any) -> None:
            refused.append("")
            await asyncio.Event().wait()

        async def abort(code: object, message: str, details: Any) -> None:
            status = status_pb2.Status.FromString(details[0][1])
            info = detail(status, error_details_pb2.ErrorInfo)
            assert info is not None
            refused.append(info.metadata["quota"])

        context = SimpleNamespace(
            peer=lambda: f"ipv4:10.0.0.1:{port}",
            abort=abort,
            cancelled=lambda: False,
            done=lambda: False,
        )
        served = self.limits.around(WATCH, stay)

        async def call() -> None:
            callers.begin(Caller(name=name))
            await served(None, context)

        peer = context.peer()
        if peer not in self.limits.connections:
            self.limits.connections.opened(peer, lambda: None)
        self.open.append(asyncio.ensure_future(call()))
        await until(lambda: bool(refused))
        return refused[0]


@pytest.fixture
async def tenants() -> AsyncIterator[Callable[..., Bounded]]:
    made: list[Bounded] = []

    def bounded(**quota: int) -> Bounded:
        loop = asyncio.get_running_loop()
        quotas = Quotas(loop.time)
        row = Quota(kind="tenant", name="acme", **quota)
        quotas.put("tenant.quotas", keys.pack(row.kind, row.name), row.SerializeToString())
        made.append(Bounded(CallLimits(LimitsSection(), (), loop, quotas, Tenants())))
        return made[-1]

    yield bounded
    for each in made:
        await end(*each.open)
        await each.limits.stop()


async def test_watches_count_for_the_tenant_that_all_rights_are_in(
    tenants: Callable[..., Bounded],
) -> None:
    acme = tenants(watches=2)

    assert [await acme.watch(f"{each}/acme", 1) for each in "abc"] == ["", "", _WATCHES_OF_ACME]
    assert await acme.watch("b/bolt", 1) == ""
    assert await acme.watch("nowhere", 1) == ""
    await end(acme.open[0])
    assert await acme.watch("c/acme", 1) == ""


async def test_connections_count_for_the_tenant_that_all_rights_are_in(
    tenants: Callable[..., Bounded],
) -> None:
    acme = tenants(connections=2)

    found = [await acme.watch(f"{port}/acme", port) for port in (1, 2, 2, 3)]
    assert found == ["", "", "", "tenant/acme/connections"]
    assert await acme.watch("d/bolt", 3) == ""


_WATCHES_OF_ACME = "tenant/acme/watches"


@pytest.fixture
async def room() -> Room:
    return Room(FairShare("bytes", 8, "limits.inflight_bytes"), asyncio.get_running_loop())


async def test_who_has_more_than_it_leaves_waits_and_others_do_not(room: Room) -> None:
    room.share.charge("ada", 5)
    waiting = asyncio.create_task(room.wait("ada", None))
    await asyncio.sleep(0)

    assert not room.has("ada")
    assert room.has("eve")
    await room.wait("eve", 0.0)
    assert not waiting.done()
    room.give("ada", 2)
    await waiting


async def test_nobody_gets_room_where_there_is_none(room: Room) -> None:
    room.share.charge("ada", 8)

    with pytest.raises(TimeoutError):
        await room.wait("eve", 0.01)


async def test_a_woken_one_that_takes_nothing_leaves_nobody_waiting(room: Room) -> None:
    """Far more wait than are woken at a time."""
    room.share.charge("ada", 8)
    waiting = [asyncio.create_task(room.wait(f"c{number}", 20)) for number in range(50)]
    await asyncio.sleep(0)
    room.give("ada", 8)

    await asyncio.gather(*waiting)


async def test_a_watch_waits_for_room_and_is_ended_where_none_comes() -> None:
    section = LimitsSection(inflight_bytes=32 << 20, slow_reader_s=1)
    limits = CallLimits(section, (), asyncio.get_running_loop())
    reading: list[Awaitable[None] | None] = []

    async def serve(request: Any, context: Any) -> None:
        reading.append(context.room())
        limits.shares["inflight_bytes"].charge("ada", 32 << 20)
        reading.append(context.room())
        assert reading[1] is not None
        with pytest.raises(SlowReaderError, match="there is no room"):
            await reading[1]

    callers.begin(Caller(name="ada"))
    context: Any = SimpleNamespace(peer=lambda: "ipv4:10.0.0.1:1")
    await limits.around(WATCH, serve)(None, context)

    assert reading[0] is None
