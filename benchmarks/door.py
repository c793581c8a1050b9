"""What a call costs at the door: HTTP/2 of our own beside grpcio, at both ends.

A server in a process of its own answers what it is sent, and one process asks: each server by each
client. `server_us` and `asker_us` are their processor times for a call, or for a message of a
stream.

python benchmarks/door.py [--seconds S] [--only SHAPES] [--tls] [--json]
"""

from __future__ import annotations

import asyncio
import multiprocessing
import ssl
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from itertools import product
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final, Literal

import grpc
import grpc.aio
import uvloop
from figures import Options, percentiles, report, tell
from nodes import beside
from quorate.cli.authority import make_authority, sign
from quorate.http2.grpc.channel import Channel
from quorate.http2.grpc.server import Server, ServerLimits
from quorate.http2.grpc.server_call import Method
from systems.system import Meter, Used

Engine = Literal["http2", "grpcio"]
ENGINES: Final[tuple[Engine, ...]] = ("http2", "grpcio")
ECHO: Final = "/door.Door/Echo"
STREAM: Final = "/door.Door/Stream"
#: Messages of a stream.
MESSAGES: Final = 100
_MESSAGE_BYTES: Final = 4 << 20
_OPTIONS: Final = [
    ("grpc.max_receive_message_length", _MESSAGE_BYTES),
    ("grpc.use_local_subchannel_pool", 1),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What is asked at a time."""

    size: int
    in_flight: int
    connections: int = 1
    streams: bool = False


SHAPES: Final = {
    "empty-1": Shape(size=0, in_flight=1),
    "empty-100": Shape(size=0, in_flight=100),
    "1KiB-100": Shape(size=1 << 10, in_flight=100),
    "1MiB-4": Shape(size=1 << 20, in_flight=4),
    "1000-connections": Shape(size=1 << 10, in_flight=1_000, connections=1_000),
    "streams-10": Shape(size=1 << 10, in_flight=10, streams=True),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """What a shape gave between two ends."""

    shape: str
    server: str
    client: str
    tls: bool
    per_s: float
    p50_ms: float
    p99_ms: float
    server_us: float
    asker_us: float


async def serve(engine: Engine, files: Path | None, ready: Connection) -> None:
    """Answer until the other end of the pipe is closed."""
    # grpcio stops a server that nobody keeps.
    port, _server = await (_serve_http2(files) if engine == "http2" else _serve_grpcio(files))
    ready.send(port)
    await asyncio.to_thread(_wait, ready)


async def _serve_http2(files: Path | None) -> tuple[int, object]:
    async def echo(request: bytes, _: object) -> bytes:
        return request

    async def stream(request: bytes, call: Any) -> None:
        for _ in range(MESSAGES):
            await call.write(request)

    methods = {ECHO: Method(serve=echo), STREAM: Method(serve=stream, answers_stream=True)}
    limits = ServerLimits(message_bytes=_MESSAGE_BYTES)
    server = Server(methods.get, limits, asyncio.get_running_loop())
    context = None
    if files is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(files / "node.pem", files / "node.key")
        context.set_alpn_protocols(["h2"])
    return await server.listen("127.0.0.1", 0, context), server


async def _serve_grpcio(files: Path | None) -> tuple[int, object]:
    async def echo(request: bytes, _: object) -> bytes:
        return request

    async def stream(request: bytes, _: object) -> AsyncIterator[bytes]:
        for _ in range(MESSAGES):
            yield request

    server = grpc.aio.server(options=_OPTIONS)
    handlers = {
        "Echo": grpc.unary_unary_rpc_method_handler(echo),
        "Stream": grpc.unary_stream_rpc_method_handler(stream),
    }
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("door.Door", handlers),))
    if files is None:
        port = server.add_insecure_port("127.0.0.1:0")
    else:
        pair = ((files / "node.key").read_bytes(), (files / "node.pem").read_bytes())
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair]))
    await server.start()
    return port, server


def _wait(ready: Connection) -> None:
    with suppress(EOFError):
        ready.recv()


def _run_server(engine: Engine, files: Path | None, ready: Connection) -> None:
    uvloop.run(serve(engine, files, ready))


def channel_to(client: Engine, port: int, files: Path | None) -> Any:
    """Return a channel with a connection of its own."""
    target = f"127.0.0.1:{port}"
    if client == "http2":
        context = None
        if files is not None:
            context = ssl.create_default_context(cafile=str(files / "ca.pem"))
            context.set_alpn_protocols(["h2"])
        return Channel(target, context=context)
    if files is None:
        return grpc.aio.insecure_channel(target, options=_OPTIONS)
    credentials = grpc.ssl_channel_credentials((files / "ca.pem").read_bytes())
    return grpc.aio.secure_channel(target, credentials, options=_OPTIONS)


async def ask(
    shape: Shape, channels: list[Any], seconds: float, server: int
) -> tuple[list[float], Used]:
    """Ask a process for a while, when both ends are warm; return how long calls took."""
    request = bytes(shape.size)
    took: list[float] = []

    def caller(channel: Any) -> Callable[[], Awaitable[object]]:
        if not shape.streams:
            call = channel.unary_unary(ECHO)
            return lambda: call(request, timeout=30)
        stream = channel.unary_stream(STREAM)

        async def read_all() -> None:
            async for _ in stream(request, timeout=30):
                pass

        return read_all

    async def go_on(operate: Callable[[], Awaitable[object]], end: float) -> None:
        while (now := time.perf_counter()) < end:
            await operate()
            took.append(time.perf_counter() - now)

    callers = [caller(each) for each in channels]

    async def run(seconds: float) -> None:
        end = time.perf_counter() + seconds
        at = (callers[number % len(callers)] for number in range(shape.in_flight))
        await asyncio.gather(*(go_on(each, end) for each in at))

    await run(seconds / 4)
    took.clear()
    meter = Meter([server])
    await run(seconds)
    return took, meter.read()


async def measure(
    name: str, server: Engine, client: Engine, files: Path | None, seconds: float
) -> Row:
    """Measure a shape between two ends."""
    shape = SHAPES[name]
    here, there = multiprocessing.get_context("spawn").Pipe()
    with beside(_run_server, server, files, there) as process, here:
        there.close()
        port = await asyncio.to_thread(here.recv)
        assert process.pid is not None
        async with AsyncExitStack() as stack:
            channels = [
                await stack.enter_async_context(channel_to(client, port, files))
                for _ in range(shape.connections)
            ]
            took, used = await ask(shape, channels, seconds, process.pid)
    count = len(took) * (MESSAGES if shape.streams else 1)
    p50_ms, p99_ms = percentiles(took)
    server_us, asker_us = used.each_us(count)
    return Row(
        shape=name,
        server=server,
        client=client,
        tls=files is not None,
        per_s=count / used.seconds,
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        server_us=server_us,
        asker_us=asker_us,
    )


def main() -> None:
    """Measure, and print."""
    parser = Options(__doc__, seconds=(3.0, "of each measurement"))
    parser.add_names("--only", [*SHAPES])
    parser.add_argument("--tls", action="store_true", help="measure with TLS as well")
    options = parser.parse_args()
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as directory:
        files = Path(directory)
        make_authority(files)
        sign(files, "node", ["127.0.0.1"])
        ends = product((None, files) if options.tls else (None,), options.only, ENGINES, ENGINES)
        for tls, name, server, client in ends:
            tell(f"{name}: {client} asks {server}")
            rows.append(uvloop.run(measure(name, server, client, tls, options.seconds)))
    report(rows, as_json=options.json)


if __name__ == "__main__":
    main()
