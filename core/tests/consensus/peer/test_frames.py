from __future__ import annotations

import pickle
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, strategies as st
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import (
    Alive,
    Append,
    AppendReply,
    Body,
    Entry,
    EntryKind,
    Heartbeat,
    HeartbeatReply,
    Hibernate,
    Hibernating,
    Message,
    Peer,
    ReadReply,
    ReadRequest,
    RequestVote,
    TimeoutNow,
    VoteReply,
    Wakeup,
)
from quorate.consensus.peer.frames import decode_frame, encode_frame, size_of
from quorate.consensus.peer.wire import LARGEST_NUMBER, LENGTH, MalformedMessageError

LIMIT = 1 << 20
A, B = Peer("a", 2**64 - 1), Peer("b", 1)
CONFIG = Configuration.of([Member(A), Member(B, voter=False)]).encode()
ENTRIES = (
    Entry(5, 2, EntryKind.NOOP, b""),
    Entry(6, 2, EntryKind.COMMAND, b"\x00\xff" * 50),
    Entry(7, 3, EntryKind.CONFIG, CONFIG),
)
APPEND = Append(4, 1, ENTRIES, 3)
BODIES: tuple[Body, ...] = (
    APPEND,
    Append(0, 0, (), 0),
    AppendReply(True, 4, 7),
    AppendReply(False, 9, 0, 3, 2),
    AppendReply(False, 0, 0),
    Heartbeat(3, 7, 5),
    Heartbeat(0, 0),
    Hibernate(9, 1 << 61),
    Hibernating(9, 1 << 61),
    Wakeup(),
    Alive(1 << 61),
    HeartbeatReply(7, 3),
    HeartbeatReply(0, 0),
    RequestVote(7, 3, True),
    RequestVote(0, 0, False, transfer=True),
    VoteReply(True, False, 9),
    VoteReply(False, True, 0),
    TimeoutNow(),
    ReadRequest(11),
    ReadRequest(0),
    ReadReply(11, 5),
    ReadReply(0, 0),
)


def message(body: Body, term: int = 3) -> Message:
    return Message(A, B, term, 1, body)


def decoded(content: bytes, limit: int = LIMIT) -> list[tuple[str, Message]]:
    """Read what is after the length of a frame; nothing of it may be refused."""

    def refuse(error: MalformedMessageError) -> None:
        raise AssertionError(error)

    assert LENGTH.unpack_from(content) == (len(content) - LENGTH.size,)
    return decode_frame(memoryview(content)[LENGTH.size :], A, B, limit, refuse)


def refusal_of(body: Body, term: int = 3, config_index: int = 1) -> str:
    """Return why a message is refused; its neighbours must not be."""
    good = "s", message(TimeoutNow())
    bad = "s", Message(A, B, term, config_index, body)
    refused: list[str] = []
    content = memoryview(encode_frame([good, bad, good]))[LENGTH.size :]
    taken = decode_frame(content, A, B, LIMIT, lambda error: refused.append(error.reason))
    assert taken == [good, good]
    [reason] = refused
    return reason


@pytest.mark.parametrize("body", BODIES, ids=repr)
def test_every_body_comes_back_as_it_was(body: Body) -> None:
    [(shard, taken)] = decoded(encode_frame([("shard", message(body))]))

    # Bodies of two types are equal where their fields are; what is shown names the type.
    assert (shard, repr(taken)) == ("shard", repr(message(body)))


def test_a_frame_keeps_the_order_and_the_shards() -> None:
    sent = [(f"s/{number}", message(body)) for number, body in enumerate(BODIES)]
    assert decoded(encode_frame(sent)) == sent


def test_who_sends_to_whom_is_the_connection_s_and_not_the_message_s() -> None:
    content = memoryview(encode_frame([("s", message(TimeoutNow()))]))[LENGTH.size :]
    c, d = Peer("c", 3), Peer("d", 4)
    [(_, taken)] = decode_frame(content, c, d, LIMIT, lambda _: None)
    assert taken == Message(c, d, 3, 1, TimeoutNow())


def test_an_append_weighs_what_its_entries_do() -> None:
    assert size_of(message(APPEND)) - size_of(message(TimeoutNow())) == sum(
        len(entry.payload) + 32 for entry in ENTRIES
    )


WHOLE = encode_frame([("s", message(APPEND)), ("s", message(Heartbeat(1, 2)))])[LENGTH.size :]
UNREADABLE = {
    "bytes": b"\xff",
    "text": b"not a frame",
    "pickle": pickle.dumps({"type": "append_entries"}),
    "no name": b"\0" + WHOLE[2:],
    "no utf-8": b"\x01\xff" + WHOLE[2:],
    "kind": b"\x01s\x63" + WHOLE[3:],
    "kind of entry": WHOLE.replace(b"\0\x02\x02\0\0\0\x64", b"\0\x02\x09\0\0\0\x64"),
    "more entries": WHOLE[:43] + b"\xff" * 4 + WHOLE[47:],
    "cut": WHOLE[:-1],
}


@pytest.mark.parametrize("content", UNREADABLE.values(), ids=UNREADABLE)
def test_what_is_no_frame_is_refused_as_a_whole(content: bytes) -> None:
    assert content != WHOLE
    with pytest.raises(MalformedMessageError, match="a frame that cannot be read"):
        decode_frame(memoryview(content), A, B, LIMIT, lambda _: None)


@given(st.binary(max_size=300))
def test_bytes_are_a_frame_or_are_refused(content: bytes) -> None:
    with suppress(MalformedMessageError):
        decode_frame(memoryview(content), A, B, LIMIT, lambda _: None)


@given(st.data())
def test_a_damaged_frame_is_read_or_refused(data: st.DataObject) -> None:
    content = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(MalformedMessageError):
        decode_frame(memoryview(content), A, B, LIMIT, lambda _: None)


@pytest.mark.parametrize(
    ("append", "reason"),
    [
        (APPEND._replace(prev_term=3), "entries whose terms go back"),
        (
            APPEND._replace(entries=(ENTRIES[0], Entry(6, 1, EntryKind.NOOP, b""))),
            "entries whose terms go back",
        ),
        (APPEND._replace(prev_index=0, entries=()), "a term where no entry is"),
        (
            APPEND._replace(entries=(Entry(5, 4, EntryKind.NOOP, b""),)),
            "entries ahead of their sender's term",
        ),
        (APPEND._replace(prev_term=4, entries=()), "entries ahead of their sender's term"),
        (
            APPEND._replace(entries=(Entry(5, 2, EntryKind.COMMAND, b"x" * (LIMIT + 1)),)),
            "an entry over the limit",
        ),
        (
            APPEND._replace(entries=(Entry(5, 2, EntryKind.CONFIG, b"\xff"),)),
            "a configuration that cannot be read",
        ),
        (
            APPEND._replace(entries=(Entry(5, 2, EntryKind.CONFIG, b""),)),
            "a configuration that cannot be read",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_entries_that_cannot_be_are_refused(append: Append, reason: str) -> None:
    assert refusal_of(append) == reason


def test_an_entry_of_the_largest_size_is_taken() -> None:
    body = APPEND._replace(entries=(Entry(5, 2, EntryKind.COMMAND, b"x" * LIMIT),))
    assert decoded(encode_frame([("s", message(body))])) == [("s", message(body))]


@pytest.mark.parametrize("body", BODIES, ids=repr)
def test_no_number_is_so_large_that_one_more_would_not_fit(body: Body) -> None:
    numbers = [
        name
        for name in body._fields
        if isinstance(value := getattr(body, name), int) and not isinstance(value, bool)
    ]
    for name in numbers:
        changed: dict[str, Any] = {name: LARGEST_NUMBER}
        large = body._replace(**changed)
        assert "out of range" in refusal_of(large)
    assert "out of range" in refusal_of(body, term=LARGEST_NUMBER)
    assert "out of range" in refusal_of(body, config_index=LARGEST_NUMBER)
