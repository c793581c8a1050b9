"""Channels ask the interoperability server of grpc-go, case by case as its description has them.

Its messages are written and read here by the numbers of their fields.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Final

import pytest
from quorate.http2.connection import ConnectionLimits
from quorate.http2.grpc.call_errors import CallError
from quorate.http2.grpc.channel import Channel
from quorate.http2.grpc.codes import Code
from quorate.http2.grpc.link import ChannelLimits
from quorate.testing.ports import free_ports

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(shutil.which("go") is None, reason="the server is built with Go"),
]
_MODULE: Final = "google.golang.org/grpc/interop/server@latest"
_SERVICE: Final = "/grpc.testing.TestService/"
_S: Final = 60.0
_BUILD_S: Final = 240.0


def varint(value: int) -> bytes:
    """Return an integer as messages have it."""
    head = b""
    while value > 0x7F:
        head += bytes((value & 0x7F | 0x80,))
        value >>= 7
    return head + bytes((value,))


def number(field: int, value: int) -> bytes:
    """Return a field that is an integer."""
    return varint(field << 3) + varint(value)


def within(field: int, content: bytes) -> bytes:
    """Return a field that is a message, or bytes."""
    return varint(field << 3 | 2) + varint(len(content)) + content


def payload(field: int, size: int) -> bytes:
    """Return a payload of zeros."""
    return within(field, within(2, bytes(size)))


def wanted(*sizes: int, each_us: int = 0) -> bytes:
    """Return what asks for a stream of payloads."""
    return b"".join(within(2, number(1, size) + number(2, each_us)) for size in sizes)


def status(code: int, text: str) -> bytes:
    """Return what asks for a status."""
    return within(7, number(1, code) + within(2, text.encode()))


def size_in(answer: bytes) -> int:
    """Return the size of the payload of zeros that is all of an answer."""
    size = len(answer)
    while answer != payload(1, size):
        size -= 1
        assert size >= len(answer) - 16
    return size


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the server."""
    directory = tmp_path_factory.mktemp("go")

    async def build() -> str:
        process = await asyncio.create_subprocess_exec(
            *("env", f"GOBIN={directory}", "GOFLAGS=-mod=mod", "go", "install", _MODULE),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            async with asyncio.timeout(_BUILD_S):
                printed, _ = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            return "it takes too long"
        return printed.decode()

    said = asyncio.run(build())
    found = directory / "server"
    if not found.exists():
        pytest.skip(f"Go cannot fetch or build the server: {said[-300:]}")
    return found


@pytest.fixture
async def target(program: Path) -> AsyncIterator[str]:
    """Run the server."""
    [port] = free_ports(0)
    quiet = asyncio.subprocess.DEVNULL
    process = await asyncio.create_subprocess_exec(
        str(program), f"-port={port}", stdout=quiet, stderr=quiet
    )
    yield f"127.0.0.1:{port}"
    with contextlib.suppress(ProcessLookupError):
        process.kill()
    await process.wait()


@pytest.fixture
async def channel(target: str) -> AsyncIterator[Channel]:
    """Ask the server."""
    async with Channel(target) as made:
        call = made.unary_unary(_SERVICE + "EmptyCall")
        assert await call(b"", timeout=_S, wait_for_ready=True) == b""
        yield made


async def failed(call: object) -> CallError:
    """Return how a call fails."""
    with pytest.raises(CallError) as raised:
        await call  # type: ignore[misc]
    return raised.value


async def test_messages_and_streams(channel: Channel) -> None:
    """empty_unary, large_unary, client_streaming, server_streaming, ping_pong, empty_stream."""
    unary = channel.unary_unary(_SERVICE + "UnaryCall")
    asked = number(2, 314_159) + payload(3, 271_828)
    assert size_in(await unary(asked, timeout=_S)) == 314_159

    total = channel.stream_unary(_SERVICE + "StreamingInputCall")
    sent = [payload(1, size) for size in (27_182, 8, 1_828, 45_904)]
    assert await total(iter(sent), timeout=_S) == number(1, 74_922)

    sizes = [31_415, 9, 2_653, 58_979]
    answers = channel.unary_stream(_SERVICE + "StreamingOutputCall")(wanted(*sizes), timeout=_S)
    assert [size_in(each) async for each in answers] == sizes

    both = channel.stream_stream(_SERVICE + "FullDuplexCall")
    call = both(timeout=_S)
    for size, back in zip((27_182, 8, 1_828, 45_904), sizes, strict=True):
        await call.write(wanted(back) + payload(3, size))
        assert size_in(await call.read()) == back
    await call.done_writing()
    assert await call.read() is None
    assert await both(iter(()), timeout=_S).read() is None


@pytest.mark.parametrize(
    "text",
    ["test status message", "\t\ntest with whitespace\r\nand Unicode BMP ☺ and non-BMP 😈\t\n"],
)
async def test_statuses(channel: Channel, text: str) -> None:
    """status_code_and_message, special_status_message."""
    error = await failed(channel.unary_unary(_SERVICE + "UnaryCall")(status(2, text), timeout=_S))
    assert (error.code(), error.details()) == (Code.UNKNOWN, text)
    call = channel.stream_stream(_SERVICE + "FullDuplexCall")(timeout=_S)
    await call.write(status(2, text))
    error = await failed(call.read())
    assert (error.code(), error.details()) == (Code.UNKNOWN, text)


async def test_methods_that_are_not_there(channel: Channel) -> None:
    """unimplemented_method, unimplemented_service."""
    for path in (_SERVICE + "UnimplementedCall", "/grpc.testing.UnimplementedService/A"):
        error = await failed(channel.unary_unary(path)(b"", timeout=_S))
        assert error.code() is Code.UNIMPLEMENTED


async def test_metadata(channel: Channel) -> None:
    """custom_metadata."""
    initial = ("x-grpc-test-echo-initial", "test_initial_metadata_value")
    trailing = ("x-grpc-test-echo-trailing-bin", b"\xab\xab\xab")
    call = channel.unary_unary(_SERVICE + "UnaryCall")(
        number(2, 1), timeout=_S, metadata=(initial, trailing)
    )
    await call
    assert initial in await call.initial_metadata()
    assert trailing in await call.trailing_metadata()


async def test_calls_that_are_given_up(channel: Channel) -> None:
    """cancel_after_begin, cancel_after_first_response, timeout_on_sleeping_server."""
    begun = channel.stream_unary(_SERVICE + "StreamingInputCall")()
    await asyncio.sleep(0)
    begun.cancel()
    assert await begun.code() is Code.CANCELLED
    both = channel.stream_stream(_SERVICE + "FullDuplexCall")
    call = both()
    await call.write(wanted(31_415) + payload(3, 27_182))
    assert size_in(await call.read()) == 31_415
    call.cancel()
    assert await call.code() is Code.CANCELLED
    late = both(timeout=0.001)
    assert await late.code() is Code.DEADLINE_EXCEEDED


async def test_pings_that_measure_a_busy_connection_do_not_end_it(target: str) -> None:
    """The server pings beside data that it receives, as often as a ping comes back."""
    limits = ConnectionLimits(control_frames=10, control_frames_per_s=0.1)
    async with Channel(target, limits=ChannelLimits(connection=limits)) as channel:
        unary = channel.unary_unary(_SERVICE + "UnaryCall")
        for _ in range(200):
            asked = number(2, 10_000) + payload(3, 10_000)
            await unary(asked, timeout=_S, wait_for_ready=True)
