"""The row of a session as bytes: the encoding of `Session`, without a message for each row.

A message would take half the time of a connect. Fields of fixed length come first.
"""

from functools import lru_cache
from struct import Struct
from typing import Final

from quorate_mqtt.v1.sessions_pb2 import Session, SessionConnect

#: Each field after its tag: generation, broker_epoch, created_at_ms, connected_at_ms,
#: connection_id, expiry_interval_s.
_HEAD: Final = Struct("<BQBQBQBQBQBI")
_HEAD_BYTES: Final = _HEAD.size
_pack_head: Final = _HEAD.pack
_EXPIRY: Final = Struct("<I")
_EXPIRY_AT: Final = _HEAD_BYTES - _EXPIRY.size
_NO_EXPIRY: Final = bytes(_EXPIRY.size)
#: The tag of the broker's name, which follows the head if there is no disconnect and no will.
_BROKER_TAG: Final = 0x4A
_HAS_WILL: Final = b"\x40\x01"
#: The largest length that is written in one byte.
_SHORT: Final = 0x7F


_KEPT: Final = Struct("<xQxQxQ")


def kept_of(row: bytes) -> tuple[int, int, int]:
    """Return generation, broker_epoch and created_at_ms of a row."""
    generation, epoch, created_at_ms = _KEPT.unpack_from(row)
    return generation, epoch, created_at_ms


def is_plain(row: bytes) -> bool:
    """Return whether a client is connected, and has no will."""
    return row[_HEAD_BYTES] == _BROKER_TAG


def ends_with_connection(row: bytes) -> bool:
    """Return whether a session does not outlive its connection."""
    return row[_EXPIRY_AT:_HEAD_BYTES] == _NO_EXPIRY


def short_broker(row: bytes) -> bytes:
    """Return the name of the broker in a plain row; b"" if that is too long to be read here."""
    size = row[_HEAD_BYTES + 1]
    return b"" if size > _SHORT else row[_HEAD_BYTES + 2 : _HEAD_BYTES + 2 + size]


class RowsOfBroker:
    """The rows of clients that connect to one broker at one time."""

    __slots__ = ("_broker", "_connected_at_ms", "_epoch", "_tails")

    def __init__(self, broker: str, epoch: int, connected_at_ms: int) -> None:
        self._broker: Final = _broker_part(broker)
        self._epoch: Final = epoch
        self._connected_at_ms: Final = connected_at_ms
        #: By the length of the payload: the bytes between head and payload of a row without a will.
        self._tails: Final[dict[int, bytes]] = {0: self._broker}

    def row(
        self, generation: int, created_at_ms: int, arrival: SessionConnect, *, has_will: bool
    ) -> bytes:
        """Return the row of a client."""
        payload = arrival.payload
        tail = self._tails.get(len(payload))
        if tail is None:
            tail = self._tails[len(payload)] = self._broker + _payload_head(len(payload))
        head = _pack_head(
            0x09, generation, 0x11, self._epoch, 0x19, created_at_ms, 0x21, self._connected_at_ms,
            0x29, arrival.connection_id, 0x35, arrival.expiry_interval_s,
        )  # fmt: skip
        return head + _HAS_WILL + tail + payload if has_will else head + tail + payload


class ImportedRows:
    """The rows of sessions that one command imports: no broker has served them."""

    __slots__ = ("_generation", "_imported_at_ms", "_left")

    def __init__(self, generation: int, imported_at_ms: int) -> None:
        self._generation: Final = generation
        self._imported_at_ms: Final = imported_at_ms
        self._left: Final = Session(disconnected_at_ms=imported_at_ms).SerializeToString()

    def start(self, expiry_interval_s: int, payload_size: int) -> bytes:
        """Return the bytes before the payload in the row of a client."""
        head = _pack_head(
            0x09, self._generation, 0x11, 0, 0x19, self._imported_at_ms, 0x21, 0, 0x29, 0,
            0x35, expiry_interval_s,
        )  # fmt: skip
        return head + self._left + (_payload_head(payload_size) if payload_size else b"")


def payload_part(payload: bytes) -> bytes:
    """Return a payload as encoded in a row."""
    return _payload_head(len(payload)) + payload if payload else b""


def updated_row(row: bytes, expiry_interval_s: int | None, payload: bytes | None) -> bytes | None:
    """Return a plain row with the given fields replaced; None if the row must be decoded first."""
    if not is_plain(row) or row[_HEAD_BYTES + 1] > _SHORT:
        return None
    end = _HEAD_BYTES + 2 + row[_HEAD_BYTES + 1]
    head = row[:_HEAD_BYTES]
    if expiry_interval_s is not None:
        head = row[:_EXPIRY_AT] + _EXPIRY.pack(expiry_interval_s)
    kept = row[end:] if payload is None else payload_part(payload)
    return b"".join((head, row[_HEAD_BYTES:end], kept))


@lru_cache(maxsize=1_024)
def _broker_part(broker: str) -> bytes:
    return Session(broker=broker).SerializeToString()


@lru_cache(maxsize=4_096)
def _payload_head(size: int) -> bytes:
    return Session(payload=bytes(size)).SerializeToString()[:-size]
