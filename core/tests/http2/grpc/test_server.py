"""The server, asked by the client that others use."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextvars import ContextVar
from typing import Any

import grpc
import grpc.aio
import pytest
from quorate.http2.grpc.server import Server, ServerLimits
from quorate.http2.grpc.server_call import Method, ServerCall

EOF: Any = vars(grpc.aio)["EOF"]
_SEEN: ContextVar[str] = ContextVar("seen", default="")


class Servicer:
    """Methods of every kind."""

    def __init__(self) -> None:
        self.cancelled = asyncio.Event()
        self.began = asyncio.Event()
        self.written = 0

    async def echo(self, request: bytes, call: ServerCall) -> bytes:
        return request

    async def later(self, request: bytes, call: ServerCall) -> bytes:
        assert not _SEEN.get()
        _SEEN.set("of this call")
        async with asyncio.timeout(30):
            await asyncio.sleep(0)
            await asyncio.wait_for(asyncio.sleep(0), 30)
        return request + _SEEN.get().encode()

    async def ever(self, request: bytes, call: ServerCall) -> bytes:
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()
        return b""

    async def late(self, request: bytes, call: ServerCall) -> bytes:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0):
                await asyncio.Event().wait()
        return b"timed out"

    async def many(self, request: bytes, call: ServerCall) -> None:
        self.began.set()
        for _ in range(int(request)):
            await call.write(bytes(10_000))
            self.written += 1

    async def both(self, requests: ServerCall, call: ServerCall) -> None:
        async for each in requests:
            await call.write(each)

    async def total(self, requests: ServerCall, call: ServerCall) -> bytes:
        return b"%d" % sum([len(each) async for each in requests])

    async def fail(self, request: bytes, call: ServerCall) -> None:
        metadata = (("k-bin", b"\0\xff"), ("a", "b"))
        await call.abort(grpc.StatusCode.NOT_FOUND.value[0], "nö\n% €", metadata)

    async def break_(self, request: bytes, call: ServerCall) -> None:
        raise KeyError(1)

    async def who(self, request: bytes, call: ServerCall) -> bytes:
        left = call.time_remaining()
        assert left
        return repr((call.peer().split(":")[0], *call.invocation_metadata())).encode()


@pytest.fixture
def servicer() -> Servicer:
    return Servicer()


@pytest.fixture
async def channel(servicer: Servicer) -> AsyncIterator[Any]:
    methods = {
        f"/t/{name}": Method(serve=getattr(servicer, name))
        for name in ("echo", "later", "ever", "late", "fail", "break_", "who")
    }
    methods["/t/many"] = Method(serve=servicer.many, answers_stream=True)
    methods["/t/both"] = Method(serve=servicer.both, takes_stream=True, answers_stream=True)
    methods["/t/total"] = Method(serve=servicer.total, takes_stream=True)
    server = Server(methods.get, ServerLimits(), asyncio.get_running_loop())
    port = await server.listen("127.0.0.1", 0)
    options = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
    async with grpc.aio.insecure_channel(f"127.0.0.1:{port}", options=options) as made:
        yield made
    await server.stop(0)


async def ask(channel: Any, name: str, request: bytes = b"", **options: Any) -> bytes:
    answer: bytes = await channel.unary_unary(f"/t/{name}")(request, timeout=30, **options)
    return answer


async def failed(channel: Any, name: str, request: bytes = b"") -> Any:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await ask(channel, name, request)
    return raised.value


@pytest.mark.parametrize("size", [0, 1, 100_000, 5_000_000])
async def test_a_message_of_any_size_comes_back(channel: Any, size: int) -> None:
    content = bytes(size)
    assert await ask(channel, "echo", content) == content


async def test_calls_at_a_time_keep_their_contexts_apart(channel: Any) -> None:
    asked = [b"%d " % number for number in range(100)]
    answers = await asyncio.gather(*(ask(channel, "later", each) for each in asked))
    assert answers == [each + b"of this call" for each in asked]


async def test_a_handler_has_timeouts_as_in_a_task(channel: Any) -> None:
    assert await ask(channel, "late") == b"timed out"


async def test_streams_go_both_ways(channel: Any) -> None:
    call: Any = channel.stream_stream("/t/both")(timeout=30)
    for number in range(50):
        await call.write(b"%d" % number)
        assert await call.read() == b"%d" % number
    await call.done_writing()
    assert await call.read() is EOF
    total: Any = channel.stream_unary("/t/total")
    assert await total(iter([bytes(300_000)] * 20), timeout=30) == b"6000000"


async def test_a_compressed_request_is_read(channel: Any) -> None:
    content = b"a" * 100_000
    assert await ask(channel, "echo", content, compression=grpc.Compression.Gzip) == content


async def test_a_status_has_its_text_and_metadata(channel: Any) -> None:
    error = await failed(channel, "fail")
    assert error.code() is grpc.StatusCode.NOT_FOUND
    assert error.details() == "nö\n% €"
    assert dict(error.trailing_metadata()) == {"k-bin": b"\0\xff", "a": "b"}


async def test_what_a_servicer_raises_stays_here(
    channel: Any, caplog: pytest.LogCaptureFixture
) -> None:
    error = await failed(channel, "break_")
    assert error.code() is grpc.StatusCode.UNKNOWN
    assert "KeyError" in caplog.text


async def test_a_method_that_nobody_serves(channel: Any) -> None:
    error = await failed(channel, "none")
    assert error.code() is grpc.StatusCode.UNIMPLEMENTED
    assert "/t/none" in error.details()


async def test_a_request_over_the_bound_is_refused_by_its_length(
    channel: Any,
) -> None:
    error = await failed(channel, "echo", bytes((16 << 20) + 1))
    assert error.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_a_caller_that_has_gone_ends_its_call(channel: Any, servicer: Servicer) -> None:
    call: Any = channel.unary_unary("/t/ever")(b"")
    await servicer.began.wait()
    call.cancel()
    await servicer.cancelled.wait()


async def test_a_deadline_ends_its_call(channel: Any, servicer: Servicer) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await channel.unary_unary("/t/ever")(b"", timeout=0.2)
    assert raised.value.code() is grpc.StatusCode.DEADLINE_EXCEEDED
    await servicer.cancelled.wait()


async def test_a_reader_that_does_not_read_holds_its_writer_back(
    channel: Any, servicer: Servicer
) -> None:
    call: Any = channel.unary_stream("/t/many")(b"5000", timeout=60)
    first = await call.read()
    assert len(first) == 10_000
    before = -1
    while before != servicer.written:
        before = servicer.written
        await asyncio.sleep(0.1)
    assert servicer.written < 4_000
    received = 1
    while await call.read() is not EOF:
        received += 1
    assert received == 5_000


async def test_a_servicer_knows_its_caller(channel: Any) -> None:
    said = await ask(channel, "who", metadata=(("a", "1"), ("b-bin", b"\0,\0")))
    assert said.startswith(b"('ipv4', ('user-agent', ")
    assert said.endswith(b"('a', '1'), ('b-bin', b'\\x00,\\x00'))")
