"""The bytes of what nodes say to each other. What comes in is checked before it is believed."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from google.protobuf.message import DecodeError

from quorate.consensus.formation import Introduction
from quorate.consensus.membership import Configuration
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
    weight,
)
from quorate.v1 import peer_pb2

#: Terms, indexes, rounds and tokens stay below: what is computed from them fits any field.
LARGEST_NUMBER: Final = 1 << 62
#: The longest name of a shard or a node, in bytes.
LONGEST_NAME: Final = 255
#: What a message weighs in a queue beside its entries.
MESSAGE_OVERHEAD: Final = 96


class MalformedMessageError(Exception):
    """What a peer sent cannot be meant; `reason` is one of a fixed set of sentences."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason: Final = reason
        self.detail: Final = detail


@dataclass(frozen=True, slots=True)
class Handshake:
    """Who speaks on a stream, and for which cluster."""

    peer: Peer
    cluster: bytes
    token_hash: bytes
    config_index: int
    #: Whom the speaker wants to talk to; empty in an answer.
    target: str


@dataclass(frozen=True, slots=True)
class Answer:
    """What the other end of a stream says of itself, and why it refuses; empty: it does not."""

    handshake: Handshake
    refusal: str


def size_of(message: Message) -> int:
    """Return about how many bytes a message takes on the wire."""
    body = message.body
    entries = sum(map(weight, body.entries)) if isinstance(body, Append) else 0
    return MESSAGE_OVERHEAD + entries


# Frames.


def encode_frame(messages: Iterable[tuple[str, Message]]) -> bytes:
    """Put messages, each with its shard, into one frame."""
    frame = peer_pb2.PeerFrame()
    for shard, message in messages:
        target = message.target
        envelope = frame.envelopes.add(
            shard=shard,
            source_replica=message.source.replica,
            target_node=target.node,
            target_replica=target.replica,
            term=message.term,
            config_index=message.config_index,
        )
        _ENCODERS[type(message.body)](envelope, message.body)
    return frame.SerializeToString()


def decode_frame(content: bytes) -> Iterable[peer_pb2.PeerEnvelope]:
    """Read the envelopes of a frame, unchecked; raises `MalformedMessageError`."""
    return _frame(content).envelopes


def decode_message(
    envelope: peer_pb2.PeerEnvelope, node: str, entry_bytes: int
) -> tuple[str, Message]:
    """Check an envelope of a node, and return its shard and its message.

    Raises `MalformedMessageError`.
    """
    name = envelope.WhichOneof("body")
    if name is None:
        raise MalformedMessageError("a message without a known body", f"shard {envelope.shard!r}")
    _name(envelope.shard, "shard")
    _name(envelope.target_node, "target node")
    term = _number(envelope.term, "term")
    body = _DECODERS[name](getattr(envelope, name))
    if isinstance(body, Append):
        _check_append(body, term, entry_bytes)
    message = Message(
        Peer(node, envelope.source_replica),
        Peer(envelope.target_node, envelope.target_replica),
        term,
        _number(envelope.config_index, "configuration index"),
        body,
    )
    return envelope.shard, message


# Handshakes and introductions.


def encode_handshake(handshake: Handshake) -> bytes:
    """Return the first frame of a stream."""
    return peer_pb2.PeerFrame(handshake=_handshake_proto(handshake)).SerializeToString()


def decode_handshake(content: bytes) -> Handshake:
    """Read the first frame of a stream; raises `MalformedMessageError`."""
    frame = _frame(content)
    if not frame.HasField("handshake"):
        raise MalformedMessageError("a stream that begins without a handshake", "nothing is read")
    return _handshake(frame.handshake)


def encode_answer(answer: Answer) -> bytes:
    """Return the answer to a handshake."""
    return peer_pb2.PeerAnswer(
        refusal=answer.refusal, handshake=_handshake_proto(answer.handshake)
    ).SerializeToString()


def decode_answer(content: bytes) -> Answer:
    """Read the answer to a handshake; raises `MalformedMessageError`."""
    try:
        answer = peer_pb2.PeerAnswer.FromString(content)
    except DecodeError as error:
        raise MalformedMessageError("an answer that cannot be read", str(error)) from None
    return Answer(_handshake(answer.handshake), answer.refusal)


def encode_introduction(introduction: Introduction, token_hash: bytes) -> bytes:
    """Return the bytes of an introduction."""
    return peer_pb2.PeerIntroduction(
        token_hash=token_hash,
        node=introduction.peer.node,
        replica=introduction.peer.replica,
        initial_members=introduction.initial_members,
        first_entry=introduction.first_entry,
        about=introduction.about,
    ).SerializeToString()


def decode_introduction(content: bytes) -> tuple[Introduction, bytes]:
    """Read an introduction and the hash of its token; raises `MalformedMessageError`."""
    try:
        read = peer_pb2.PeerIntroduction.FromString(content)
    except DecodeError as error:
        raise MalformedMessageError("an introduction that cannot be read", str(error)) from None
    _name(read.node, "node")
    if read.first_entry:
        _check_configuration(read.first_entry, 1)
    peer = Peer(read.node, read.replica)
    introduction = Introduction(peer, tuple(read.initial_members), read.first_entry, read.about)
    return introduction, read.token_hash


def _handshake_proto(handshake: Handshake) -> peer_pb2.PeerHandshake:
    return peer_pb2.PeerHandshake(
        cluster_id=handshake.cluster,
        token_hash=handshake.token_hash,
        node=handshake.peer.node,
        replica=handshake.peer.replica,
        target_node=handshake.target,
        config_index=handshake.config_index,
    )


def _handshake(read: peer_pb2.PeerHandshake) -> Handshake:
    _name(read.node, "node")
    return Handshake(
        Peer(read.node, read.replica),
        read.cluster_id,
        read.token_hash,
        _number(read.config_index, "configuration index"),
        read.target_node,
    )


def _frame(content: bytes) -> peer_pb2.PeerFrame:
    try:
        return peer_pb2.PeerFrame.FromString(content)
    except DecodeError as error:
        raise MalformedMessageError("a frame that cannot be read", str(error)) from None


# What a value may be.


def _number(value: int, what: str) -> int:
    if not 0 <= value < LARGEST_NUMBER:
        raise MalformedMessageError(f"a {what} that is out of range", str(value))
    return value


def _name(value: str, what: str) -> None:
    if not 0 < len(value) <= LONGEST_NAME:
        raise MalformedMessageError(f"a {what} without a proper name", f"{len(value)} characters")


def _check_append(append: Append, term: int, entry_bytes: int) -> None:
    index, newest = append.prev_index, append.prev_term
    if index == 0 and newest != 0:
        raise MalformedMessageError("a term where no entry is", str(newest))
    for entry in append.entries:
        index += 1
        if entry.index != index:
            raise MalformedMessageError(
                "entries that do not follow each other", f"{entry.index} in place of {index}"
            )
        if entry.term < newest:
            raise MalformedMessageError(
                "entries whose terms go back", f"{entry.term} behind {newest}"
            )
        newest = entry.term
        if len(entry.payload) > entry_bytes:
            raise MalformedMessageError(
                "an entry over the limit", f"{len(entry.payload)} bytes, {entry_bytes} is the most"
            )
        if entry.kind is EntryKind.CONFIG:
            _check_configuration(entry.payload, entry.index)
    if newest > term:
        raise MalformedMessageError("entries ahead of their sender's term", f"{newest} in {term}")


def _check_configuration(payload: bytes, index: int) -> None:
    try:
        Configuration.decode(payload)
    except ValueError as error:
        raise MalformedMessageError(
            "a configuration that cannot be read", f"entry {index}: {error}"
        ) from None


# Bodies.


def _put_append(envelope: peer_pb2.PeerEnvelope, body: Append) -> None:
    append = envelope.append
    append.SetInParent()
    append.prev_index = body.prev_index
    append.prev_term = body.prev_term
    append.commit = body.commit
    add = append.entries.add
    for entry in body.entries:
        add(index=entry.index, term=entry.term, kind=int(entry.kind), payload=entry.payload)


def _append(read: peer_pb2.PeerEnvelope.Append) -> Append:
    return Append(
        _number(read.prev_index, "index"),
        _number(read.prev_term, "term"),
        tuple(map(_entry, read.entries)),
        _number(read.commit, "commit index"),
    )


def _entry(read: peer_pb2.PeerEnvelope.Entry) -> Entry:
    kind = _KINDS.get(read.kind)
    if kind is None:
        raise MalformedMessageError("an entry of an unknown kind", str(read.kind))
    return Entry(_number(read.index, "index"), read.term, kind, read.payload)


def _put_append_reply(envelope: peer_pb2.PeerEnvelope, body: AppendReply) -> None:
    reply = envelope.append_reply
    reply.SetInParent()
    reply.success = body.success
    reply.prev_index = body.prev_index
    reply.match = body.match
    reply.hint_index = body.hint_index
    reply.hint_term = body.hint_term


def _append_reply(read: peer_pb2.PeerEnvelope.AppendReply) -> AppendReply:
    return AppendReply(
        read.success,
        _number(read.prev_index, "index"),
        _number(read.match, "index"),
        _number(read.hint_index, "index"),
        _number(read.hint_term, "term"),
    )


def _put_heartbeat(envelope: peer_pb2.PeerEnvelope, body: Heartbeat) -> None:
    heartbeat = envelope.heartbeat
    heartbeat.SetInParent()
    heartbeat.commit = body.commit
    heartbeat.round = body.round
    heartbeat.agreed = body.agreed


def _heartbeat(read: peer_pb2.PeerEnvelope.Heartbeat) -> Heartbeat:
    return Heartbeat(
        _number(read.commit, "commit index"),
        _number(read.round, "round"),
        _number(read.agreed, "agreed index"),
    )


def _put_heartbeat_reply(envelope: peer_pb2.PeerEnvelope, body: HeartbeatReply) -> None:
    reply = envelope.heartbeat_reply
    reply.SetInParent()
    reply.round = body.round
    reply.match = body.match


def _heartbeat_reply(read: peer_pb2.PeerEnvelope.HeartbeatReply) -> HeartbeatReply:
    return HeartbeatReply(_number(read.round, "round"), _number(read.match, "index"))


def _put_request_vote(envelope: peer_pb2.PeerEnvelope, body: RequestVote) -> None:
    request = envelope.request_vote
    request.SetInParent()
    request.last_index = body.last_index
    request.last_term = body.last_term
    request.pre = body.pre
    request.transfer = body.transfer


def _request_vote(read: peer_pb2.PeerEnvelope.RequestVote) -> RequestVote:
    return RequestVote(
        _number(read.last_index, "index"), _number(read.last_term, "term"), read.pre, read.transfer
    )


def _put_vote_reply(envelope: peer_pb2.PeerEnvelope, body: VoteReply) -> None:
    reply = envelope.vote_reply
    reply.SetInParent()
    reply.granted = body.granted
    reply.pre = body.pre
    reply.for_term = body.for_term


def _vote_reply(read: peer_pb2.PeerEnvelope.VoteReply) -> VoteReply:
    return VoteReply(read.granted, read.pre, _number(read.for_term, "term"))


def _put_timeout_now(envelope: peer_pb2.PeerEnvelope, _: TimeoutNow) -> None:
    envelope.timeout_now.SetInParent()


def _timeout_now(_: peer_pb2.PeerEnvelope.TimeoutNow) -> TimeoutNow:
    return TimeoutNow()


def _put_read_request(envelope: peer_pb2.PeerEnvelope, body: ReadRequest) -> None:
    envelope.read_request.SetInParent()
    envelope.read_request.token = body.token


def _read_request(read: peer_pb2.PeerEnvelope.ReadRequest) -> ReadRequest:
    return ReadRequest(_number(read.token, "token"))


def _put_read_reply(envelope: peer_pb2.PeerEnvelope, body: ReadReply) -> None:
    envelope.read_reply.SetInParent()
    envelope.read_reply.token = body.token
    envelope.read_reply.index = body.index


def _read_reply(read: peer_pb2.PeerEnvelope.ReadReply) -> ReadReply:
    return ReadReply(_number(read.token, "token"), _number(read.index, "index"))


_KINDS: Final = {kind.value: kind for kind in EntryKind}
_ENCODERS: Final[dict[type[Body], Callable[..., None]]] = {
    Append: _put_append,
    AppendReply: _put_append_reply,
    Heartbeat: _put_heartbeat,
    HeartbeatReply: _put_heartbeat_reply,
    RequestVote: _put_request_vote,
    VoteReply: _put_vote_reply,
    TimeoutNow: _put_timeout_now,
    ReadRequest: _put_read_request,
    ReadReply: _put_read_reply,
}
_DECODERS: Final[dict[str, Callable[..., Body]]] = {
    "append": _append,
    "append_reply": _append_reply,
    "heartbeat": _heartbeat,
    "heartbeat_reply": _heartbeat_reply,
    "request_vote": _request_vote,
    "vote_reply": _vote_reply,
    "timeout_now": _timeout_now,
    "read_request": _read_request,
    "read_reply": _read_reply,
}
