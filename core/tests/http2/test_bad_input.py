"""What no peer may send: the code that it ends with, and how much it costs until then."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count, islice, repeat

import pytest
from quorate.http2 import frames
from quorate.http2.connection import ConnectionLimits
from quorate.http2.errors import ConnectionFault
from quorate.http2.hpack import Decoder, HeaderListTooLargeError, HpackError, plain_block
from quorate.http2.stream import Stream

from core.tests.http2.test_connection import Owner, data, request

HEADERS, DATA, PING = frames.HEADERS, frames.DATA, frames.PING
frame = frames.frame


def opened(part: Callable[[int], bytes], *, ends: bool = False) -> Iterator[bytes]:
    """Yield streams, each with something that it must not have."""
    for number in count(3, 2):
        yield request(number, ends=ends) + part(number)


def wide(size: int) -> bytes:
    """Return a block of more header fields than are taken, in frames that may be sent."""
    block = plain_block(
        [(b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/a"), (b"a", bytes(size))]
    )
    first, rest = block[:10], block[10:]
    found = frame(HEADERS, frames.END_STREAM, 1, first)
    while len(rest) > 16_000:
        found, rest = found + frame(frames.CONTINUATION, 0, 1, rest[:16_000]), rest[16_000:]
    return found + frame(frames.CONTINUATION, frames.END_HEADERS, 1, rest)


#: By name: what comes on a connection, and the code that it ends with.
CONNECTION_ENDS: dict[str, tuple[Callable[[], Iterator[bytes]], int]] = {
    # Rapid reset, CVE-2023-44487; and its twin by the server's own resets, CVE-2025-8671.
    "rapid reset": (lambda: opened(lambda n: frames.rst_stream(n, 8)), 11),
    "made reset: a window of nothing": (lambda: opened(lambda n: frames.window_update(n, 0)), 11),
    "made reset: a window overflows": (
        lambda: opened(lambda n: frames.window_update(n, frames.LARGEST_WINDOW)),
        11,
    ),
    "made reset: PRIORITY of a wrong length": (
        lambda: opened(lambda n: frame(frames.PRIORITY, 0, n, bytes(4))),
        11,
    ),
    "made reset: data after the end": (lambda: opened(lambda n: data(n, b"a"), ends=True), 11),
    "made reset: headers after the end": (lambda: opened(lambda n: request(n), ends=True), 11),
    "made reset: more than the window": (lambda: opened(lambda n: data(n, bytes(1_001))), 11),
    "made reset: no trailers": (lambda: opened(lambda n: request(n)), 11),
    "refused streams": (lambda: opened(lambda n: b""), 11),
    "CONTINUATION without end": (
        lambda: iter([frame(HEADERS, 0, 3), *[frame(frames.CONTINUATION, 0, 3, b"\x82")] * 100]),
        11,
    ),
    "a block without end": (
        lambda: iter([frame(HEADERS, 0, 3), *[frame(frames.CONTINUATION, 0, 3, bytes(9_000))] * 9]),
        11,
    ),
    "CONTINUATION of nothing": (lambda: iter([frame(frames.CONTINUATION, 0, 1)]), 1),
    "a block is interrupted": (
        lambda: iter([frame(HEADERS, 0, 3), frame(PING, 0, 0, b"1234abcd")]),
        1,
    ),
    "table size updates": (lambda: iter([frame(HEADERS, frames.END_HEADERS, 3, b"\x20" * 99)]), 9),
    "a table that is too large": (
        lambda: iter([frame(HEADERS, frames.END_HEADERS, 3, b"\x3f\xff\xff\x03")]),
        9,
    ),
    "PING": (lambda: repeat(frame(PING, 0, 0, bytes(8))), 11),
    "PING acknowledged": (lambda: repeat(frame(PING, 1, 0, bytes(8))), 11),
    "SETTINGS": (lambda: repeat(frames.settings([])), 11),
    "SETTINGS acknowledged": (lambda: repeat(frame(frames.SETTINGS, 1, 0)), 11),
    "GOAWAY": (lambda: repeat(frames.goaway(0, 0)), 11),
    "PRIORITY": (lambda: repeat(frame(frames.PRIORITY, 0, 9, bytes(5))), 11),
    "empty data": (lambda: repeat(data(1, b"")), 11),
    "padding alone": (lambda: repeat(frame(DATA, frames.PADDED, 1, b"\5" + bytes(5))), 11),
    "an unknown kind": (lambda: repeat(frame(77, 0, 0)), 11),
    "RST_STREAM of a closed stream": (
        lambda: repeat(frames.rst_stream(1, 8)),
        11,
    ),
    "the window overflows": (lambda: repeat(frames.window_update(0, 1 << 30)), 3),
    "all windows overflow": (
        lambda: iter(
            [
                frames.window_update(1, frames.LARGEST_WINDOW - frames.INITIAL_WINDOW),
                frames.settings([(frames.INITIAL_WINDOW_SIZE, frames.INITIAL_WINDOW + 1)]),
            ]
        ),
        3,
    ),
    "a window is too large": (
        lambda: iter([frames.settings([(frames.INITIAL_WINDOW_SIZE, 1 << 31)])]),
        3,
    ),
    "a frame is too large": (lambda: iter([frame(DATA, 0, 1, bytes((1 << 16) + 1))]), 6),
    "data of an idle stream": (lambda: iter([data(9, b"a")]), 1),
    "a window of an idle stream": (lambda: iter([frames.window_update(9, 1)]), 1),
    "a reset of an idle stream": (lambda: iter([frames.rst_stream(9, 8)]), 1),
    "an even stream": (lambda: iter([request(2)]), 1),
    "a push": (lambda: iter([frame(frames.PUSH_PROMISE, 4, 1, bytes(4))]), 1),
}


@pytest.mark.parametrize("name", CONNECTION_ENDS)
def test_a_connection_ends_with_its_code_and_keeps_little(name: str) -> None:
    parts, code = CONNECTION_ENDS[name]
    owner = Owner()
    owner.take(request(1, ends=False))
    connection = owner.connection

    def take_all() -> None:
        for part in islice(parts(), 200):
            owner.take(part)
            assert len(connection.streams) <= 10

    with pytest.raises(ConnectionFault) as raised:
        take_all()
    assert raised.value.code == code
    assert owner.faults[-1] == code
    kind, _, _, content = owner.sent()[-1]
    assert (kind, frames.goaway_in(content)[1]) == (frames.GOAWAY, code)


STREAM_ENDS = {
    "data after the end": (request(3) + data(3, b"a"), 5),
    "headers after the end": (request(3) + request(3), 5),
    "more than the window": (request(3, ends=False) + data(3, bytes(1_001)), 3),
    "its window overflows": (request(3) + frames.window_update(3, frames.LARGEST_WINDOW), 3),
    "its window grows by nothing": (request(3) + frames.window_update(3, 0), 1),
    "fields over the bound": (wide(39_950), 1),
    "trailers without the end": (request(3, ends=False) + request(3, ends=False), 1),
}


@pytest.mark.parametrize("name", STREAM_ENDS)
def test_a_stream_ends_with_its_code_and_the_others_go_on(name: str) -> None:
    content, code = STREAM_ENDS[name]
    owner = Owner(ConnectionLimits(stream_window=1_000, header_list_bytes=40_000))
    owner.take(content)
    assert owner.faults == [code]
    resets = [content for kind, _, _, content in owner.sent() if kind == frames.RST_STREAM]
    assert [frames.number(each) for each in resets] == [code]
    assert not owner.connection.streams
    owner.take(request(5, ends=False) + data(5, b"still here", ends=True))
    assert owner.content.endswith(b"still here")


def test_a_string_that_expands_is_not_kept() -> None:
    decoder = Decoder(list, 4_096, 1_000)
    # 'a' has five bits: 1,000 bytes of them are 1,600 letters.
    coded = int("00011" * 1_600, 2).to_bytes(1_000, "big")
    block = b"\x40\1a" + b"\xff\xe9\x06" + coded
    with pytest.raises(HeaderListTooLargeError):
        decoder.decode(block)
    # The table has it: a reference of one byte costs the sender nothing, and is not kept either.
    with pytest.raises(HeaderListTooLargeError):
        decoder.decode(b"\xbe" * 10_000)


def test_no_more_size_updates_than_an_encoder_needs() -> None:
    decoder = Decoder(list, 4_096, 1_000)
    assert decoder.decode(b"\x20\x3f\xe1\x1f\x82") == [(b":method", b"GET")]
    with pytest.raises(HpackError):
        decoder.decode(b"\x20\x20\x20\x82")


def test_fields_of_many_bytes_are_not_remembered_by_few() -> None:
    decoder: Decoder[object] = Decoder(lambda fields: object(), 4_096, 1 << 16)
    decoder.decode(plain_block([]) + b"\x40\1a" + b"\x7f\xe9\x06" + b"b" * 1_000)
    assert decoder.decode(b"\xbe") is decoder.decode(b"\xbe")
    assert decoder.decode(b"\xbe" * 10) is not decoder.decode(b"\xbe" * 10)


class Looked(Stream):
    """Counts how often its window is looked at."""

    __slots__ = ("_window", "looks")

    @property
    def send_window(self) -> int:
        self.looks += 1
        return self._window

    @send_window.setter
    def send_window(self, value: int) -> None:
        self.looks = getattr(self, "looks", 0)
        self._window = value


@pytest.mark.parametrize("own", [True, False], ids=["of the stream", "of the connection"])
def test_streams_that_wait_cost_nothing_as_a_window_grows(own: bool) -> None:
    """Else frames of 13 bytes cost a look at each of a thousand streams."""
    owner = Owner()
    sending = owner.connection.sending
    streams = []
    for number in range(1, 21, 2):
        stream = Looked(number, 0 if own else 1_000, 1_000)
        stream.owner = owner
        streams.append(stream)
    if not own:
        sending.window = 0
    for stream in streams:
        sending.data(stream, bytes(2_000))
        stream.looks = 0
    for _ in range(10):
        sending.widen(1)
    assert sum(stream.looks for stream in streams) < 100
    assert len(owner.sent()) == (0 if own else 10)


def test_settings_of_a_frame_change_the_windows_of_streams_once() -> None:
    owner = Owner()
    owner.take(request(1))
    [stream] = owner.streams
    looked = Looked(1, stream.send_window, stream.receive_window)
    looked.owner = owner
    owner.connection.streams[1] = looked
    looked.looks = 0
    values = [(frames.INITIAL_WINDOW_SIZE, size) for size in range(10_000)]
    owner.take(frames.settings(values))
    assert looked.looks < 10
    assert looked.send_window == 9_999
