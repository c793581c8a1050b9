"""What servers may answer, and must not: a server that says what a test wants."""

from __future__ import annotations

import asyncio
import gc
import gzip
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest
from quorate.http2 import frames
from quorate.http2.connection import Connection, ConnectionLimits
from quorate.http2.errors import ErrorCode
from quorate.http2.grpc.call_errors import CallError
from quorate.http2.grpc.channel import Channel, State
from quorate.http2.grpc.codes import Code
from quorate.http2.grpc.link import ChannelLimits
from quorate.http2.grpc.messages import framed, framed_gzip
from quorate.http2.headers import Headers
from quorate.http2.hpack import plain_block
from quorate.http2.stream import Stream
from quorate.http2.wire import Wire, scratch

_S = 60.0
HEAD = ((b":status", b"200"), (b"content-type", b"application/grpc+proto"))
OK = ((b"grpc-status", b"0"),)
Fields = tuple[tuple[bytes, bytes], ...]


class Answer:
    """What is said of a stream."""

    def __init__(self, connection: Connection, stream: Stream) -> None:
        self.connection = connection
        self.stream = stream

    def headers(self, fields: Fields, *, ends: bool = False) -> Answer:
        self.connection.sending.headers(self.stream, plain_block(fields), ends=ends)
        return self

    def data(self, content: bytes, *, ends: bool = False) -> Answer:
        self.connection.sending.data(self.stream, content, ends=ends)
        return self

    def reset(self, code: int) -> Answer:
        self.connection.reset(self.stream, ErrorCode(code))
        return self


class Scripted:
    """A server that answers each request as `script` does once it has come."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self.script: Callable[[Answer], Any] = lambda _: None
        self.wires: list[Wire] = []
        self.requests: list[dict[bytes, bytes]] = []
        self.resets: list[int] = []
        self.reset = asyncio.Event()
        self.came = asyncio.Event()
        self.connected_once = asyncio.Event()
        self.begin: Callable[[Connection], None] = Connection.begin

    def make(self) -> Wire:
        return Wire(self, scratch(1 << 16), asyncio.get_running_loop())

    def connected(self, wire: Wire) -> Connection:
        self.wires.append(wire)
        self.connected_once.set()
        made = Connection(self, self.limits, client=False, ready=wire.ready)
        made.begin = partial(self.begin, made)  # type: ignore[method-assign]
        return made

    def lost(self, wire: Wire, why: str) -> None: ...

    def accept(self, stream: Stream, headers: Headers, ended: bool) -> Any:
        self.requests.append(headers.pseudo | dict(headers.fields))
        self.came.set()
        return Request(self, stream)

    def refused(self, code: ErrorCode, why: str) -> None:
        raise AssertionError(why)

    def configured(self) -> None: ...

    def going_away(self, last: int, code: int, why: bytes) -> None: ...

    def answered(self, payload: bytes) -> None: ...

    def idle(self) -> None: ...

    @property
    def connection(self) -> Connection:
        return self.wires[-1].connection


class Request:
    """A request to a server of a script."""

    def __init__(self, server: Scripted, stream: Stream) -> None:
        self.server = server
        self.stream = stream
        self.content = b""

    def headers(self, headers: Headers, ended: bool) -> None: ...

    def data(self, content: bytes, ended: bool) -> None:
        self.content += content
        if ended:
            self.server.script(Answer(self.server.connection, self.stream))

    def writable(self) -> None: ...

    def lost(self, code: ErrorCode | int, why: str) -> None:
        self.server.resets.append(code)
        self.server.reset.set()


@pytest.fixture
async def scripted() -> AsyncIterator[Scripted]:
    made = Scripted(ConnectionLimits())
    yield made
    for wire in made.wires:
        wire.transport.abort()


@pytest.fixture
def limits() -> ChannelLimits:
    return ChannelLimits(first_pause_s=0.01)


@pytest.fixture
async def channel(scripted: Scripted, limits: ChannelLimits) -> AsyncIterator[Channel]:
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(scripted.make, "127.0.0.1", 0)
    port = listening.sockets[0].getsockname()[1]
    async with Channel(f"127.0.0.1:{port}", limits=limits) as made:
        yield made
    listening.close()


async def failed(call: Any) -> CallError:
    with pytest.raises(CallError) as raised:
        await call
    return raised.value


ANSWERS: dict[str, tuple[Callable[[Answer], Any], Code, str]] = {
    "trailers alone": (
        lambda answer: answer.headers(
            (*HEAD, (b"grpc-status", b"5"), (b"grpc-message", b"no %E2%82%AC")), ends=True
        ),
        Code.NOT_FOUND,
        "no €",
    ),
    "an unknown status": (
        lambda answer: answer.headers((*HEAD, (b"grpc-status", b"99")), ends=True),
        Code.UNKNOWN,
        "",
    ),
    "a status that is no number": (
        lambda answer: answer.headers((*HEAD, (b"grpc-status", b"x")), ends=True),
        Code.UNKNOWN,
        "",
    ),
    "no status": (
        lambda answer: answer.headers(HEAD).headers(((b"a", b"b"),), ends=True),
        Code.UNKNOWN,
        "without grpc-status",
    ),
    "no trailers": (
        lambda answer: answer.headers(HEAD).data(framed(b""), ends=True),
        Code.INTERNAL,
        "without a status",
    ),
    "no message": (
        lambda answer: answer.headers(HEAD).headers(OK, ends=True),
        Code.INTERNAL,
        "without its answer",
    ),
    "two messages": (
        lambda answer: answer.headers(HEAD).data(framed(b"") * 2).headers(OK, ends=True),
        Code.INTERNAL,
        "more than one answer",
    ),
    "two messages apart": (
        lambda answer: (
            answer.headers(HEAD).data(framed(b"")).data(framed(b"")).headers(OK, ends=True)
        ),
        Code.INTERNAL,
        "more than one answer",
    ),
    "a part of a message": (
        lambda answer: answer.headers(HEAD).data(framed(b"abc")[:-1]).headers(OK, ends=True),
        Code.INTERNAL,
        "without its answer",
    ),
    "a message, and a part of one": (
        lambda answer: answer.headers(HEAD).data(framed(b"")).data(b"\0\0").headers(OK, ends=True),
        Code.INTERNAL,
        "without its answer",
    ),
    "content first": (
        lambda answer: answer.data(framed(b"")).headers(OK, ends=True),
        Code.INTERNAL,
        "before its header fields",
    ),
    "a message of a wrong kind": (
        lambda answer: answer.headers(HEAD).data(b"\2\0\0\0\0").headers(OK, ends=True),
        Code.INTERNAL,
        "neither 0 nor 1",
    ),
    "compressed without a word": (
        lambda answer: answer.headers(HEAD).data(framed_gzip(b"a")).headers(OK, ends=True),
        Code.INTERNAL,
        "grpc-encoding",
    ),
    "an encoding that was not accepted": (
        lambda answer: answer.headers((*HEAD, (b"grpc-encoding", b"br"))),
        Code.INTERNAL,
        "grpc-encoding br",
    ),
    "two heads": (
        lambda answer: answer.headers(HEAD).headers(HEAD),
        Code.INTERNAL,
        "begins twice",
    ),
    "another content": (
        lambda answer: answer.headers(((b":status", b"200"), (b"content-type", b"text/html"))).data(
            b"<html>"
        ),
        Code.UNKNOWN,
        "text/html",
    ),
    "another content alone": (
        lambda answer: answer.headers(((b":status", b"200"),), ends=True),
        Code.UNKNOWN,
        "HTTP status 200",
    ),
}


def of_http(status: bytes, ends: bool, answer: Answer) -> None:
    answer.headers(((b":status", status),), ends=ends)


def of_reset(code: ErrorCode, answer: Answer) -> None:
    answer.reset(code)


for _status, _code in {
    b"400": Code.INTERNAL,
    b"401": Code.UNAUTHENTICATED,
    b"403": Code.PERMISSION_DENIED,
    b"404": Code.UNIMPLEMENTED,
    b"429": Code.UNAVAILABLE,
    b"502": Code.UNAVAILABLE,
    b"503": Code.UNAVAILABLE,
    b"504": Code.UNAVAILABLE,
    b"418": Code.UNKNOWN,
}.items():
    _text = f"HTTP status {_status.decode()}"
    for _ends in (False, True):
        ANSWERS[f"{_text} {_ends}"] = partial(of_http, _status, _ends), _code, _text
for _number, _code in {
    ErrorCode.NO_ERROR: Code.INTERNAL,
    ErrorCode.PROTOCOL_ERROR: Code.INTERNAL,
    ErrorCode.REFUSED_STREAM: Code.UNAVAILABLE,
    ErrorCode.CANCEL: Code.CANCELLED,
    ErrorCode.ENHANCE_YOUR_CALM: Code.RESOURCE_EXHAUSTED,
    ErrorCode.INADEQUATE_SECURITY: Code.PERMISSION_DENIED,
}.items():
    ANSWERS[f"reset {_number.name}"] = partial(of_reset, _number), _code, "reset the stream"


@pytest.mark.parametrize("stream", [False, True], ids=["unary", "stream"])
@pytest.mark.parametrize("name", ANSWERS)
async def test_an_answer_that_is_none_ends_its_call_alone(
    channel: Channel, scripted: Scripted, name: str, stream: bool
) -> None:
    script, code, text = ANSWERS[name]
    scripted.script = script
    if not stream:
        call: Any = channel.unary_unary("/t/m")(b"", timeout=_S)
    elif name in ("no message", "two messages", "two messages apart"):
        call = channel.stream_unary("/t/m")(iter([b""]), timeout=_S)
    else:
        call = channel.unary_stream("/t/m")(b"", timeout=_S)
    error = await failed(call)
    assert error.code() is code
    whole = "within an answer" if stream and text == "without its answer" else text
    assert text in error.details() or whole in error.details()
    assert error.sent is ("REFUSED" not in name)
    scripted.script = lambda answer: (
        answer.headers(HEAD).data(framed(b"well")).headers(OK, ends=True)
    )
    assert await channel.unary_unary("/t/m")(b"", timeout=_S) == b"well"
    assert len(scripted.wires) == 1


async def test_an_answer_in_parts_and_compressed_is_put_together(
    channel: Channel, scripted: Scripted
) -> None:
    content = framed_gzip(b"a" * 100_000)

    def script(answer: Answer) -> None:
        answer.headers(((b":status", b"103"), (b"link", b"x")))
        answer.headers((*HEAD, (b"grpc-encoding", b"gzip"), (b"m", b"1")))
        for at in range(len(content)):
            answer.data(content[at : at + 1])
        answer.headers((*OK, (b"grpc-message", b"well")), ends=True)

    scripted.script = script
    call = channel.unary_unary("/t/m")(b"", timeout=_S)
    assert await call == b"a" * 100_000
    assert await call.initial_metadata() == (("m", "1"),)
    assert await call.details() == "well"
    scripted.script = lambda answer: (
        answer.headers((*HEAD, (b"grpc-encoding", b"identity")))
        .data(framed(b"a"))
        .headers(OK, ends=True)
    )
    assert await channel.unary_unary("/t/m")(b"", timeout=_S) == b"a"


async def test_a_compressed_bomb_is_refused(channel: Channel, scripted: Scripted) -> None:
    bomb = gzip.compress(bytes(100 << 20))
    head = (*HEAD, (b"grpc-encoding", b"gzip"))
    scripted.script = lambda answer: answer.headers(head).data(
        b"\1" + len(bomb).to_bytes(4, "big") + bomb
    )
    error = await failed(channel.unary_unary("/t/m")(b"", timeout=_S))
    assert error.code() is Code.RESOURCE_EXHAUSTED
    await scripted.reset.wait()
    assert scripted.resets == [ErrorCode.CANCEL]


async def test_a_request_has_the_fields_that_grpc_wants(
    channel: Channel, scripted: Scripted
) -> None:
    scripted.script = lambda answer: answer.headers(HEAD).data(framed(b"")).headers(OK, ends=True)
    # What waits for a connection has less time left.
    await channel.unary_unary("/a.B/C")(b"")
    for timeout in (123.41, 123.45):
        await channel.unary_unary("/a.B/C")(b"", timeout=timeout, metadata=(("k", "v"),))
    # Timeouts that hardly differ are one, or no server could remember what they stand in.
    assert scripted.requests[1] == scripted.requests[2]
    found = dict(scripted.requests[1])
    assert found.pop(b":authority").startswith(b"127.0.0.1:")
    assert found == {
        b":method": b"POST",
        b":scheme": b"http",
        b":path": b"/a.B/C",
        b"te": b"trailers",
        b"content-type": b"application/grpc",
        b"grpc-accept-encoding": b"identity, gzip",
        b"grpc-timeout": b"124000m",
        b"user-agent": b"quorate",
        b"k": b"v",
    }


async def test_calls_above_the_last_that_is_served_fail_and_those_below_go_on(
    channel: Channel, scripted: Scripted
) -> None:
    taken: list[Answer] = []
    scripted.script = taken.append
    calls = [channel.unary_unary("/t/m")(b"", timeout=_S) for _ in range(4)]
    while len(taken) < 4:
        await asyncio.sleep(0)
    connection = scripted.connection
    connection.sending.put(frames.goaway(taken[1].stream.number, 0, b""))
    for call in calls[2:]:
        error = await failed(call)
        assert (error.code(), error.sent) == (Code.UNAVAILABLE, False)
        assert "never processed" in error.details()
    late = channel.unary_unary("/t/m")(b"", timeout=_S)
    while len(taken) < 5:
        await asyncio.sleep(0)
    for each in (*taken[:2], taken[4]):
        each.headers(HEAD).data(framed(b"well")).headers(OK, ends=True)
    assert [await each for each in (*calls[:2], late)] == [b"well"] * 3
    assert len(scripted.wires) == 2


async def test_a_server_that_allows_streams_later_is_asked_then(
    channel: Channel, scripted: Scripted
) -> None:
    scripted.limits = ConnectionLimits(streams=0)
    call = channel.unary_unary("/t/m")(b"", timeout=_S)
    scripted.script = lambda answer: answer.headers(HEAD).data(framed(b"")).headers(OK, ends=True)
    await channel.wait_for_state_change(State.CONNECTING)
    assert channel.get_state() is State.READY
    assert not scripted.requests
    scripted.connection._limits = ConnectionLimits()  # type: ignore[misc]
    scripted.connection.sending.put(frames.settings([(frames.MAX_CONCURRENT_STREAMS, 1)]))
    assert await call == b""


async def test_a_server_that_breaks_a_rule_is_left(channel: Channel, scripted: Scripted) -> None:
    scripted.script = lambda answer: answer.connection.sending.put(frames.frame(frames.PING, 0, 1))
    error = await failed(channel.unary_unary("/t/m")(b"", timeout=_S))
    assert (error.code(), error.sent) == (Code.UNAVAILABLE, True)
    assert "PING" in error.details()
    while channel.get_state() is State.READY:
        await asyncio.sleep(0)
    assert "PING" in channel.why
    scripted.script = lambda answer: answer.headers(HEAD).data(framed(b"")).headers(OK, ends=True)
    assert await channel.unary_unary("/t/m")(b"", timeout=_S) == b""
    assert len(scripted.wires) == 2


async def test_a_channel_is_closed_while_its_server_reads_what_it_did_wrong(
    channel: Channel, scripted: Scripted
) -> None:
    scripted.script = lambda answer: answer.connection.sending.put(frames.frame(frames.PING, 0, 1))
    call = channel.unary_unary("/t/m")(b"", timeout=_S)
    assert await call.code() is Code.UNAVAILABLE
    await channel.close()


async def test_a_connection_that_is_lost_says_why(channel: Channel, scripted: Scripted) -> None:
    def script(answer: Answer) -> None:
        answer.connection.close(ErrorCode.INTERNAL_ERROR, "the disk is full")
        scripted.wires[-1].close()

    scripted.script = script
    call = channel.unary_stream("/t/m")(b"", timeout=_S)
    error = await failed(call.read())
    assert error.code() is Code.UNAVAILABLE
    # Its stream is above the last that a server knows which has not looked at it.
    assert "the disk is full" in channel.why


@pytest.mark.parametrize("limits", [ChannelLimits(keepalive_s=0.05, keepalive_timeout_s=0.1)])
async def test_a_server_that_stands_still_is_left_while_a_call_waits(
    channel: Channel, scripted: Scripted
) -> None:
    call = channel.unary_unary("/t/m")(b"", timeout=_S)
    await scripted.came.wait()
    scripted.wires[0].transport.pause_reading()
    error = await failed(call)
    assert error.code() is Code.UNAVAILABLE
    assert "ping" in error.details()
    assert error.sent


@pytest.mark.parametrize("limits", [ChannelLimits(keepalive_s=0.05)])
async def test_a_server_that_answers_pings_may_take_its_time(
    channel: Channel, scripted: Scripted
) -> None:
    taken: list[Answer] = []
    scripted.script = taken.append
    call = channel.unary_unary("/t/m")(b"", timeout=_S)
    await scripted.came.wait()
    reads = scripted.wires[0].reads
    while scripted.wires[0].reads < reads + 5:
        await asyncio.sleep(0.01)
    taken[0].headers(HEAD).data(framed(b"well")).headers(OK, ends=True)
    assert await call == b"well"


async def test_pings_that_a_server_does_not_want_come_half_as_often(
    channel: Channel, scripted: Scripted
) -> None:
    scripted.script = lambda answer: answer.connection.sending.put(
        frames.goaway(answer.stream.number, ErrorCode.ENHANCE_YOUR_CALM, b"too_many_pings")
    )
    before = channel._keepalive_s
    assert before is not None
    call = channel.unary_unary("/t/m")(b"")
    while channel._keepalive_s != 2 * before:
        await asyncio.sleep(0)
    call.cancel()


@pytest.mark.parametrize("limits", [ChannelLimits(attempt_s=0.2)])
async def test_a_peer_that_accepts_and_says_nothing_fails_the_attempt(
    channel: Channel, scripted: Scripted
) -> None:
    scripted.begin = lambda _: None
    error = await failed(channel.unary_unary("/t/m")(b"", timeout=_S))
    assert (error.code(), error.sent) == (Code.UNAVAILABLE, False)
    assert "no connection in 0.2 s" in error.details()


async def test_a_server_that_takes_no_calls_from_the_beginning_is_not_ready(
    channel: Channel, scripted: Scripted
) -> None:
    def begin(connection: Connection) -> None:
        Connection.begin(connection)
        connection.close(ErrorCode.NO_ERROR, "full")

    scripted.begin = begin
    error = await failed(channel.unary_unary("/t/m")(b"", timeout=_S))
    assert (error.code(), error.sent) == (Code.UNAVAILABLE, False)
    assert channel.get_state() is State.TRANSIENT_FAILURE


async def test_streams_that_both_ends_reset_are_no_flood(
    channel: Channel, scripted: Scripted
) -> None:
    def script(answer: Answer) -> None:
        answer.headers((*HEAD, *OK), ends=True)

    class Early(Request):
        def __init__(self, server: Scripted, stream: Stream) -> None:
            super().__init__(server, stream)
            asyncio.get_running_loop().call_soon(script, Answer(server.connection, stream))

    scripted.accept = lambda stream, headers, ended: Early(scripted, stream)  # type: ignore[method-assign]
    for _ in range(6):
        calls = [channel.stream_stream("/t/m")() for _ in range(500)]
        assert {await each.code() for each in calls} == {Code.OK}
    assert len(scripted.wires) == 1


async def test_calls_that_are_refused_leave_the_connection_as_it_is(
    channel: Channel, scripted: Scripted
) -> None:
    scripted.script = lambda answer: answer.reset(ErrorCode.REFUSED_STREAM)
    for _ in range(6):
        calls = [channel.unary_unary("/t/m")(b"") for _ in range(400)]
        assert {await each.code() for each in calls} == {Code.UNAVAILABLE}
    assert len(scripted.wires) == 1


async def test_what_comes_before_the_answer_is_told_before_it(
    channel: Channel, scripted: Scripted
) -> None:
    taken: list[Answer] = []
    scripted.script = lambda answer: taken.append(answer.headers((*HEAD, (b"m", b"1"))))
    call = channel.unary_unary("/t/m")(b"", timeout=_S)
    assert await call.initial_metadata() == (("m", "1"),)
    assert not call.done()
    taken[0].data(framed(b"")).headers(OK, ends=True)
    await call
    failing = channel.unary_unary("/t/m")(b"", timeout=0.05)
    scripted.script = lambda _: None
    assert await failing.initial_metadata() in ((), (("m", "1"),))


@pytest.mark.parametrize("stream", [False, True], ids=["unary", "stream"])
@pytest.mark.parametrize("code", [Code.OK, Code.NOT_FOUND])
async def test_a_request_that_was_answered_before_its_end_is_given_up(
    channel: Channel, scripted: Scripted, stream: bool, code: Code
) -> None:
    class Early(Request):
        def data(self, content: bytes, ended: bool) -> None:
            if self.content:
                return
            self.content = content
            number, put = self.stream.number, self.server.connection.sending.put
            flags = frames.END_HEADERS | frames.END_STREAM
            trailers = plain_block(((b"grpc-status", b"%d" % code),))
            # Its server leaves the other half of the stream as it is.
            put(frames.frame(frames.HEADERS, frames.END_HEADERS, number, plain_block(HEAD)))
            put(frames.frame(frames.DATA, 0, number, framed(b"")))
            put(frames.frame(frames.HEADERS, flags, number, trailers))

    scripted.accept = lambda stream, headers, ended: Early(scripted, stream)  # type: ignore[method-assign]
    if stream:
        call: Any = channel.stream_stream("/t/m")()
        await call.write(b"a")
    else:
        call = channel.unary_unary("/t/m")(bytes(10 << 20))
    assert await call.code() is code
    await scripted.reset.wait()
    assert scripted.resets == [ErrorCode.CANCEL]
    assert channel.link is not None
    assert not channel.link.busy


async def test_a_failure_that_nobody_waits_for_is_no_mistake(
    channel: Channel, scripted: Scripted
) -> None:
    said: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
    scripted.script = lambda answer: answer.reset(ErrorCode.CANCEL)
    calls: list[Any] = [channel.unary_unary("/t/m")(b""), channel.unary_stream("/t/m")(b"")]
    await asyncio.wait(calls)
    calls.clear()
    gc.collect()
    assert not said
