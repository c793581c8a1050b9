"""How registrations fit into commands: many small ones share one, a large one takes several."""

from collections.abc import Iterator, Mapping
from typing import Final

from quorate_name_server.v1 import commands_pb2 as pb

#: Bytes of registrations in one command, so that its handler does not delay others.
PART_BYTES: Final = 1 << 17

Part = list[tuple[int, pb.Registration]]


def parts_of(registrations: Mapping[int, pb.Registration]) -> Iterator[Part]:
    """Yield the items of each command with their positions; the last piece of an item answers."""
    part: Part = []
    size = 0
    for position, registration in registrations.items():
        for piece in _pieces(registration):
            piece_bytes = piece.ByteSize()
            if part and size + piece_bytes > PART_BYTES:
                yield part
                part, size = [], 0
            part.append((position, piece))
            size += piece_bytes
    if part:
        yield part


def _pieces(registration: pb.Registration) -> Iterator[pb.Registration]:
    size = registration.ByteSize()
    count = -(-size // PART_BYTES)
    if count <= 1 or registration.drops_absent_topics:
        yield registration
        return
    head = pb.Registration()
    head.CopyFrom(registration)
    for field in ("topics", "mappings"):
        head.ClearField(field)
    for number in range(count):
        piece = pb.Registration()
        piece.CopyFrom(head)
        piece.partial = number + 1 < count
        piece.topics.extend(registration.topics[number::count])
        piece.mappings.extend(registration.mappings[number::count])
        yield piece
