from itertools import pairwise

import pytest
from hypothesis import given, strategies as st
from quorate_name_server.remoting.frames import (
    LARGEST_FRAME,
    Frame,
    Frames,
    MalformedError,
    frame,
    skip_proxy,
)

HEADER = (
    b'{"code":106,"flag":0,"language":"JAVA","opaque":2,"serializeTypeCurrentRPC":"JSON",'
    b'"version":479}'
)
#: As mqadmin sent it.
CLUSTER_QUESTION = bytes.fromhex("00000065 00000061") + HEADER


def cut(stream: bytes, at: list[int]) -> list[Frame]:
    frames = Frames()
    bounds = [0, *sorted(at), len(stream)]
    return [found for start, end in pairwise(bounds) for found in frames.feed(stream[start:end])]


def test_a_frame_is_what_a_stock_tool_sends() -> None:
    assert frame(HEADER) == CLUSTER_QUESTION
    assert Frames().feed(CLUSTER_QUESTION) == [(0, HEADER, b"")]


@given(st.lists(st.integers(0, 3 * len(CLUSTER_QUESTION) + 5), max_size=12))
def test_frames_are_the_same_wherever_the_stream_is_cut(at: list[int]) -> None:
    stream = CLUSTER_QUESTION + frame(HEADER, b"body") + CLUSTER_QUESTION

    assert cut(stream, at) == [(0, HEADER, b""), (0, HEADER, b"body"), (0, HEADER, b"")]


def test_what_is_incomplete_is_held_and_told() -> None:
    frames = Frames()

    assert frames.feed(CLUSTER_QUESTION + CLUSTER_QUESTION[:20]) == [(0, HEADER, b"")]
    assert (frames.held, frames.expected) == (20, len(CLUSTER_QUESTION))


def test_the_largest_frame_is_taken() -> None:
    body = bytes(LARGEST_FRAME - 8 - len(HEADER))

    [(_, _, found)] = Frames().feed(frame(HEADER, body))

    assert len(found) == len(body)


@pytest.mark.parametrize(
    "stream",
    [
        pytest.param((LARGEST_FRAME - 3).to_bytes(4, "big") + bytes(4), id="over the limit"),
        pytest.param(bytes.fromhex("ffffffff 00000000"), id="negative"),
        pytest.param(bytes.fromhex("00000003 00000000"), id="no room for a header"),
        pytest.param(bytes.fromhex("00000010 0000000d") + bytes(12), id="header beyond the end"),
        pytest.param(b"GET / HTTP/1.1\r\n\r\n", id="HTTP"),
    ],
)
def test_what_is_no_frame_is_refused_as_soon_as_its_head_is_there(stream: bytes) -> None:
    with pytest.raises(MalformedError):
        Frames().feed(stream[:8])


PROXY_LINE = b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 9876\r\n"
PROXY_BINARY = b"\r\n\r\n\x00\r\nQUIT\n" + bytes.fromhex("21110003") + b"abc"


@pytest.mark.parametrize("header", [b"", PROXY_LINE, PROXY_BINARY])
def test_a_proxy_header_is_skipped_however_much_of_it_is_there(header: bytes) -> None:
    whole = header + CLUSTER_QUESTION

    for end in range(len(header)):
        assert skip_proxy(whole[: max(end, 1)]) is None
    assert skip_proxy(whole) == CLUSTER_QUESTION


@pytest.mark.parametrize("start", [b"POST / HTTP/1.1\r\n", b"PROXY " + b"x" * 200, b"\r\nhello"])
def test_what_looks_like_a_proxy_header_and_is_none_is_refused(start: bytes) -> None:
    with pytest.raises(MalformedError):
        skip_proxy(start)
