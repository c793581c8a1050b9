"""What clients must not send a server of gRPC: how it is answered, and what it costs."""

from __future__ import annotations

import asyncio
import ssl
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from quorate.cli.authority import make_authority, sign
from quorate.http2 import frames
from quorate.http2.errors import ErrorCode
from quorate.http2.grpc.messages import framed, framed_gzip
from quorate.http2.grpc.server import Server, ServerLimits
from quorate.http2.grpc.server_call import AbortError, Method, ServerCall
from quorate.http2.hpack import Decoder, plain_block

LIMITS = ServerLimits(message_bytes=1 << 20)
#: A message that unpacks to more than the bound.
BOMB = framed_gzip(bytes(2 << 20))


class Servicer:
    """Counts the calls that it serves, and reads a stream when it is told."""

    def __init__(self) -> None:
        self.served = 0
        self.read, self.waits, self.cancelled = (asyncio.Event() for _ in range(3))
        self.ended: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def echo(self, request: bytes, call: ServerCall) -> bytes:
        self.served += 1
        return request

    async def wait(self, request: bytes, call: ServerCall) -> bytes:
        self.waits.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()
        return b""

    async def drink(self, requests: ServerCall, call: ServerCall) -> bytes:
        self.served += 1
        await self.read.wait()
        try:
            async for _ in requests:
                pass
        except AbortError as error:
            self.ended.set_result(str(error))
            raise
        return b""


@pytest.fixture
async def servicer() -> Servicer:
    return Servicer()


@pytest.fixture
async def server(servicer: Servicer) -> AsyncIterator[Server]:
    methods = {
        "/t/echo": Method(serve=servicer.echo),
        "/t/wait": Method(serve=servicer.wait),
        "/t/drink": Method(serve=servicer.drink, takes_stream=True),
    }
    made = Server(methods.get, LIMITS, asyncio.get_running_loop())
    yield made
    await made.stop(0)


def call(path: str, *more: tuple[bytes, bytes], method: bytes = b"POST") -> bytes:
    """Return the frame that begins a call on the first stream."""
    fields = [
        (b":method", method),
        (b":scheme", b"http"),
        (b":path", path.encode()),
        (b"content-type", b"application/grpc"),
        *more,
    ]
    return frames.frame(frames.HEADERS, frames.END_HEADERS, 1, plain_block(fields))


def data(content: bytes, *, ends: bool = True) -> bytes:
    """Return frames of data."""
    most, found = 1 << 14, b""
    for at in range(0, len(content), most):
        last = ends and at + most >= len(content)
        found += frames.frame(
            frames.DATA, frames.END_STREAM if last else 0, 1, content[at : at + most]
        )
    return found


class Raw:
    """A client that sends any bytes, and reads frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self.writer = writer
        self._decoder = Decoder(dict, 4_096, 1 << 16)

    async def frame(self) -> tuple[int, int, bytes]:
        """Return kind, stream and content of the next frame."""
        async with asyncio.timeout(30):
            head = await self._reader.readexactly(9)
            high, low, kind, _, number = frames.HEAD.unpack(head)
            return kind, number, await self._reader.readexactly(high << 8 | low)

    async def status(self) -> int:
        """Return the status that the call ends with."""
        while True:
            kind, _, content = await self.frame()
            if kind == frames.HEADERS:
                fields = self._decoder.decode(content)
                if b"grpc-status" in fields:
                    return int(fields[b"grpc-status"])

    async def ending(self) -> int:
        """Return the code that the connection ends with."""
        while True:
            kind, _, content = await self.frame()
            if kind == frames.GOAWAY:
                return frames.goaway_in(content)[1]


@pytest.fixture
async def raw(server: Server) -> AsyncIterator[Raw]:
    port = await server.listen("127.0.0.1", 0)
    made = Raw(*await asyncio.open_connection("127.0.0.1", port))
    yield made
    made.writer.close()


BEGIN = frames.PREFACE + frames.settings([])


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (call("/t/none") + data(framed(b"")), 12),
        (call("/t/echo", (b"grpc-timeout", b"0n")) + data(framed(b"a")), 4),
        (call("/t/echo", (b"grpc-encoding", b"br")) + data(framed(b"a")), 12),
        (call("/t/echo") + data(b"\0\xff\xff\xff\xff" + b"a"), 8),
        (call("/t/echo") + data(b"\0\0\0\0\5" + b"a"), 13),
        (call("/t/echo") + data(b"\2\0\0\0\1a"), 13),
        (call("/t/echo") + data(BOMB), 13),
        (call("/t/echo", (b"grpc-encoding", b"gzip")) + data(BOMB), 8),
        (call("/t/echo", (b"grpc-encoding", b"gzip")) + data(BOMB[:5] + bytes(len(BOMB) - 5)), 13),
    ],
    ids=[
        "a path that nobody serves",
        "a deadline in the past",
        "an unknown encoding",
        "a length beyond the limit",
        "half a message",
        "an unknown flag",
        "compressed without an encoding",
        "a compressed bomb",
        "what is no gzip",
    ],
)
async def test_a_call_that_cannot_be_served_has_its_status(
    raw: Raw, servicer: Servicer, content: bytes, status: int
) -> None:
    raw.writer.write(BEGIN + content)
    assert await raw.status() == status
    assert servicer.served == 0


async def test_a_second_request_is_dropped_where_one_is_served(
    raw: Raw, servicer: Servicer
) -> None:
    raw.writer.write(BEGIN + call("/t/echo") + data(framed(b"a") * 2))
    assert await raw.status() == 0
    assert servicer.served == 1


async def test_nothing_behind_its_request_ends_a_call_that_is_served(
    raw: Raw, servicer: Servicer
) -> None:
    ping = frames.frame(frames.PING, 0, 0, b"all came")
    junk = data(b"\2\0\0\0\1a", ends=False)
    raw.writer.write(BEGIN + call("/t/wait") + data(framed(b"a"), ends=False) + junk + ping)
    kinds = set()
    while (frame := await raw.frame())[::2] != (frames.PING, b"all came"):
        kinds.add(frame[0])
    assert frames.HEADERS not in kinds
    assert servicer.waits.is_set()
    assert not servicer.cancelled.is_set()


async def test_compressed_messages_of_a_stream_wait_as_they_came(
    raw: Raw, servicer: Servicer
) -> None:
    bomb = framed_gzip(bytes(1 << 20))
    count = (1 << 19) // len(bomb)
    tracemalloc.start()
    try:
        begin = call("/t/drink", (b"grpc-encoding", b"gzip"))
        ping = frames.frame(frames.PING, 0, 0, b"all came")
        raw.writer.write(BEGIN + begin + data(bomb * count + BOMB) + ping)
        while (await raw.frame())[::2] != (frames.PING, b"all came"):
            pass
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count > 100
    assert most < 16 << 20
    servicer.read.set()
    assert await raw.status() == 8
    assert "exceeds" in await servicer.ended


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", ErrorCode.PROTOCOL_ERROR),
        (BEGIN + frames.frame(frames.PING, 0, 0, bytes(8)) * 3_000, ErrorCode.ENHANCE_YOUR_CALM),
        (BEGIN + frames.window_update(0, frames.LARGEST_WINDOW), ErrorCode.FLOW_CONTROL_ERROR),
    ],
    ids=["HTTP/1", "pings", "a window"],
)
async def test_a_connection_that_breaks_rules_ends_and_is_counted(
    raw: Raw,
    server: Server,
    content: bytes,
    code: ErrorCode,
    caplog: pytest.LogCaptureFixture,
) -> None:
    raw.writer.write(content)
    assert await raw.ending() == code
    assert server.faults == {code: 1}
    await server.stop(0)
    assert any(f"{code.name} 1; from ipv4:127.0.0.1 (1)" in line for line in caplog.messages)


async def test_a_fault_of_the_connection_cancels_its_calls_at_once(
    raw: Raw, servicer: Servicer
) -> None:
    raw.writer.write(BEGIN + call("/t/wait") + data(framed(b"")))
    await servicer.waits.wait()
    raw.writer.write(frames.window_update(0, 0))
    assert await raw.ending() == ErrorCode.PROTOCOL_ERROR
    async with asyncio.timeout(30):
        await servicer.cancelled.wait()


async def test_tls_without_alpn_is_closed_and_counted(server: Server, tmp_path: Path) -> None:
    make_authority(tmp_path)
    sign(tmp_path, "server", ["127.0.0.1"])
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "server.pem", tmp_path / "server.key")
    context.set_alpn_protocols(["h2"])
    port = await server.listen("127.0.0.1", 0, context)
    trusting = ssl.create_default_context(cafile=str(tmp_path / "ca.pem"))
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=trusting)
    async with asyncio.timeout(30):
        await reader.read()
    writer.close()
    assert server.faults == {ErrorCode.INADEQUATE_SECURITY: 1}
