from __future__ import annotations

import pickle
from dataclasses import replace

import pytest
from quorate.consensus.formation import Introduction
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import (
    Append,
    AppendReply,
    Body,
    Entry,
    EntryKind,
    Heartbeat,
    HeartbeatReply,
    Message,
    Peer,
    ReadReply,
    ReadRequest,
    RequestVote,
    TimeoutNow,
    VoteReply,
)
from quorate.consensus.peer.wire import (
    LARGEST_NUMBER,
    Answer,
    Handshake,
    MalformedMessageError,
    decode_answer,
    decode_frame,
    decode_handshake,
    decode_introduction,
    decode_message,
    encode_answer,
    encode_frame,
    encode_handshake,
    encode_introduction,
    size_of,
)
from quorate.v1 import peer_pb2

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
    return [decode_message(envelope, "a", limit) for envelope in decode_frame(content)]


def envelope_of(body: Body) -> peer_pb2.PeerEnvelope:
    frame = peer_pb2.PeerFrame.FromString(encode_frame([("s", message(body))]))
    return frame.envelopes[0]


def refusal_of(envelope: peer_pb2.PeerEnvelope) -> str:
    with pytest.raises(MalformedMessageError) as refused:
        decode_message(envelope, "a", LIMIT)
    return refused.value.reason


@pytest.mark.parametrize("body", BODIES, ids=repr)
def test_every_body_comes_back_as_it_was(body: Body) -> None:
    assert decoded(encode_frame([("shard", message(body))])) == [("shard", message(body))]


def test_a_frame_keeps_the_order_and_the_shards() -> None:
    sent = [(f"s/{number}", message(body)) for number, body in enumerate(BODIES)]
    assert decoded(encode_frame(sent)) == sent


def test_the_sender_s_node_is_the_stream_s_and_not_the_message_s() -> None:
    (envelope,) = decode_frame(encode_frame([("s", message(TimeoutNow()))]))
    assert decode_message(envelope, "c", LIMIT)[1].source == Peer("c", A.replica)


def test_an_append_weighs_what_its_entries_do() -> None:
    assert size_of(message(APPEND)) - size_of(message(TimeoutNow())) == sum(
        len(entry.payload) + 32 for entry in ENTRIES
    )


@pytest.mark.parametrize(
    "content", [b"\xff", b"not a frame", pickle.dumps({"type": "append_entries"})], ids=repr
)
def test_what_is_no_frame_is_refused(content: bytes) -> None:
    for decode in (decode_frame, decode_handshake, decode_answer, decode_introduction):
        with pytest.raises(MalformedMessageError):
            decode(content)


@pytest.mark.parametrize(
    ("append", "reason"),
    [
        (replace(APPEND, prev_index=5), "entries that do not follow each other"),
        (replace(APPEND, entries=ENTRIES[::2]), "entries that do not follow each other"),
        (replace(APPEND, prev_term=3), "entries whose terms go back"),
        (
            replace(APPEND, entries=(ENTRIES[0], Entry(6, 1, EntryKind.NOOP, b""))),
            "entries whose terms go back",
        ),
        (replace(APPEND, prev_index=0, entries=()), "a term where no entry is"),
        (
            replace(APPEND, entries=(Entry(5, 4, EntryKind.NOOP, b""),)),
            "entries ahead of their sender's term",
        ),
        (replace(APPEND, prev_term=4, entries=()), "entries ahead of their sender's term"),
        (
            replace(APPEND, entries=(Entry(5, 2, EntryKind.COMMAND, b"x" * (LIMIT + 1)),)),
            "an entry over the limit",
        ),
        (
            replace(APPEND, entries=(Entry(5, 2, EntryKind.CONFIG, b"\xff"),)),
            "a configuration that cannot be read",
        ),
        (
            replace(APPEND, entries=(Entry(5, 2, EntryKind.CONFIG, b""),)),
            "a configuration that cannot be read",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_entries_that_cannot_be_are_refused(append: Append, reason: str) -> None:
    assert refusal_of(envelope_of(append)) == reason


def test_an_entry_of_the_largest_size_is_taken() -> None:
    body = replace(APPEND, entries=(Entry(5, 2, EntryKind.COMMAND, b"x" * LIMIT),))
    assert decode_message(envelope_of(body), "a", LIMIT)[1].body == body


@pytest.mark.parametrize("kind", [0, 4])
def test_an_unknown_kind_of_entry_is_refused(kind: int) -> None:
    envelope = envelope_of(APPEND)
    envelope.append.entries[1].kind = kind  # type: ignore[assignment]
    assert refusal_of(envelope) == "an entry of an unknown kind"


def test_a_message_without_a_body_is_refused() -> None:
    envelope = envelope_of(TimeoutNow())
    envelope.ClearField("timeout_now")
    assert refusal_of(envelope) == "a message without a known body"


@pytest.mark.parametrize(
    ("field", "what"), [("shard", "shard"), ("target_node", "target node")], ids=str
)
@pytest.mark.parametrize("name", ["", "x" * 256], ids=len)
def test_names_are_neither_empty_nor_endless(field: str, what: str, name: str) -> None:
    envelope = envelope_of(TimeoutNow())
    setattr(envelope, field, name)
    assert refusal_of(envelope) == f"a {what} without a proper name"


@pytest.mark.parametrize("body", BODIES, ids=repr)
def test_no_number_is_so_large_that_one_more_would_not_fit(body: Body) -> None:
    message_type = envelope_of(body).DESCRIPTOR.fields_by_name[_name_of(body)].message_type
    assert message_type is not None
    fields = [field for field in message_type.fields if field.type == field.TYPE_UINT64]
    for field in fields:
        envelope = envelope_of(body)
        setattr(getattr(envelope, _name_of(body)), field.name, LARGEST_NUMBER)
        assert "out of range" in refusal_of(envelope)
    for name in ("term", "config_index"):
        envelope = envelope_of(body)
        setattr(envelope, name, LARGEST_NUMBER)
        assert "out of range" in refusal_of(envelope)


def _name_of(body: Body) -> str:
    name: str | None = envelope_of(body).WhichOneof("body")
    assert name is not None
    return name


def test_handshakes_come_back_as_they_were() -> None:
    handshake = Handshake(A, b"cluster", b"token", 7, "b")
    assert decode_handshake(encode_handshake(handshake)) == handshake
    answer = Answer(replace(handshake, target=""), "no")
    assert decode_answer(encode_answer(answer)) == answer


def test_a_stream_begins_with_a_handshake() -> None:
    with pytest.raises(MalformedMessageError, match="without a handshake"):
        decode_handshake(encode_frame([("s", message(TimeoutNow()))]))


def test_introductions_come_back_as_they_were() -> None:
    for first_entry in (b"", CONFIG):
        introduction = Introduction(A, ("a", "b"), first_entry)
        content = encode_introduction(introduction, b"token")
        assert decode_introduction(content) == (introduction, b"token")


def test_an_introduction_with_a_first_entry_that_is_none_is_refused() -> None:
    content = encode_introduction(Introduction(A, ("a",), b"\xff"), b"token")
    with pytest.raises(MalformedMessageError, match="a configuration that cannot be read"):
        decode_introduction(content)
