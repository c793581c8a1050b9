"""What clients must not do ends a stream or the connection, and costs little."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

import pytest
from quorate.http2 import frames
from quorate.http2.connection import Connection, ConnectionLimits
from quorate.http2.errors import ConnectionFault, ErrorCode
from quorate.http2.headers import Headers
from quorate.http2.hpack import plain_block
from quorate.http2.stream import Stream

REQUEST = plain_block([(b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/a")])
LIMITS = ConnectionLimits(streams=10, resets=20, control_frames=30, stream_window=1_000)


class Owner:
    """Records what a connection says, and the frames that it sends."""

    def __init__(self, limits: ConnectionLimits = LIMITS) -> None:
        self.faults: list[ErrorCode] = []
        self.streams: list[Stream] = []
        self.content = b""
        self.ended = 0
        self.lost_with: list[int] = []
        self.connection = Connection(
            self, limits, client=False, ready=lambda: None, clock=lambda: 0.0
        )
        self.connection.begin()
        self.take(frames.PREFACE + frames.settings([]))
        self.sent()

    def take(self, content: bytes) -> int:
        return self.connection.receive(content, len(content))

    def sent(self) -> list[tuple[int, int, int, bytes]]:
        content, found = self.connection.sending.take(), []
        while content:
            high, low, kind, flags, number = frames.HEAD.unpack_from(content)
            end = 9 + (high << 8 | low)
            found.append((kind, flags, number, content[9:end]))
            content = content[end:]
        return found

    def accept(self, stream: Stream, headers: Headers, ended: bool) -> Owner:
        self.streams.append(stream)
        return self

    def headers(self, headers: Headers, ended: bool) -> None:
        self.ended += ended

    def data(self, content: bytes, ended: bool) -> None:
        self.content += content
        self.ended += ended

    def writable(self) -> None: ...

    def lost(self, code: ErrorCode | int, why: str) -> None:
        self.lost_with.append(code)

    def refused(self, code: ErrorCode, why: str) -> None:
        self.faults.append(code)

    def configured(self) -> None: ...

    def going_away(self, last: int, code: int, why: bytes) -> None: ...

    def answered(self, payload: bytes) -> None: ...

    def idle(self) -> None: ...


@pytest.fixture
def owner() -> Owner:
    return Owner()


def request(number: int, *, ends: bool = True) -> bytes:
    flags = frames.END_HEADERS | (frames.END_STREAM if ends else 0)
    return frames.frame(frames.HEADERS, flags, number, REQUEST)


def data(number: int, content: bytes, *, ends: bool = False) -> bytes:
    return frames.frame(frames.DATA, frames.END_STREAM if ends else 0, number, content)


def test_bytes_may_come_one_at_a_time(owner: Owner) -> None:
    content, rest = request(1, ends=False) + data(1, b"ab") + data(1, b"c", ends=True), b""
    for each in content:
        rest += bytes((each,))
        rest = rest[owner.take(rest) :]
    assert (owner.content, owner.ended, rest) == (b"abc", 1, b"")


def test_data_waits_for_the_window_of_the_other_end(owner: Owner) -> None:
    owner.take(request(1))
    [stream] = owner.streams
    sending = owner.connection.sending
    sending.data(stream, b"x" * 70_000, trailers=plain_block([(b"grpc-status", b"0")]))
    assert sum(len(payload) for _, _, _, payload in owner.sent()) == frames.INITIAL_WINDOW
    owner.take(frames.window_update(1, 10_000))
    assert owner.sent() == []
    owner.take(frames.window_update(0, 10_000))
    kinds = [(kind, flags) for kind, flags, _, _ in owner.sent()]
    assert kinds == [(frames.DATA, 0), (frames.HEADERS, frames.END_HEADERS | frames.END_STREAM)]
    assert not owner.connection.streams


def test_streams_share_a_window_frame_by_frame(owner: Owner) -> None:
    owner.take(request(1) + request(3))
    sending = owner.connection.sending
    sending.window = 0
    for stream in owner.streams:
        sending.data(stream, bytes(40_000))
    owner.take(frames.window_update(0, 65_536))
    assert [number for _, _, number, _ in owner.sent()] == [1, 3, 1, 3]


def test_more_than_a_window_ends_the_stream(owner: Owner) -> None:
    owner.take(request(1, ends=False) + data(1, bytes(1_001)))
    assert owner.faults == [ErrorCode.FLOW_CONTROL_ERROR]
    assert owner.lost_with == [ErrorCode.FLOW_CONTROL_ERROR]


def test_a_window_is_given_back_for_what_was_consumed(owner: Owner) -> None:
    owner.take(request(1, ends=False))
    for _ in range(20):
        owner.take(data(1, bytes(500)))
        owner.connection.consumed(owner.streams[0], 500)
    assert not owner.faults


def flooded(owner: Owner, part: Callable[[], bytes], most: int) -> ErrorCode | None:
    """Send parts until the connection is ended, and return the code that it ends with."""
    for _ in range(most):
        try:
            owner.take(part())
        except ConnectionFault as fault:
            return fault.code
    return None


@pytest.mark.parametrize("kind", ["reset", "fault", "ping", "settings", "empty", "priority"])
def test_a_flood_ends_the_connection(owner: Owner, kind: str) -> None:
    numbers = count(3, 2)
    owner.take(request(1, ends=False))

    def part() -> bytes:
        number = next(numbers)
        match kind:
            case "reset":
                return request(number) + frames.rst_stream(number, ErrorCode.CANCEL)
            case "fault":
                return request(number) + frames.window_update(number, 0)
            case "ping":
                return frames.frame(frames.PING, 0, 0, bytes(8))
            case "settings":
                return frames.settings([(frames.INITIAL_WINDOW_SIZE, number)])
            case "priority":
                return frames.frame(frames.PRIORITY, 0, number, bytes(5))
            case _:
                return data(1, b"")

    assert flooded(owner, part, 100) is ErrorCode.ENHANCE_YOUR_CALM
    assert owner.sent()[-1][0] == frames.GOAWAY


def test_pings_beside_data_are_no_flood(owner: Owner) -> None:
    owner.take(request(1, ends=False))
    [stream] = owner.streams
    ping = frames.frame(frames.PING, 0, 0, bytes(8))

    def measured() -> bytes:
        owner.connection.consumed(stream, 1)
        return data(1, b"a") + ping

    def measured_by_reader() -> bytes:
        owner.connection.sending.data(stream, b"a")
        return frames.window_update(1, 1) + ping

    assert flooded(owner, measured, 1_000) is None
    assert flooded(owner, measured_by_reader, 1_000) is None


def test_a_header_block_without_end_ends_the_connection(owner: Owner) -> None:
    owner.take(frames.frame(frames.HEADERS, 0, 1, REQUEST))
    more = frames.frame(frames.CONTINUATION, 0, 1)
    assert flooded(owner, lambda: more, 1_000) is ErrorCode.ENHANCE_YOUR_CALM


def test_acknowledgements_do_not_pile_up_for_a_client_that_reads_nothing() -> None:
    owner = Owner(ConnectionLimits(control_frames=10_000))
    owner.connection.sending.paused = True
    ping = frames.frame(frames.PING, 0, 0, bytes(8))
    assert flooded(owner, lambda: ping, 5_000) is ErrorCode.ENHANCE_YOUR_CALM


def test_no_more_streams_than_announced(owner: Owner) -> None:
    for number in range(1, 23, 2):
        owner.take(request(number, ends=False))
    assert owner.faults == [ErrorCode.REFUSED_STREAM]
    assert len(owner.streams) == LIMITS.streams


def test_the_end_comes_in_two_steps(owner: Owner) -> None:
    owner.connection.drain()
    first, ping = owner.sent()
    assert frames.goaway_in(first[3])[0] == frames.LARGEST_STREAM
    owner.take(request(1, ends=False))
    owner.take(frames.frame(frames.PING, frames.ACK, 0, ping[3]))
    [second] = owner.sent()
    assert frames.goaway_in(second[3])[0] == 1
    owner.take(request(3))
    assert [each.number for each in owner.streams] == [1]


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", ErrorCode.PROTOCOL_ERROR),
        (frames.PREFACE + frames.frame(frames.PING, 0, 0, bytes(8)), ErrorCode.PROTOCOL_ERROR),
    ],
    ids=["HTTP/1", "no settings"],
)
def test_what_does_not_begin_as_a_client_is_ended(content: bytes, code: ErrorCode) -> None:
    owner = Owner.__new__(Owner)
    owner.faults = []
    owner.connection = Connection(owner, LIMITS, client=False, ready=lambda: None)
    with pytest.raises(ConnectionFault) as raised:
        owner.take(content)
    assert raised.value.code is code


def test_the_next_block_says_that_no_table_is_needed_where_the_other_end_shrinks_its(
    owner: Owner,
) -> None:
    owner.take(request(1) + request(3) + frames.settings([(frames.HEADER_TABLE_SIZE, 100)]))
    owner.sent()
    for stream in owner.streams:
        owner.connection.sending.headers(stream, REQUEST, ends=True)
    assert [block for *_, block in owner.sent()] == [b"\x20" + REQUEST, REQUEST]
