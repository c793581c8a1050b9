"""Throws hostile bytes at both ends of a connection, and at HPACK's decoder.

`python -m core.tests.http2.fuzzing --seconds 60 --runs 9999 --seed 7`; what fails names its run.
"""

from __future__ import annotations

import argparse
import faulthandler
import sys
import time
from collections import Counter
from random import Random
from typing import Final

from hpack import Encoder
from hyperframe.frame import Frame
from quorate.http2 import frames
from quorate.http2.connection import Connection, ConnectionLimits
from quorate.http2.errors import ConnectionFault, ErrorCode
from quorate.http2.headers import Headers
from quorate.http2.hpack import Decoder, HeaderListTooLargeError, HpackError, plain_block
from quorate.http2.stream import Stream

LIMITS: Final = ConnectionLimits(
    streams=8,
    frame_bytes=1 << 14,
    stream_window=20_000,
    connection_window=1 << 17,
    header_list_bytes=4_096,
    resets=50,
    control_frames=200,
)
REQUEST: Final = [(":method", "POST"), (":scheme", "http"), (":path", "/a/b"), ("te", "trailers")]
ANSWER: Final = [(":status", "200"), ("content-type", "application/grpc")]
TRAILERS: Final = [("grpc-status", "0"), ("grpc-message", "x" * 40)]
#: A run that takes longer hangs.
HANGS_S: Final = 30
#: Bytes that this end sends wait for windows no more than this.
WAITING: Final = 300_000


class Side:
    """One end, whose owner does what it may at random."""

    def __init__(self, random: Random, *, client: bool) -> None:
        self.random = random
        self.client = client
        self.connection = Connection(
            self, LIMITS, client=client, ready=lambda: None, clock=lambda: 0.0
        )
        self.open: dict[int, Stream] = {}
        self.sent = bytearray()
        self.connection.begin()
        self.seen = 0
        # What a server says is of streams that were opened.
        for _ in range(LIMITS.streams if client else 0):
            stream = self.connection.open(self)
            self.connection.sending.headers(
                stream, plain_block([(b":path", b"/")]), ends=random.random() < 0.5
            )

    def act(self) -> None:
        """Open, answer, consume, reset, pause or drain."""
        connection, random = self.connection, self.random
        sending = connection.sending
        if self.client and len(connection.streams) < LIMITS.streams and random.random() < 0.5:
            stream = connection.open(self)
            sending.headers(stream, plain_block([(b":path", b"/")]), ends=random.random() < 0.5)
        for stream in list(connection.streams.values()):
            choice = random.randrange(12)
            if choice == 0:
                connection.reset(stream, ErrorCode.CANCEL)
            elif choice < 3:
                connection.consumed(stream, random.randrange(10_000))
            elif choice < 6 and not stream.local_closed and stream.queued < 20_000:
                ends = random.random() < 0.5
                trailers = plain_block([(b"grpc-status", b"0")]) if random.random() < 0.5 else None
                if not stream.closing:
                    sending.data(
                        stream, bytes(random.randrange(20_000)), ends=ends, trailers=trailers
                    )
        if random.random() < 0.02:
            sending.paused = not sending.paused
            sending.acknowledgements = 0
            sending.go_on()
        if not self.client and random.random() < 0.01:
            connection.drain()

    def check(self) -> None:
        """Compare what is kept with the bounds, and read what was sent as another does."""
        connection = self.connection
        assert len(connection.streams) <= LIMITS.streams
        assert len(connection._reset) <= 1_000
        assert connection._block_bytes <= LIMITS.header_list_bytes + LIMITS.frame_bytes
        assert len(connection._decoder._known) <= 32
        assert sum(each.queued for each in connection.streams.values()) <= WAITING
        self.sent += connection.sending.take()
        if self.client and not self.seen and len(self.sent) >= len(frames.PREFACE):
            assert self.sent.startswith(frames.PREFACE)
            del self.sent[: len(frames.PREFACE)]
        while self.sent:
            frame, size = Frame.parse_frame_header(memoryview(self.sent)[:9])
            body = bytes(self.sent[9 : 9 + size])
            assert len(body) == size, "a frame is sent in part"
            frame.parse_body(memoryview(body))
            del self.sent[: 9 + size]
            self.seen += 1

    # --- as its connection sees it

    def accept(self, stream: Stream, headers: Headers, ended: bool) -> Side:
        return self

    def headers(self, headers: Headers, ended: bool) -> None: ...

    def data(self, content: bytes, ended: bool) -> None: ...

    def writable(self) -> None: ...

    def lost(self, code: ErrorCode | int, why: str) -> None: ...

    def refused(self, code: ErrorCode, why: str) -> None: ...

    def configured(self) -> None: ...

    def going_away(self, last: int, code: int, why: bytes) -> None: ...

    def answered(self, payload: bytes) -> None: ...

    def idle(self) -> None: ...


def talk(random: Random, *, to_client: bool) -> list[bytes]:
    """Return frames of a conversation as it should be."""
    encoder, found = Encoder(), [frames.settings([(frames.INITIAL_WINDOW_SIZE, 30_000)])]
    most = LIMITS.streams if to_client else 20
    for number in range(1, 2 * random.randrange(2, most + 1), 2):
        fields = [*(ANSWER if to_client else REQUEST), ("a", "b" * random.randrange(100))]
        found.append(headers(random, number, encoder.encode(fields), 0))
        for _ in range(random.randrange(4)):
            flags = frames.PADDED if random.random() < 0.2 else 0
            content = bytes(random.randrange(2_000))
            if flags:
                content = b"\3" + content + bytes(3)
            found.append(frames.frame(frames.DATA, flags, number, content))
        kind = random.randrange(4)
        if kind == 0:
            found.append(headers(random, number, encoder.encode(TRAILERS), frames.END_STREAM))
        elif kind == 1:
            found.append(frames.frame(frames.DATA, frames.END_STREAM, number))
        elif kind == 2:
            found.append(frames.rst_stream(number, random.randrange(16)))
        found.append(stray(random))
    return found


def headers(random: Random, number: int, block: bytes, flags: int) -> bytes:
    """Return a header block, now and then in several frames."""
    at = random.randrange(len(block) + 1)
    if random.random() < 0.7:
        return frames.frame(frames.HEADERS, flags | frames.END_HEADERS, number, block)
    first = frames.frame(frames.HEADERS, flags, number, block[:at])
    return first + frames.frame(frames.CONTINUATION, frames.END_HEADERS, number, block[at:])


def stray(random: Random) -> bytes:
    """Return a frame that may come at any time."""
    number = random.choice([0, 1, 3, 5, 7])
    match random.randrange(6):
        case 0:
            return frames.window_update(number, random.choice([1, 9_000, 1 << 20]))
        case 1:
            return frames.frame(frames.PING, random.randrange(2), 0, random.randbytes(8))
        case 2:
            values = [(random.randrange(1, 9), random.choice([0, 1, 100, 16_384, 65_535]))]
            return frames.settings(values)
        case 3:
            return frames.frame(frames.PRIORITY, 0, number or 9, bytes(5))
        case 4 if random.random() < 0.1:
            return frames.goaway(number, random.randrange(16))
        case _:
            return frames.frame(random.randrange(10, 256), random.randrange(256), number)


def mutated(random: Random, parts: list[bytes]) -> list[bytes]:
    """Return frames with some of them changed, moved, doubled, dropped or invented."""
    parts = list(parts)
    for _ in range(random.choice([0, 0, 1, 1, 2, 5])):
        at = random.randrange(len(parts))
        part = bytearray(parts[at])
        match random.randrange(7):
            case 0 if part:
                part[random.randrange(len(part))] ^= 1 << random.randrange(8)
                parts[at] = bytes(part)
            case 1:
                parts.insert(at, parts[random.randrange(len(parts))])
            case 2 if len(parts) > 1:
                del parts[at]
            case 3:
                parts.insert(at, random.randbytes(random.randrange(40)))
            case 4:
                content = random.randbytes(random.randrange(30))
                kind, flags = random.randrange(11), random.randrange(256)
                frame = frames.frame(kind, flags, random.randrange(12), content)
                parts[at:at] = [frame] * random.choice([1, 1, 1, 300])
            case 5:
                parts[at] = bytes(part[: random.randrange(len(part) + 1)])
            case _:
                random.shuffle(parts)
    return parts


def connection_run(seed: int, *, client: bool) -> str:
    """Hold one conversation, and return how it ended."""
    random = Random(seed)
    side = Side(random, client=client)
    stream = b"".join(mutated(random, talk(random, to_client=client)))
    rest = b"" if client else frames.PREFACE
    most = random.choice([1 << 20, 5_000, 100])
    while stream:
        size = random.randrange(1, most + 1)
        rest, stream = rest + stream[:size], stream[size:]
        try:
            rest = rest[side.connection.receive(rest, len(rest)) :]
        except ConnectionFault as fault:
            side.check()
            side.connection.lose("it ends")
            side.check()
            return fault.code.name
        assert len(rest) < LIMITS.frame_bytes + 9
        side.check()
        side.act()
        side.check()
    side.connection.lose("it ends")
    assert not side.connection.streams
    return "no fault"


def hpack_run(seed: int) -> str:
    """Read mutated blocks, and return how it ended."""
    random = Random(seed)
    encoder, decoder = Encoder(), Decoder(list, 4_096, 2_000)
    for _ in range(30):
        names = random.choices(["a", ":path", "content-type", "x" * 30], k=random.randrange(6))
        block = bytearray(encoder.encode([(name, "v" * random.randrange(60)) for name in names]))
        if block and random.random() < 0.1:
            block[random.randrange(len(block))] ^= 1 << random.randrange(8)
        if random.random() < 0.1:
            block += random.randbytes(random.randrange(20))
        try:
            fields = decoder.decode(bytes(block))
        except HeaderListTooLargeError:
            continue
        except HpackError:
            return "HPACK is refused"
        assert sum(len(name) + len(value) + 32 for name, value in fields) <= 2_000
        assert decoder._table._used <= 4_096
    return "HPACK is read"


def run(seed: int) -> str:
    """Run what belongs to a seed, and return how it ended."""
    try:
        match seed % 3:
            case 0:
                return "server: " + connection_run(seed, client=False)
            case 1:
                return "client: " + connection_run(seed, client=True)
            case _:
                return hpack_run(seed)
    except Exception as error:
        error.add_note(f"of the run --seed {seed} --runs 1")
        raise


def main() -> None:
    """Run until a bound is reached, and print how runs ended."""
    options = argparse.ArgumentParser(description="Throw hostile bytes at HTTP/2.")
    options.add_argument("--runs", type=int, default=10_000_000)
    options.add_argument("--seconds", type=float, default=60)
    options.add_argument("--seed", type=int, default=time.time_ns() & 0xFFFFFFFF)
    chosen = options.parse_args()
    until, ends, seed = time.monotonic() + chosen.seconds, Counter[str](), chosen.seed
    while time.monotonic() < until and seed < chosen.seed + chosen.runs:
        faulthandler.dump_traceback_later(HANGS_S, exit=True)
        ends[run(seed)] += 1
        seed += 1
    faulthandler.cancel_dump_traceback_later()
    sys.stdout.write(f"{ends.total()} runs from --seed {chosen.seed}\n")
    for end, number in ends.most_common():
        sys.stdout.write(f"{number:9,} {end}\n")


if __name__ == "__main__":
    main()
