"""Channels and their calls, against our server and the one that others use."""

from __future__ import annotations

import asyncio
import gc
import os
import pickle
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest
import uvloop
from quorate.http2.connection import ConnectionLimits
from quorate.http2.grpc.call_errors import CallError, ChannelClosedError
from quorate.http2.grpc.channel import Channel, State
from quorate.http2.grpc.client_call import Call, StreamCall
from quorate.http2.grpc.codes import Code
from quorate.http2.grpc.link import ChannelLimits
from quorate.http2.grpc.metadata import MetadataError
from quorate.http2.grpc.server import Server, ServerLimits
from quorate.http2.grpc.server_call import Method

LARGE = 5_000_000
_UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
#: How long a call may take whose end is awaited.
_S = 60.0


class Servicer:
    """Methods of every kind; both servers give them what they use of a context."""

    def __init__(self) -> None:
        self.asked = 0
        self.began = asyncio.Event()
        self.cancelled = asyncio.Event()
        self.written = 0
        self.read = 0

    async def echo(self, request: bytes, context: Any) -> bytes:
        self.asked += 1
        return request

    async def ever(self, request: bytes, context: Any) -> bytes:
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cancelled.set()
        return b""

    async def fail(self, request: bytes, context: Any) -> None:
        code: Any = Code.NOT_FOUND
        if isinstance(context, grpc.aio.ServicerContext):
            code = grpc.StatusCode.NOT_FOUND
        metadata = (("k-bin", b"\0\xff"), ("a", "b"), ("grpc-status-details-bin", b"\x08\x05"))
        await context.abort(code, "nö\n% €", metadata)

    async def metadata(self, request: bytes, context: Any) -> bytes:
        found = {
            key: value
            for key, value in context.invocation_metadata()
            if key != "user-agent" and not key.startswith("grpc-")
        }
        await context.send_initial_metadata((("first", "1"), ("first-bin", b"\0\1")))
        context.set_trailing_metadata((("last", "2"),))
        return repr(sorted(found.items())).encode()

    async def left(self, request: bytes, context: Any) -> bytes:
        left = context.time_remaining()
        return b"none" if left is None else b"%d" % left

    async def many(self, request: bytes, context: Any) -> None:
        self.began.set()
        for _ in range(int(request)):
            await context.write(bytes(10_000))
            self.written += 1

    async def many_and_fail(self, request: bytes, context: Any) -> None:
        await self.many(request, context)
        await self.fail(request, context)

    async def both(self, requests: Any, context: Any) -> None:
        async for each in requests:
            await context.write(each)

    async def one_of_both(self, requests: Any, context: Any) -> None:
        await context.write(await anext(aiter(requests)))

    async def total(self, requests: Any, context: Any) -> bytes:
        return b"%d" % sum([len(each) async for each in requests])

    async def unread(self, requests: Any, context: Any) -> bytes:
        async for _ in requests:
            self.began.set()
            await self.cancelled.wait()
            self.read += 1
        return b"%d" % self.read


_UNARY = ("echo", "ever", "fail", "metadata", "left")
_ANSWERS_STREAM = ("many", "many_and_fail")
_BOTH_STREAM = ("both", "one_of_both")
_TAKES_STREAM = ("total", "unread")


class Ours:
    """Our server."""

    def __init__(self, servicer: Servicer, limits: ServerLimits | None = None) -> None:
        methods = {}
        for name in _UNARY + _ANSWERS_STREAM + _BOTH_STREAM + _TAKES_STREAM:
            methods[f"/t/{name}"] = Method(
                serve=getattr(servicer, name),
                takes_stream=name in _BOTH_STREAM + _TAKES_STREAM,
                answers_stream=name in _BOTH_STREAM + _ANSWERS_STREAM,
            )
        limits = limits or ServerLimits()
        self.server = Server(methods.get, limits, asyncio.get_running_loop())

    async def start(self, port: int = 0) -> int:
        return await self.server.listen("127.0.0.1", port)

    async def start_unix(self, path: str) -> None:
        await self.server.listen_unix(path)

    def deafen(self) -> None:
        """Give the port up."""
        for listening in self.server._listening:
            listening.close()

    async def stop(self, grace: float = 0) -> None:
        await self.server.stop(grace)


class Theirs:
    """The server of `grpc.aio`."""

    def __init__(self, servicer: Servicer, **options: Any) -> None:
        made: dict[str, Any] = {}
        kinds = {
            "unary_unary": _UNARY,
            "unary_stream": _ANSWERS_STREAM,
            "stream_unary": _TAKES_STREAM,
            "stream_stream": _BOTH_STREAM,
        }
        for kind, names in kinds.items():
            handler = getattr(grpc, f"{kind}_rpc_method_handler")
            made |= {name: handler(getattr(servicer, name)) for name in names}
        self.server = grpc.aio.server(options=[*_UNLIMITED, *options.pop("options", ())], **options)
        self.server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("t", made),))

    async def start(self, port: int = 0) -> int:
        found = self.server.add_insecure_port(f"127.0.0.1:{port}")
        await self.server.start()
        return found

    async def start_unix(self, path: str) -> None:
        self.server.add_insecure_port(f"unix:{path}")
        await self.server.start()

    async def stop(self, grace: float = 0) -> None:
        await self.server.stop(grace)


@pytest.fixture
def servicer() -> Servicer:
    return Servicer()


@pytest.fixture(params=["ours", "theirs"])
async def server(request: pytest.FixtureRequest, servicer: Servicer) -> AsyncIterator[Any]:
    made = Ours(servicer) if request.param == "ours" else Theirs(servicer)
    yield made
    await made.stop()


@pytest.fixture
async def channel(server: Any) -> AsyncIterator[Channel]:
    async with Channel(f"127.0.0.1:{await server.start()}") as made:
        yield made


async def ask(channel: Channel, name: str, request: bytes = b"", **options: Any) -> bytes:
    options = {"timeout": _S} | options
    answer: bytes = await channel.unary_unary(f"/t/{name}")(request, **options)
    return answer


async def failed(call: Awaitable[object]) -> CallError:
    with pytest.raises(CallError) as raised:
        await call
    return raised.value


@pytest.mark.parametrize("size", [0, 1, 100_000, LARGE])
async def test_a_message_of_any_size_comes_back(channel: Channel, size: int) -> None:
    content = os.urandom(size)
    assert await ask(channel, "echo", content) == content


async def test_many_calls_at_a_time_get_their_own_answers(channel: Channel) -> None:
    asked = [b"%d" % number * (number % 7) * 500 for number in range(1_000)]
    assert await asyncio.gather(*(ask(channel, "echo", each) for each in asked)) == asked


async def test_messages_are_written_and_read_by_the_functions_of_a_method(
    channel: Channel,
) -> None:
    echo = channel.unary_unary("/t/echo", str.encode, bytes.decode)
    assert await echo("a", timeout=_S) == "a"
    both = channel.stream_stream("/t/both", str.encode, bytes.decode)
    assert [each async for each in both(iter("abc"), timeout=_S)] == ["a", "b", "c"]
    total = channel.stream_unary("/t/total", str.encode, int)
    assert await total(iter(["a", "bc"]), timeout=_S) == 3


def refuse(content: bytes) -> None:
    raise ValueError


async def test_an_answer_that_cannot_be_parsed_fails_its_call(channel: Channel) -> None:
    error = await failed(channel.unary_unary("/t/echo", None, int)(b"a", timeout=_S))
    assert error.code() is Code.INTERNAL
    error = await failed(channel.stream_unary("/t/total", None, refuse)([], timeout=_S))
    assert error.code() is Code.INTERNAL


async def test_answers_are_read_or_iterated_over(channel: Channel) -> None:
    many = channel.unary_stream("/t/many")
    call = many(b"3", timeout=_S)
    assert [len(each) async for each in call] == [10_000] * 3
    assert await call.code() is Code.OK
    call = many(b"1", timeout=_S)
    assert len(await call.read()) == 10_000
    assert await call.read() is None
    assert await call.read() is None


async def test_requests_are_written_or_iterated_over(channel: Channel) -> None:
    async def requests() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield bytes(300_000)

    total = channel.stream_unary("/t/total")
    assert await total(requests(), timeout=_S) == b"6000000"
    assert await total([b"a", b"b"], timeout=_S) == b"2"
    call = total(timeout=_S)
    await call.write(b"abc")
    await call.done_writing()
    await call.done_writing()
    assert await call == b"3"
    with pytest.raises(asyncio.InvalidStateError):
        await call.write(b"more")


async def test_streams_go_both_ways(channel: Channel) -> None:
    call = channel.stream_stream("/t/both")(timeout=_S)
    for number in range(50):
        await call.write(b"%d" % number)
        assert await call.read() == b"%d" % number
    await call.write(bytes(LARGE))
    assert len(await call.read()) == LARGE
    await call.done_writing()
    assert await call.read() is None


async def test_requests_that_are_not_read_hold_their_writer_back(
    channel: Channel, servicer: Servicer
) -> None:
    call = channel.stream_unary("/t/unread")(timeout=_S)
    written = 0

    async def write() -> None:
        nonlocal written
        for _ in range(4_000):
            await call.write(bytes(10_000))
            written += 1
        await call.done_writing()

    writing = asyncio.create_task(write())
    await servicer.began.wait()
    before = -1
    while before != written:
        before = written
        await asyncio.sleep(0.1)
    assert written < 4_000
    servicer.cancelled.set()
    await writing
    assert await call == b"4000"


async def test_answers_that_are_not_read_hold_their_writer_back(
    channel: Channel, servicer: Servicer
) -> None:
    call = channel.unary_stream("/t/many")(b"5000", timeout=_S)
    assert len(await call.read()) == 10_000
    before = -1
    while before != servicer.written:
        before = servicer.written
        await asyncio.sleep(0.1)
    assert servicer.written < 4_000
    assert len([each async for each in call]) == 4_999


async def test_a_server_may_answer_before_it_has_read_all(channel: Channel) -> None:
    call = channel.stream_stream("/t/one_of_both")(timeout=_S)
    await call.write(b"a")
    assert await call.read() == b"a"
    assert await call.read() is None
    with pytest.raises(asyncio.InvalidStateError):
        await call.write(b"b")
    assert await ask(channel, "echo", b"still") == b"still"


async def test_requests_of_an_iterator_that_raises_end_the_call(channel: Channel) -> None:
    def requests() -> Any:
        yield b"a"
        raise KeyError("of the caller")

    error = await failed(channel.stream_unary("/t/total")(requests(), timeout=_S))
    assert error.code() is Code.CANCELLED
    assert "KeyError('of the caller')" in error.details()


async def test_requests_that_nobody_wants_are_asked_for_no_more(channel: Channel) -> None:
    left = asyncio.Event()

    async def requests() -> AsyncIterator[bytes]:
        yield b"a"
        try:
            await asyncio.Event().wait()
        finally:
            left.set()

    call = channel.stream_stream("/t/one_of_both")(requests(), timeout=_S)
    assert [each async for each in call] == [b"a"]
    await left.wait()


async def test_metadata_goes_both_ways(channel: Channel) -> None:
    sent: list[tuple[str, str | bytes]] = [
        ("a", "1"),
        ("b-bin", b"\0,\0"),
        ("authorization", "Bearer x"),
    ]
    call = channel.unary_unary("/t/metadata")(b"", metadata=sent, timeout=_S)
    assert ("first", "1") in await call.initial_metadata()
    assert ("first-bin", b"\0\1") in await call.initial_metadata()
    assert await call == repr(sorted(sent, key=lambda pair: pair[0])).encode()
    assert await call.trailing_metadata() == (("last", "2"),)
    again = channel.unary_unary("/t/metadata")(b"", metadata=(("a", "2"),), timeout=_S)
    assert await again == b"[('a', '2')]"


@pytest.mark.parametrize("pair", [("A", "1"), ("a", "\n"), ("a-bin", "text"), ("grpc-x", "1")])
async def test_metadata_that_cannot_be_sent_is_the_callers_mistake(
    channel: Channel, pair: tuple[str, str]
) -> None:
    with pytest.raises(MetadataError):
        channel.unary_unary("/t/echo")(b"", metadata=(pair,))


async def test_a_status_has_its_text_and_metadata(channel: Channel) -> None:
    call = channel.unary_unary("/t/fail")(b"", timeout=_S)
    error = await failed(call)
    assert error.code() is await call.code() is Code.NOT_FOUND
    assert error.details() == await call.details() == "nö\n% €"
    expected = {"k-bin": b"\0\xff", "a": "b", "grpc-status-details-bin": b"\x08\x05"}
    assert dict(error.trailing_metadata()) == expected
    assert dict(await call.trailing_metadata()) == expected
    assert error.sent
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.sent) == ("NOT_FOUND: nö\n% €", True)
    assert copy.trailing_metadata() == error.trailing_metadata()


async def test_a_stream_that_fails_gives_its_answers_first(channel: Channel) -> None:
    call = channel.unary_stream("/t/many_and_fail")(b"2", timeout=_S)
    assert [len(await call.read()), len(await call.read())] == [10_000] * 2
    assert (await failed(call.read())).code() is Code.NOT_FOUND
    assert (await failed(call.read())).code() is Code.NOT_FOUND


async def test_a_method_that_nobody_serves(channel: Channel) -> None:
    assert (await failed(ask(channel, "none"))).code() is Code.UNIMPLEMENTED


async def test_an_answer_over_the_bound_is_refused(server: Any) -> None:
    limits = ChannelLimits(message_bytes=1_000)
    async with Channel(f"127.0.0.1:{await server.start()}", limits=limits) as channel:
        error = await failed(ask(channel, "echo", bytes(1_001)))
        assert error.code() is Code.RESOURCE_EXHAUSTED
        assert await ask(channel, "echo", bytes(1_000)) == bytes(1_000)
        call = channel.unary_stream("/t/many")(b"3", timeout=_S)
        assert (await failed(call.read())).code() is Code.RESOURCE_EXHAUSTED


async def test_a_deadline_ends_its_call_at_both_ends(channel: Channel, servicer: Servicer) -> None:
    error = await failed(ask(channel, "ever", timeout=0.2))
    assert error.code() is Code.DEADLINE_EXCEEDED
    await servicer.cancelled.wait()
    call = channel.unary_stream("/t/many")(b"100000", timeout=0.2)
    error = await failed(asyncio.ensure_future(call))
    assert error.code() is Code.DEADLINE_EXCEEDED
    error = await failed(ask(channel, "echo", timeout=0))
    assert (error.code(), error.sent) == (Code.DEADLINE_EXCEEDED, False)


async def test_a_server_is_told_how_long_its_caller_waits(channel: Channel) -> None:
    assert await ask(channel, "left", timeout=None) == b"none"
    assert 990 <= int(await ask(channel, "left", timeout=1_000.5)) <= 1_010
    assert int(await ask(channel, "left", timeout=1e9)) > 9e8


@pytest.mark.parametrize("how", ["task", "call", "read"])
async def test_a_caller_that_has_gone_ends_its_call_at_the_server(
    channel: Channel, servicer: Servicer, how: str
) -> None:
    call: Any
    if how == "read":
        call = channel.stream_stream("/t/both")()
        await call.write(b"")
        assert await call.read() == b""
        waiting: asyncio.Future[Any] = asyncio.create_task(call.read())
        await asyncio.sleep(0)
    else:
        call = channel.unary_unary("/t/ever")(b"")
        waiting = call if how == "call" else asyncio.create_task(wait(call))
        await servicer.began.wait()
    assert waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    if how != "read":
        await servicer.cancelled.wait()
    assert call.cancelled()
    assert call.done()
    assert await call.code() is Code.CANCELLED
    assert not call.cancel()


async def wait(call: Any) -> None:
    await call


async def test_a_call_that_has_ended_is_watched_by_no_deadline(channel: Channel) -> None:
    await ask(channel, "echo", timeout=1_000)
    await failed(ask(channel, "fail", timeout=1_000))
    channel.unary_unary("/t/echo")(b"", timeout=1_000).cancel()
    assert not channel.deadlines._due


async def test_those_that_ask_to_be_told_are_told(channel: Channel) -> None:
    told = asyncio.Event()
    call = channel.unary_unary("/t/echo")(b"", timeout=_S)
    call.add_done_callback(lambda _: told.set())
    await told.wait()
    assert call.done()
    assert not call.cancelled()


async def test_a_channel_says_how_it_stands(server: Any) -> None:
    channel = Channel(f"127.0.0.1:{await server.start()}")
    assert channel.get_state() is State.IDLE
    assert channel.get_state(try_to_connect=True) is State.CONNECTING
    await channel.wait_for_state_change(State.CONNECTING)
    assert channel.get_state() is State.READY
    waiting = asyncio.create_task(channel.wait_for_state_change(State.READY))
    await server.stop()
    await waiting
    assert channel.get_state() is State.IDLE
    await channel.close()
    assert channel.get_state(try_to_connect=True) is State.SHUTDOWN
    with pytest.raises(ChannelClosedError):
        await channel.wait_for_state_change(State.SHUTDOWN)


async def test_a_server_that_cannot_be_reached(unused_tcp_port: int) -> None:
    async with Channel(f"127.0.0.1:{unused_tcp_port}") as channel:
        error = await failed(ask(channel, "echo"))
        assert (error.code(), error.sent) == (Code.UNAVAILABLE, False)
        assert "refused" in error.details().lower()
        assert channel.get_state() is State.TRANSIENT_FAILURE
        assert channel.why == error.details()
        call = channel.unary_unary("/t/echo")(b"", timeout=_S)
        # At once, without another attempt.
        assert call.done()
        assert (await failed(call)).details() == channel.why
        error = await failed(ask(channel, "echo", wait_for_ready=True, timeout=0.05))
        assert (error.code(), error.sent) == (Code.DEADLINE_EXCEEDED, False)


async def test_calls_that_wait_are_served_once_the_server_is_there(
    server: Any, unused_tcp_port: int
) -> None:
    limits = ChannelLimits(first_pause_s=0.01, longest_pause_s=0.05)
    async with Channel(f"127.0.0.1:{unused_tcp_port}", limits=limits) as channel:
        echo, total = channel.unary_unary("/t/echo"), channel.stream_unary("/t/total")
        first = echo(b"a", wait_for_ready=True, timeout=_S, metadata=(("a", "b"),))
        second = total(iter([b"abc"]), wait_for_ready=True, timeout=_S)
        third = total(wait_for_ready=True)
        writing = asyncio.create_task(third.write(b"abc"))
        await channel.wait_for_state_change(State.IDLE)
        await channel.wait_for_state_change(State.CONNECTING)
        assert channel.get_state() is State.TRANSIENT_FAILURE
        await server.start(unused_tcp_port)
        assert await first == b"a"
        assert await second == b"3"
        await writing
        await third.done_writing()
        assert await third == b"3"


async def test_calls_before_the_connection_stands_wait_for_it(channel: Channel) -> None:
    calls = [channel.unary_unary("/t/echo")(b"%d" % number) for number in range(10)]
    calls[3].cancel()
    answers = await asyncio.gather(*calls, return_exceptions=True)
    assert isinstance(answers.pop(3), asyncio.CancelledError)
    assert answers == [b"%d" % number for number in range(10) if number != 3]


async def test_a_server_that_starts_again_is_found(servicer: Servicer) -> None:
    limits = ChannelLimits(first_pause_s=0.01, longest_pause_s=0.05)
    server = Ours(servicer)
    port = await server.start()
    async with Channel(f"127.0.0.1:{port}", limits=limits) as channel:
        for _ in range(3):
            assert await ask(channel, "echo", b"a", wait_for_ready=True) == b"a"
            servicer.began.clear()
            open_call = channel.unary_unary("/t/ever")(b"")
            await servicer.began.wait()
            await server.stop()
            error = await failed(open_call)
            assert error.code() is Code.UNAVAILABLE
            assert error.sent
            server = Ours(servicer)
            await server.start(port)
    await server.stop()


async def test_unix_sockets(server: Any, tmp_path: Path) -> None:
    path = str(tmp_path / "s")
    await server.start_unix(path)
    async with Channel(f"unix:{path}") as channel:
        assert await ask(channel, "echo", b"a") == b"a"
    async with Channel(f"unix://{path}") as channel:
        assert await ask(channel, "echo", b"a") == b"a"


def add(numbers: list[int], number: int, _: object) -> None:
    numbers.append(number)


async def test_calls_over_the_limit_of_streams_wait_in_their_order(servicer: Servicer) -> None:
    server = Ours(servicer, ServerLimits(connection=ConnectionLimits(streams=4)))
    async with Channel(f"127.0.0.1:{await server.start()}") as channel:
        asked = [b"%d" % number for number in range(500)]
        assert await asyncio.gather(*(ask(channel, "echo", each) for each in asked)) == asked
        blocking = [channel.unary_unary("/t/ever")(b"") for _ in range(4)]
        error = await failed(ask(channel, "echo", timeout=0.05))
        assert (error.code(), error.sent) == (Code.DEADLINE_EXCEEDED, False)
        ended: list[int] = []
        for number in range(8):
            if number == 7:
                # A stream is free from here on, and those that wait come first.
                blocking[0].cancel()
            call = channel.unary_unary("/t/echo")(b"")
            call.add_done_callback(partial(add, ended, number))
        await asyncio.wait((call,))
        assert ended == list(range(8))
    await server.stop()


async def test_a_stream_that_ends_without_its_caller_lets_another_begin(
    servicer: Servicer,
) -> None:
    server = Ours(servicer, ServerLimits(connection=ConnectionLimits(streams=1)))
    async with Channel(f"127.0.0.1:{await server.start()}") as channel:
        for name in ("fail", "none", "echo"):
            first = channel.unary_unary(f"/t/{name}")(b"")
            second = channel.unary_unary("/t/echo")(b"b", timeout=_S)
            assert await second == b"b"
            assert first.done()
        late = channel.unary_unary("/t/ever")(b"", timeout=0.05)
        assert await ask(channel, "echo", b"c") == b"c"
        assert await late.code() is Code.DEADLINE_EXCEEDED
    await server.stop()


async def test_no_call_is_lost_that_a_stopping_server_did_not_process(
    servicer: Servicer,
) -> None:
    # One of `grpc.aio` cancels calls that it has not begun, with a status.
    server = Ours(servicer)
    port = await server.start()
    limits = ChannelLimits(first_pause_s=0.001, longest_pause_s=0.01)
    stopped = False
    answered = 0

    async def ask_on(channel: Channel) -> None:
        nonlocal answered
        while not stopped:
            call = channel.unary_unary("/t/echo")(b"", wait_for_ready=True, timeout=_S)
            await asyncio.wait((call,))
            error = call.exception()
            if error is None:
                answered += 1
            elif not (isinstance(error, CallError) and not error.sent):
                # Only what cannot have been processed may fail.
                raise error

    async with Channel(f"127.0.0.1:{port}", limits=limits) as channel:
        asking = [asyncio.create_task(ask_on(channel)) for _ in range(50)]
        for _ in range(10):
            goal = answered + 100
            while answered < goal:
                await asyncio.sleep(0.001)
            before, server = server, Ours(servicer)
            before.deafen()
            await server.start(port)
            await before.stop(_S)
        stopped = True
        await asyncio.gather(*asking)
    assert servicer.asked == answered
    await server.stop()


async def test_a_connection_whose_numbers_are_used_up_is_followed_by_another(
    channel: Channel,
) -> None:
    assert await ask(channel, "echo", b"a") == b"a"
    first = channel.link
    assert first is not None
    first.connection._next = (1 << 31) - 5
    asked = [b"%d" % number for number in range(20)]
    assert await asyncio.gather(*(ask(channel, "echo", each) for each in asked)) == asked
    assert channel.link is not first
    await first.gone


async def test_a_call_that_has_waited_may_have_the_last_number(servicer: Servicer) -> None:
    server = Ours(servicer, ServerLimits(connection=ConnectionLimits(streams=1)))
    async with Channel(f"127.0.0.1:{await server.start()}") as channel:
        await ask(channel, "echo")
        first = channel.link
        assert first is not None
        blocking = channel.unary_unary("/t/ever")(b"")
        waiting = channel.unary_unary("/t/echo")(b"a", timeout=_S)
        first.connection._next = (1 << 31) - 1
        blocking.cancel()
        assert await waiting == b"a"
        assert await ask(channel, "echo", b"b") == b"b"
        assert channel.link is not first
    await server.stop()


async def test_calls_that_wait_for_a_stream_go_on_to_the_next_connection(
    servicer: Servicer,
) -> None:
    limits = ServerLimits(connection=ConnectionLimits(streams=1))
    server, fresh = Ours(servicer, limits), Ours(servicer, limits)
    port = await server.start()
    async with Channel(f"127.0.0.1:{port}", limits=ChannelLimits(first_pause_s=0.01)) as channel:
        served = channel.unary_unary("/t/ever")(b"")
        await servicer.began.wait()
        waiting = channel.unary_unary("/t/echo")(b"a", timeout=_S)
        server.deafen()
        await fresh.start(port)
        await server.stop()
        assert (await failed(served)).code() is Code.UNAVAILABLE
        assert await waiting == b"a"
    await fresh.stop()


async def test_a_closed_channel_takes_no_calls(channel: Channel) -> None:
    await ask(channel, "echo")
    waiting = channel.unary_unary("/t/ever")(b"")
    reading = channel.stream_stream("/t/both")()
    read = asyncio.create_task(failed(reading.read()))
    await channel.close()
    with pytest.raises(ChannelClosedError):
        await ask(channel, "echo")
    for error in (await failed(waiting), await read):
        assert error.code() is Code.CANCELLED
        assert "closed" in error.details()
    await channel.close()


async def test_a_channel_that_is_closed_waits_for_its_calls(channel: Channel) -> None:
    call = channel.stream_stream("/t/both")(timeout=_S)
    await call.write(b"a")
    closing = asyncio.create_task(channel.close(_S))
    assert await call.read() == b"a"
    assert not closing.done()
    with pytest.raises(ChannelClosedError):
        channel.unary_unary("/t/echo")(b"")
    await call.done_writing()
    assert await call.read() is None
    await closing


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_channel_may_be_closed_before_it_stands(
    servicer: Servicer, new_loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    # The loops differ in what they say of a socket that they close themselves.
    with asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(close_early(servicer))


async def close_early(servicer: Servicer) -> None:
    server = Ours(servicer)
    port = await server.start()
    for turns in range(12):
        channel = Channel(f"127.0.0.1:{port}")
        call = channel.unary_unary("/t/echo")(b"")
        for _ in range(turns):
            await asyncio.sleep(0)
        await channel.close()
        assert await call.code() in (Code.CANCELLED, Code.OK)
    await server.stop()


async def read_all(call: StreamCall) -> None:
    async for _ in call:
        pass


async def test_calls_leave_nothing_to_the_collector_of_garbage(
    channel: Channel, servicer: Servicer
) -> None:
    async def use() -> None:
        await ask(channel, "echo", bytes(100_000))
        with suppress(CallError):
            await ask(channel, "fail")
        with suppress(CallError):
            await ask(channel, "ever", timeout=0.05)
        call = channel.unary_stream("/t/many_and_fail")(b"1", timeout=_S)
        with suppress(CallError):
            await read_all(call)
        await channel.stream_unary("/t/total")(iter([b"a"]), timeout=_S)
        both = channel.stream_stream("/t/both")(timeout=_S)
        await both.write(b"a")
        await both.read()
        both.cancel()
        await asyncio.sleep(0)

    await use()
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        await use()
        gc.collect()
        found = [each for each in gc.garbage if isinstance(each, Call | CallError)]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not found


async def test_another_process_has_to_make_its_own_channel(channel: Channel) -> None:
    await ask(channel, "echo")
    child = os.fork()
    if not child:
        code = 1
        try:
            channel.unary_unary("/t/echo")(b"")
        except RuntimeError as error:
            code = 0 if "after the fork" in str(error) else 2
        finally:
            os._exit(code)
    _, status = await asyncio.to_thread(os.waitpid, child, 0)
    assert not status
    assert await ask(channel, "echo", b"a") == b"a"


@pytest.mark.parametrize("target", ["", "host", ":1", "::1:5", "host:port", "[::1]"])
async def test_a_target_that_is_none(target: str) -> None:
    with pytest.raises(ValueError, match="host:port"):
        Channel(target)


def test_a_channel_belongs_to_a_loop() -> None:
    with pytest.raises(RuntimeError):
        Channel("localhost:1")
