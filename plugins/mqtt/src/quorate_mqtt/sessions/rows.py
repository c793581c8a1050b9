"""The row of a session as bytes: the encoding of `Session`, without a message for each row.

A message would take half the time of a connect. Fields of fixed length come first.
"""

import re
from functools import lru_cache
from struct import Struct
from typing import Final

from quorate_mqtt.v1.sessions_pb2 import Session, SessionConnect

#: Each field after its tag: generation, broker_epoch, created_at_ms, connected_at_ms,
#: connection_id, expiry_interval_s.
_HEAD: Final = Struct("<BQBQBQBQBQBI")
_HEAD_BYTES: Final = _HEAD.size
#: The same with what `RowsOfBroker` has packed: generation, `by`, created_at_ms, `at`,
#: connection_id, expiry_interval_s.
pack_head: Final = Struct("<BQ10sQ10sQBI").pack
_TAGGED: Final = Struct("<BQB")
_EXPIRY: Final = Struct("<I")
_EXPIRY_AT: Final = _HEAD_BYTES - _EXPIRY.size
#: Generation, broker_epoch, created_at_ms, expiry_interval_s, and the two bytes after the head.
seen_in: Final = Struct("<xQxQxQ18xxIBB").unpack_from
#: The first of these bytes in a plain row, whose client is connected and has no will: the tag of
#: the broker's name.
PLAIN: Final = 0x4A
#: The largest length that is written in one byte: the second one, then, and the name follows.
SHORT: Final = 0x7F
BROKER_AT: Final = _HEAD_BYTES + 2
_HAS_WILL: Final = b"\x40\x01"
#: A head, a time of a disconnect in six bytes, as all from 1971 to 2109 are, and no will.
_left: Final = re.compile(rb".{50}\x38[\x80-\xff]{5}[\x00-\x7f](?!\x40)", re.DOTALL).match
_KEPT: Final = Struct("<xQxQxQ")


def kept_of(row: bytes) -> tuple[int, int, int]:
    """Return generation, broker_epoch and created_at_ms of a row."""
    generation, epoch, created_at_ms = _KEPT.unpack_from(row)
    return generation, epoch, created_at_ms


def is_left(row: bytes) -> bool:
    """Return whether a client is surely disconnected, and has no will."""
    return _left(row) is not None


class RowsOfBroker:
    """The rows of clients that connect to one broker at one time."""

    __slots__ = ("_broker", "_tails", "at", "by")

    def __init__(self, broker: str, epoch: int, connected_at_ms: int) -> None:
        self._broker: Final = _broker_part(broker)
        #: For `pack_head`.
        self.by: Final = _TAGGED.pack(0x11, epoch, 0x19)
        self.at: Final = _TAGGED.pack(0x21, connected_at_ms, 0x29)
        self._tails: Final[dict[int, bytes]] = {}

    def tail(self, payload_size: int) -> bytes:
        """Return the bytes between head and payload of a row without a will."""
        tail = self._tails.get(payload_size)
        if tail is None:
            tail = self._tails[payload_size] = self._broker + payload_head(payload_size)
        return tail

    def row(
        self, generation: int, created_at_ms: int, arrival: SessionConnect, *, has_will: bool
    ) -> bytes:
        """Return the row of a client."""
        head = pack_head(
            0x09, generation, self.by, created_at_ms, self.at, arrival.connection_id,
            0x35, arrival.expiry_interval_s,
        )  # fmt: skip
        payload = arrival.payload
        return head + _HAS_WILL * has_will + self.tail(len(payload)) + payload


class ImportedRows:
    """The rows of sessions that one command imports: no broker has served them."""

    __slots__ = ("_generation", "_imported_at_ms", "_left")

    def __init__(self, generation: int, imported_at_ms: int) -> None:
        self._generation: Final = generation
        self._imported_at_ms: Final = imported_at_ms
        self._left: Final = Session(disconnected_at_ms=imported_at_ms).SerializeToString()

    def start(self, expiry_interval_s: int, payload_size: int) -> bytes:
        """Return the bytes before the payload in the row of a client."""
        head = _HEAD.pack(
            0x09, self._generation, 0x11, 0, 0x19, self._imported_at_ms, 0x21, 0, 0x29, 0,
            0x35, expiry_interval_s,
        )  # fmt: skip
        return head + self._left + payload_head(payload_size)


def updated_row(row: bytes, expiry_interval_s: int | None, payload: bytes | None) -> bytes | None:
    """Return a plain row with the given fields replaced; None if the row must be decoded first."""
    *_, tag, size = seen_in(row)
    if tag != PLAIN or size > SHORT:
        return None
    end = BROKER_AT + size
    head = row[:_HEAD_BYTES]
    if expiry_interval_s is not None:
        head = row[:_EXPIRY_AT] + _EXPIRY.pack(expiry_interval_s)
    kept = row[end:] if payload is None else payload_head(len(payload)) + payload
    return b"".join((head, row[_HEAD_BYTES:end], kept))


@lru_cache(maxsize=1_024)
def _broker_part(broker: str) -> bytes:
    return Session(broker=broker).SerializeToString()


@lru_cache(maxsize=4_096)
def payload_head(size: int) -> bytes:
    """Return the bytes before a payload of this size in a row: none before an empty one."""
    return Session(payload=bytes(size)).SerializeToString()[: -size or None]
