from __future__ import annotations

import asyncio
import socket
from typing import Any, cast

from hypothesis import given, strategies as st
from quorate.consensus.messages import Peer
from quorate.consensus.peer.connection import Connection
from quorate.consensus.peer.incoming import Incoming, Refused
from quorate.consensus.peer.streams import StreamLimits
from quorate.consensus.peer.wire import (
    LENGTH,
    Answer,
    Handshake,
    encode_handshake,
    encode_opening,
)

LARGEST = 200_000


class Transport:
    """What a connection stands on; nothing leaves it."""

    def __init__(self) -> None:
        self.socket = socket.socket()
        self.written = b""
        self.ended = ""

    def get_extra_info(self, name: str) -> object:
        return {"socket": self.socket, "peername": ("192.0.2.1", 7)}.get(name)

    def set_write_buffer_limits(self, high: int) -> None: ...

    def write(self, content: bytes) -> None:
        assert not self.ended
        self.written += content

    def close(self) -> None:
        self.ended = "closed"

    def abort(self) -> None:
        self.ended = "aborted"


class Reader:
    """Writes down what it is called with."""

    def __init__(self) -> None:
        self.frames: list[bytes] = []
        self.sizes: list[int] = []
        self.rooms = 0

    def opened(self, connection: Connection) -> None: ...

    def read(self, content: memoryview) -> None:
        self.frames.append(bytes(content))

    def oversized(self, size: int) -> None:
        self.sizes.append(size)

    def has_room(self) -> None:
        self.rooms += 1

    def closed(self) -> None: ...


def made(reader: Any, largest: int = LARGEST) -> tuple[Connection, Transport]:
    transport = Transport()
    with transport.socket:
        connection = Connection(reader, largest, 5.0)
        connection.connection_made(cast(asyncio.Transport, transport))
    return connection, transport


def feed(connection: Connection, transport: Transport, content: bytes) -> None:
    """Let bytes come as a transport does, which reads no more once it has ended."""
    while content and not transport.ended:
        buffer = connection.get_buffer(-1)
        size = min(len(buffer), len(content))
        assert size > 0
        buffer[:size] = content[:size]
        connection.buffer_updated(size)
        content = content[size:]


@given(
    st.lists(st.sampled_from([0, 1, 2, 5, 1_000, 65_531, 65_532, 65_533, LARGEST]), max_size=6),
    st.lists(st.integers(1, 70_000)),
)
def test_frames_come_whole_in_whatever_pieces_they_come(sizes: list[int], cuts: list[int]) -> None:
    frames = [bytes([number]) * size for number, size in enumerate(sizes)]
    content = b"".join(LENGTH.pack(len(frame)) + frame for frame in frames)
    reader = Reader()
    connection, transport = made(reader)
    for cut in cuts:
        feed(connection, transport, content[:cut])
        content = content[cut:]
    feed(connection, transport, content)
    assert reader.frames == frames
    assert not transport.ended


def test_a_frame_over_the_limit_is_not_read() -> None:
    reader = Reader()
    connection, transport = made(reader)
    feed(connection, transport, LENGTH.pack(1) + b"a" + LENGTH.pack(LARGEST + 1) + b"b" * 9)
    assert (reader.frames, reader.sizes) == ([b"a"], [LARGEST + 1])
    assert transport.ended == "aborted"


def test_nothing_is_read_after_the_reader_has_ended_it() -> None:
    class Ending(Reader):
        def read(self, content: memoryview) -> None:
            super().read(content)
            connection.close()

    reader = Ending()
    connection, transport = made(reader)
    feed(connection, transport, (LENGTH.pack(1) + b"a") * 3)
    assert reader.frames == [b"a"]
    assert transport.ended == "closed"


def test_who_writes_hears_when_there_is_room() -> None:
    reader = Reader()
    connection, _ = made(reader)
    seen = [connection.writable]
    connection.pause_writing()
    seen.append(connection.writable)
    connection.resume_writing()
    seen.append(connection.writable)
    connection.abort()
    connection.resume_writing()
    seen.append(connection.writable)
    assert seen == [True, False, True, False]
    assert reader.rooms == 1


def test_a_large_frame_leaves_no_large_buffer_behind() -> None:
    reader = Reader()
    connection, transport = made(reader, largest=8 << 20)
    feed(connection, transport, LENGTH.pack(8 << 20) + bytes(8 << 20))
    assert len(reader.frames[0]) == 8 << 20
    assert len(connection.get_buffer(-1)) < 1 << 20


@given(st.booleans(), st.binary(max_size=200), st.lists(st.integers(1, 50)))
def test_whatever_comes_is_read_or_ends_the_connection(
    shakes: bool, content: bytes, cuts: list[int]
) -> None:
    a, b = Peer("a", 1), Peer("b", 2)
    shown = Handshake(a, b"cluster", b"token", 1, "b")
    limits = StreamLimits(answer_s=60.0)

    async def try_it() -> None:
        incoming = Incoming(
            b,
            limits,
            answer=lambda *_: Answer(shown, ""),
            deliver=lambda *_: None,
            refused=Refused({"a"}.__contains__),
        )
        connection, transport = made(incoming.caller())
        if shakes:
            feed(connection, transport, encode_opening("bulk", encode_handshake(shown)))
            assert transport.written
        rest = content
        for cut in cuts:
            feed(connection, transport, rest[:cut])
            rest = rest[cut:]
        feed(connection, transport, rest)
        assert incoming.refused.counts.total() == (transport.ended == "aborted")
        connection.connection_lost(None)
        assert not incoming.unknown
        assert not incoming.newest

    asyncio.run(try_it())
