from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from quorate.consensus.formation import Introduction
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Lane, Peer
from quorate.consensus.peer.wire import (
    LENGTH,
    NO_OPENING,
    OTHER_VERSION,
    Answer,
    Handshake,
    MalformedMessageError,
    decode_answer,
    decode_handshake,
    decode_introduction,
    decode_opening,
    encode_answer,
    encode_handshake,
    encode_introduction,
    encode_opening,
)

A, B = Peer("a", 2**64 - 1), Peer("b", 1)
CONFIG = Configuration.of([Member(A), Member(B, voter=False)]).encode()


def test_handshakes_come_back_as_they_were() -> None:
    handshake = Handshake(A, b"cluster", b"token", 7, "b")
    assert decode_handshake(encode_handshake(handshake)) == handshake
    answer = Answer(replace(handshake, target=""), "no")
    assert decode_answer(encode_answer(answer)) == answer


@pytest.mark.parametrize("lane", ["control", "bulk"])
def test_openings_come_back_as_they_were(lane: Lane) -> None:
    frame = encode_opening(lane, b"content")
    assert LENGTH.unpack_from(frame) == (len(frame) - LENGTH.size,)
    assert decode_opening(memoryview(frame)[LENGTH.size :]) == (lane, b"content")


@pytest.mark.parametrize(
    ("opening", "reason"),
    [
        (b"", NO_OPENING),
        (b"quorat", NO_OPENING),
        (b"GET / HTTP/1.1", NO_OPENING),
        (b"quorate\x02\x00", OTHER_VERSION),
        (b"quorate\x01\x02", "a connection of an unknown kind"),
    ],
)
def test_what_does_not_open_a_connection_is_refused(opening: bytes, reason: str) -> None:
    with pytest.raises(MalformedMessageError) as refused:
        decode_opening(memoryview(opening))
    assert refused.value.reason == reason


@pytest.mark.parametrize("content", [b"\xff", b"none", pickle.dumps({"type": "vote"})], ids=repr)
def test_what_is_no_message_is_refused(content: bytes) -> None:
    for decode in (decode_handshake, decode_answer, decode_introduction):
        with pytest.raises(MalformedMessageError):
            decode(content)


def test_introductions_come_back_as_they_were() -> None:
    for first_entry in (b"", CONFIG):
        introduction = Introduction(A, ("a", "b"), first_entry)
        content = encode_introduction(introduction, b"token", 7, b"challenge")
        assert decode_introduction(content) == (introduction, b"token", 7, b"challenge")


def test_an_introduction_with_a_first_entry_that_is_none_is_refused() -> None:
    content = encode_introduction(Introduction(A, ("a",), b"\xff"), b"token", 7)
    with pytest.raises(MalformedMessageError, match="a configuration that cannot be read"):
        decode_introduction(content)
