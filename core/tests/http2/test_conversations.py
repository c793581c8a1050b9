"""Both ends hold conversations with another implementation, and each sees what the other sent."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import h2.settings
from hypothesis import given, strategies as st
from quorate.http2.connection import Connection, ConnectionLimits
from quorate.http2.errors import ErrorCode
from quorate.http2.headers import Headers
from quorate.http2.hpack import Field, plain_block
from quorate.http2.stream import Stream

LIMITS: Final = ConnectionLimits(stream_window=3_000, connection_window=100_000)
REQUEST: Final[list[Field]] = [
    (b":method", b"POST"),
    (b":scheme", b"http"),
    (b":path", b"/a"),
    (b":authority", b"here"),
]
ANSWER: Final[list[Field]] = [(b":status", b"200")]
TRAILERS: Final[list[Field]] = [(b"grpc-status", b"0")]

#: What either end does next: to which of its streams, with how much.
STEPS: Final = st.lists(
    st.tuples(
        st.sampled_from(
            ["open", "data", "data", "end", "trailers", "reset", "ping", "window", "table"]
        ),
        st.booleans(),
        st.integers(0, 3),
        st.integers(0, 9_000),
    ),
    max_size=30,
)


class Seen:
    """What an end has seen of a stream: fields, bytes, whether it ended, and its reset."""

    def __init__(self) -> None:
        self.fields: list[list[Field]] = []
        self.content = b""
        self.ended = False
        self.reset: int | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Seen) and vars(self) == vars(other)

    def __repr__(self) -> str:
        return repr(vars(self))

    __hash__ = None  # type: ignore[assignment]  # it changes


class Taking:
    """The owner of a stream of ours, which keeps what comes."""

    def __init__(self, ours: Ours, number: int) -> None:
        self.ours, self.seen = ours, ours.seen[number]
        self.stream: Stream

    def headers(self, headers: Headers, ended: bool) -> None:
        self.seen.fields.append([*headers.pseudo.items(), *headers.fields])
        self.seen.ended |= ended

    def data(self, content: bytes, ended: bool) -> None:
        self.seen.content += content
        self.seen.ended |= ended
        self.ours.connection.consumed(self.stream, len(content))

    def writable(self) -> None: ...

    def lost(self, code: ErrorCode | int, why: str) -> None:
        self.seen.reset = int(code)


class Ours:
    """The end that is tested."""

    def __init__(self, *, client: bool) -> None:
        self.seen: defaultdict[int, Seen] = defaultdict(Seen)
        self.streams: list[Stream] = []
        self.faults: list[str] = []
        self.pongs = 0
        self.connection = Connection(self, LIMITS, client=client, ready=lambda: None)
        self.connection.begin()
        self.rest = b""

    def receive(self, content: bytes) -> None:
        self.rest += content
        self.rest = self.rest[self.connection.receive(self.rest, len(self.rest)) :]

    def open(self) -> Stream:
        taking = Taking(self, self.connection._next)
        taking.stream = self.connection.open(taking)
        self.streams.append(taking.stream)
        return taking.stream

    def accept(self, stream: Stream, headers: Headers, ended: bool) -> Taking:
        taking = Taking(self, stream.number)
        taking.stream = stream
        self.streams.append(stream)
        taking.headers(headers, ended)
        return taking

    def refused(self, code: ErrorCode, why: str) -> None:
        self.faults.append(f"{code.name}: {why}")

    def configured(self) -> None: ...

    def going_away(self, last: int, code: int, why: bytes) -> None: ...

    def answered(self, payload: bytes) -> None:
        self.pongs += 1

    def idle(self) -> None: ...


class Conversation:
    """Our end and one of h2's, what each has sent, and what has been seen of it."""

    def __init__(self, *, client: bool) -> None:
        self.client = client
        self.ours = Ours(client=client)
        config = h2.config.H2Configuration(client_side=not client, header_encoding=None)
        self.theirs = h2.connection.H2Connection(config)
        self.theirs.initiate_connection()
        #: By stream: what each end has sent, and what theirs has seen.
        self.ours_sent: defaultdict[int, Seen] = defaultdict(Seen)
        self.theirs_sent: defaultdict[int, Seen] = defaultdict(Seen)
        self.theirs_seen: defaultdict[int, Seen] = defaultdict(Seen)
        self.pings = [0, 0]
        self.theirs_pongs = 0
        self.exchange()

    def exchange(self) -> None:
        """Carry bytes until neither end has any."""
        moved = True
        while moved:
            moved = False
            if content := self.theirs.data_to_send():
                self.ours.receive(content)
                moved = True
            if self.ours.connection.sending:
                for event in self.theirs.receive_data(self.ours.connection.sending.take()):
                    self.hear(event)
                moved = True

    def hear(self, event: Any) -> None:
        """Keep what h2 tells."""
        number = getattr(event, "stream_id", None)
        match event:
            case (
                h2.events.RequestReceived()
                | h2.events.ResponseReceived()
                | h2.events.TrailersReceived()
            ):
                self.theirs_seen[event.stream_id].fields.append(
                    [(bytes(name), bytes(value)) for name, value in event.headers or []]
                )
            case h2.events.DataReceived():
                self.theirs_seen[event.stream_id].content += event.data or b""
                self.theirs.acknowledge_received_data(
                    event.flow_controlled_length or 0, event.stream_id
                )
            case h2.events.StreamEnded():
                self.theirs_seen[event.stream_id].ended = True
            case h2.events.StreamReset():
                assert number is not None
                self.theirs_seen[number].reset = int(event.error_code or 0)
            case h2.events.PingAckReceived():
                self.theirs_pongs += 1
            case _:
                pass

    def number(self, which: int) -> int | None:
        """Return one of the streams that are open at both ends."""
        live = [each for each in sorted(self.ours.connection.streams) if not self.gone(each)]
        return live[which % len(live)] if live else None

    def gone(self, number: int) -> bool:
        return (
            self.ours_sent[number].reset is not None or self.theirs_sent[number].reset is not None
        )

    def step(self, name: str, by_ours: bool, which: int, size: int) -> None:
        """Let an end do something that it may."""
        if name == "open":
            self.open()
            return
        if name == "ping":
            self.pings[by_ours] += 1
            if by_ours:
                self.ours.connection.ping(b"01234567")
            else:
                self.theirs.ping(b"01234567")
            return
        if name in ("window", "table"):
            codes = h2.settings.SettingCodes
            code = codes.INITIAL_WINDOW_SIZE if name == "window" else codes.HEADER_TABLE_SIZE
            self.theirs.update_settings({code: size})
            return
        number = self.number(which)
        if number is None:
            return
        sent = (self.ours_sent if by_ours else self.theirs_sent)[number]
        if sent.ended:
            return
        if not sent.fields:
            self.head(number, by_ours)
        if by_ours:
            self.our_turn(name, self.ours.connection.streams[number], sent, size)
        else:
            self.their_turn(name, number, sent, size)

    def open(self) -> None:
        fields = REQUEST
        if self.client:
            stream = self.ours.open()
            self.ours.connection.sending.headers(stream, plain_block(fields))
            self.ours_sent[stream.number].fields.append(fields)
        else:
            number = self.theirs.get_next_available_stream_id()
            self.theirs.send_headers(number, fields)
            self.theirs_sent[number].fields.append(fields)

    def head(self, number: int, by_ours: bool) -> None:
        """Send the fields of an answer, before what follows them."""
        if by_ours:
            stream = self.ours.connection.streams[number]
            self.ours.connection.sending.headers(stream, plain_block(ANSWER))
            self.ours_sent[number].fields.append(ANSWER)
        else:
            self.theirs.send_headers(number, ANSWER)
            self.theirs_sent[number].fields.append(ANSWER)

    def our_turn(self, name: str, stream: Stream, sent: Seen, size: int) -> None:
        connection = self.ours.connection
        if name == "reset":
            sent.reset = int(ErrorCode.CANCEL)
            connection.reset(stream, ErrorCode.CANCEL)
            return
        content = bytes(size)
        sent.content += content
        trailers = plain_block(TRAILERS) if name == "trailers" else None
        sent.ended = name in ("end", "trailers")
        if trailers:
            sent.fields.append(TRAILERS)
        connection.sending.data(stream, content, ends=name == "end", trailers=trailers)

    def their_turn(self, name: str, number: int, sent: Seen, size: int) -> None:
        if name == "reset":
            sent.reset = int(ErrorCode.CANCEL)
            self.theirs.reset_stream(number, ErrorCode.CANCEL)
            return
        size = min(size, self.theirs.local_flow_control_window(number), 16_384)
        sent.content += bytes(size)
        if name == "trailers":
            self.theirs.send_data(number, bytes(size))
            self.theirs.send_headers(number, TRAILERS, end_stream=True)
            sent.fields.append(TRAILERS)
        else:
            self.theirs.send_data(number, bytes(size), end_stream=name == "end")
        sent.ended = name in ("end", "trailers")

    def compare(self) -> None:
        """Each end has seen what the other sent, of streams that none has reset."""
        codes = h2.settings.SettingCodes
        self.theirs.update_settings({codes.INITIAL_WINDOW_SIZE: 1 << 20})
        self.exchange()
        assert self.ours.faults == []
        assert (self.theirs_pongs, self.ours.pongs) == tuple(self.pings)
        for number in self.ours_sent.keys() | self.theirs_sent.keys():
            ours, theirs = self.ours_sent[number], self.theirs_sent[number]
            seen, told = self.ours.seen[number], self.theirs_seen[number]
            if ours.reset is None and theirs.reset is None:
                early = not self.client and ours.ended and not theirs.ended
                # A server that has answered ends what it does not want to read.
                assert told.reset == (0 if early else None)
                told.reset = None
                assert told == ours
                assert early or seen == theirs
            elif theirs.reset is None:
                assert told.reset == ours.reset
            else:
                assert seen.reset == theirs.reset


@given(client=st.booleans(), steps=STEPS, at_once=st.integers(1, 5))
def test_each_end_sees_what_the_other_sends(
    client: bool, steps: list[tuple[str, bool, int, int]], at_once: int
) -> None:
    conversation = Conversation(client=client)
    conversation.step("open", client, 0, 0)
    conversation.exchange()
    for index, step in enumerate(steps):
        conversation.step(*step)
        if step[0] in ("open", "reset", "end", "trailers") or index % at_once == 0:
            conversation.exchange()
    conversation.exchange()
    conversation.compare()
