"""A request that is sent at once keeps to the bounds that one in parts keeps to."""

from __future__ import annotations

import pytest
from quorate.http2 import frames
from quorate.http2.errors import ErrorCode
from quorate.http2.headers import Headers
from quorate.http2.sending import Sending
from quorate.http2.stream import Stream

_ENDS = frames.END_STREAM


class Owner:
    """Takes nothing."""

    def headers(self, headers: Headers, ended: bool) -> None: ...

    def data(self, content: bytes, ended: bool) -> None: ...

    def writable(self) -> None: ...

    def lost(self, code: ErrorCode | int, why: str) -> None: ...


class Sent:
    """What is sent of one stream."""

    def __init__(self) -> None:
        self.ready = 0
        self.ended: list[Stream] = []
        self.sending = Sending(self.tell, self.ended.append)
        self.stream = Stream(1, 100_000, 100_000)
        self.stream.owner = Owner()

    def tell(self) -> None:
        self.ready += 1

    def frames(self) -> list[tuple[int, int, bytes]]:
        content, found = self.sending.take(), []
        while content:
            high, low, kind, flags, _ = frames.HEAD.unpack_from(content)
            end = 9 + (high << 8 | low)
            found.append((kind, flags, content[9:end]))
            content = content[end:]
        return found


@pytest.fixture
def sent() -> Sent:
    return Sent()


def test_a_request_is_sent_at_once(sent: Sent) -> None:
    sent.sending.whole(sent.stream, b"block", b"content")
    assert sent.ready == 1
    assert sent.frames() == [
        (frames.HEADERS, frames.END_HEADERS, b"block"),
        (frames.DATA, _ENDS, b"content"),
    ]
    assert sent.stream.local_closed
    assert sent.stream.send_window == 100_000 - 7
    assert sent.sending.window == frames.INITIAL_WINDOW - 7
    assert sent.ended == [sent.stream]


def test_an_answer_is_sent_at_once(sent: Sent) -> None:
    sent.sending.whole(sent.stream, b"block", b"content", b"trailers")
    assert sent.frames() == [
        (frames.HEADERS, frames.END_HEADERS, b"block"),
        (frames.DATA, 0, b"content"),
        (frames.HEADERS, frames.END_HEADERS | _ENDS, b"trailers"),
    ]
    assert sent.ended == [sent.stream]


def test_much_does_not_wait_for_the_end_of_the_turn() -> None:
    told: list[str] = []
    sending = Sending(
        lambda: told.append("ready"), lambda stream: None, lambda: told.append("full")
    )
    sending.window = 100_000
    for number in (1, 3, 5):
        sending.whole(Stream(number, 100_000, 0), b"", bytes(5_000), b"")
    assert told == ["ready", "full", "full"]
    sending.take()
    sending.hold()
    sending.data(Stream(7, 100_000, 0), bytes(9_000))
    assert told[3:] == ["full"]


def test_a_smaller_table_is_said_first(sent: Sent) -> None:
    sent.sending.shrink_table(0)
    sent.sending.whole(sent.stream, b"block", b"")
    assert sent.frames()[0] == (frames.HEADERS, frames.END_HEADERS, b"\x20block")


def test_a_large_block_goes_on_in_frames_of_its_own(sent: Sent) -> None:
    most = sent.sending.frame_bytes
    sent.sending.whole(sent.stream, bytes(most + 1), b"")
    assert [(kind, flags, len(part)) for kind, flags, part in sent.frames()] == [
        (frames.HEADERS, 0, most),
        (frames.CONTINUATION, frames.END_HEADERS, 1),
        (frames.DATA, _ENDS, 0),
    ]


@pytest.mark.parametrize("bound", ["frame", "stream", "connection", "socket"])
def test_content_waits_for_each_bound(sent: Sent, bound: str) -> None:
    sending, stream = sent.sending, sent.stream
    match bound:
        case "frame":
            sending.window, size = 100_000, 2 * sending.frame_bytes
        case "stream":
            stream.send_window, size = 10, 11
        case "connection":
            sending.window, size = 10, 11
        case _:
            sending.paused, size = True, 1
    sending.whole(stream, b"block", bytes(size))
    head, *parts = sent.frames()
    assert head == (frames.HEADERS, frames.END_HEADERS, b"block")
    assert all(len(part) <= sending.frame_bytes for _, _, part in parts)
    if bound == "frame":
        assert [flags for _, flags, _ in parts] == [0, _ENDS]
        return
    came = {"stream": 10, "connection": 10, "socket": 0}[bound]
    assert sum(len(part) for _, _, part in parts) == came
    assert not stream.local_closed
    sending.paused = False
    sending.window = 100
    sending.widen_stream(stream, 100)
    assert sent.frames() == [(frames.DATA, _ENDS, bytes(size - came))]
    assert stream.local_closed
