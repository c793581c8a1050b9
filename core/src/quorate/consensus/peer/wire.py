"""Handshakes and introductions of nodes. All input is validated.

The first frame in each direction of a connection has a magic number, the version of the frames
and the lane; then a handshake, or the answer to one.
"""

import struct
from dataclasses import dataclass
from typing import Final, NamedTuple

from google.protobuf.message import DecodeError

from quorate.consensus.formation import Introduction
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Lane, Peer
from quorate.v1 import peer_pb2 as pb

#: The version of the protocol between nodes.
VERSION: Final = 1
#: Terms, indexes, rounds and tokens are smaller, so that results computed from them fit any field.
LARGEST_NUMBER: Final = 1 << 62
#: The longest name of a node, in bytes.
LONGEST_NAME: Final = 255
#: The largest first frame.
OPENING_BYTES: Final = 4_096

NO_OPENING: Final = "a connection that does not begin with a handshake"
OTHER_VERSION: Final = "it speaks another version of the peers' protocol"

#: A frame begins with the number of bytes that follow.
LENGTH: Final = struct.Struct(">I")
_OPENING: Final = struct.Struct(">7sBB")
_MARK: Final = b"quorate"
_LANES: Final[tuple[Lane, ...]] = ("control", "bulk")


class MalformedMessageError(Exception):
    """A peer sent something invalid; `reason` is one of a fixed set of sentences."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}")
        self.reason: Final = reason
        self.detail: Final = detail


class Start(NamedTuple):
    """A start of a node's directory: how many there were, and a mark drawn for this one."""

    number: int = 0
    mark: int = 0


#: That of a node that does not count them.
UNCOUNTED: Final = Start()


@dataclass(frozen=True, slots=True)
class Handshake:
    """The identity of the sender, and its cluster."""

    peer: Peer
    cluster: bytes
    #: The proof of the token.
    token_hash: bytes
    config_index: int
    #: The intended receiver; empty in an answer.
    target: str
    start: Start = UNCOUNTED


@dataclass(frozen=True, slots=True)
class Answer:
    """The handshake of the other end, and why it refuses; empty if it accepts."""

    handshake: Handshake
    refusal: str


# Handshakes and introductions.


def encode_opening(lane: Lane, content: bytes) -> bytes:
    """Return the first frame of a connection on this lane, with a handshake or an answer."""
    opening = _OPENING.pack(_MARK, VERSION, _LANES.index(lane)) + content
    return LENGTH.pack(len(opening)) + opening


def decode_opening(frame: memoryview) -> tuple[Lane, bytes]:
    """Return the lane of a first frame, and the encoded handshake or answer.

    Raises `MalformedMessageError`.
    """
    try:
        mark, version, lane = _OPENING.unpack_from(frame)
    except struct.error:
        mark = b""
    if mark != _MARK:
        raise MalformedMessageError(NO_OPENING, f"it begins with {bytes(frame[:16])!r}")
    if version != VERSION:
        raise MalformedMessageError(OTHER_VERSION, f"version {version}, this node has {VERSION}")
    if lane >= len(_LANES):
        raise MalformedMessageError("a connection of an unknown kind", str(lane))
    return _LANES[lane], bytes(frame[_OPENING.size :])


def encode_handshake(handshake: Handshake) -> bytes:
    """Return the bytes of a handshake."""
    return handshake_proto(handshake).SerializeToString()


def decode_handshake(content: bytes) -> Handshake:
    """Read a handshake; raises `MalformedMessageError`."""
    try:
        return read_handshake(pb.PeerHandshake.FromString(content))
    except DecodeError as error:
        raise MalformedMessageError("a handshake that cannot be read", str(error)) from None


def encode_answer(answer: Answer) -> bytes:
    """Return the answer to a handshake."""
    return pb.PeerAnswer(
        refusal=answer.refusal, handshake=handshake_proto(answer.handshake)
    ).SerializeToString()


def decode_answer(content: bytes) -> Answer:
    """Read the answer to a handshake; raises `MalformedMessageError`."""
    try:
        answer = pb.PeerAnswer.FromString(content)
    except DecodeError as error:
        raise MalformedMessageError("an answer that cannot be read", str(error)) from None
    return Answer(read_handshake(answer.handshake), answer.refusal)


def encode_introduction(
    introduction: Introduction, token_hash: bytes, port: int, challenge: bytes = b""
) -> bytes:
    """Return the bytes of an introduction; `port` is for connections to the node.

    The other end proves the token over the challenge.
    """
    return pb.PeerIntroduction(
        token_hash=token_hash,
        node=introduction.peer.node,
        replica=introduction.peer.replica,
        initial_members=introduction.initial_members,
        first_entry=introduction.first_entry,
        about=introduction.about,
        port=port,
        challenge=challenge,
    ).SerializeToString()


def decode_introduction(content: bytes) -> tuple[Introduction, bytes, int, bytes]:
    """Read an introduction, the proof of its token, the port of its node, and its challenge.

    Raises `MalformedMessageError`.
    """
    try:
        read = pb.PeerIntroduction.FromString(content)
    except DecodeError as error:
        raise MalformedMessageError("an introduction that cannot be read", str(error)) from None
    _name(read.node, "node")
    if read.first_entry:
        check_configuration(read.first_entry, 1)
    peer = Peer(read.node, read.replica)
    introduction = Introduction(peer, tuple(read.initial_members), read.first_entry, read.about)
    return introduction, read.token_hash, read.port, read.challenge


def handshake_proto(handshake: Handshake) -> pb.PeerHandshake:
    """Return the message of a handshake."""
    return pb.PeerHandshake(
        cluster_id=handshake.cluster,
        token_hash=handshake.token_hash,
        node=handshake.peer.node,
        replica=handshake.peer.replica,
        target_node=handshake.target,
        config_index=handshake.config_index,
        start=handshake.start.number,
        start_mark=handshake.start.mark,
    )


def read_handshake(read: pb.PeerHandshake) -> Handshake:
    """Return the handshake of a message; raises `MalformedMessageError`."""
    _name(read.node, "node")
    return Handshake(
        Peer(read.node, read.replica),
        read.cluster_id,
        read.token_hash,
        _number(read.config_index, "configuration index"),
        read.target_node,
        Start(_number(read.start, "number of a start"), read.start_mark),
    )


# What a value may be.


def _number(value: int, what: str) -> int:
    if not 0 <= value < LARGEST_NUMBER:
        raise MalformedMessageError(f"a {what} that is out of range", str(value))
    return value


def _name(value: str, what: str) -> None:
    if not 0 < len(value) <= LONGEST_NAME:
        raise MalformedMessageError(f"a {what} without a proper name", f"{len(value)} characters")


def check_configuration(payload: bytes, index: int) -> None:
    """Raise `MalformedMessageError` for a CONFIG entry that cannot be read."""
    try:
        Configuration.decode(payload)
    except ValueError as error:
        raise MalformedMessageError(
            "a configuration that cannot be read", f"entry {index}: {error}"
        ) from None
