"""Frames and settings as they stand on the wire (RFC 9113, sections 4, 6 and 6.5)."""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final

#: The first bytes of a client.
PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

DATA: Final = 0x0
HEADERS: Final = 0x1
PRIORITY: Final = 0x2
RST_STREAM: Final = 0x3
SETTINGS: Final = 0x4
PUSH_PROMISE: Final = 0x5
PING: Final = 0x6
GOAWAY: Final = 0x7
WINDOW_UPDATE: Final = 0x8
CONTINUATION: Final = 0x9

END_STREAM: Final = 0x1
ACK: Final = 0x1
END_HEADERS: Final = 0x4
PADDED: Final = 0x8
PRIORITIZED: Final = 0x20

HEADER_TABLE_SIZE: Final = 0x1
ENABLE_PUSH: Final = 0x2
MAX_CONCURRENT_STREAMS: Final = 0x3
INITIAL_WINDOW_SIZE: Final = 0x4
MAX_FRAME_SIZE: Final = 0x5
MAX_HEADER_LIST_SIZE: Final = 0x6

#: The initial values of both windows and of the largest frame, and the bounds of all.
INITIAL_WINDOW: Final = 65_535
LARGEST_WINDOW: Final = (1 << 31) - 1
LEAST_FRAME: Final = 1 << 14
LARGEST_FRAME: Final = (1 << 24) - 1
LARGEST_STREAM: Final = (1 << 31) - 1

#: The length in two parts, the type, the flags, the stream.
HEAD: Final = Struct(">HBBBL")
_NUMBER: Final = Struct(">L")
_SETTING: Final = Struct(">HL")
_GOAWAY: Final = Struct(">LL")


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    """Return a frame."""
    size = len(payload)
    return HEAD.pack(size >> 8, size & 0xFF, kind, flags, stream) + payload


def head(size: int, kind: int, flags: int, stream: int) -> bytes:
    """Return the head of a frame with a payload of some size."""
    return HEAD.pack(size >> 8, size & 0xFF, kind, flags, stream)


def settings(values: Iterable[tuple[int, int]]) -> bytes:
    """Return a frame of settings."""
    return frame(SETTINGS, 0, 0, b"".join(_SETTING.pack(*each) for each in values))


def settings_in(payload: bytes) -> list[tuple[int, int]]:
    """Return the settings of a frame; its size must be a multiple of six."""
    return list(_SETTING.iter_unpack(payload))


def number(payload: bytes | memoryview) -> int:
    """Return an integer of four bytes."""
    found: int = _NUMBER.unpack(payload)[0]
    return found


def number_at(content: bytes | memoryview, at: int) -> int:
    """Return the integer of four bytes at a place."""
    found: int = _NUMBER.unpack_from(content, at)[0]
    return found


def window_update(stream: int, more: int) -> bytes:
    """Return a frame that lets the other end send more."""
    return frame(WINDOW_UPDATE, 0, stream, _NUMBER.pack(more))


def rst_stream(stream: int, code: int) -> bytes:
    """Return a frame that ends a stream."""
    return frame(RST_STREAM, 0, stream, _NUMBER.pack(code))


def goaway(last: int, code: int, why: bytes = b"") -> bytes:
    """Return a frame that ends a connection; streams up to `last` are served."""
    return frame(GOAWAY, 0, 0, _GOAWAY.pack(last, code) + why)


def goaway_in(payload: bytes) -> tuple[int, int, bytes]:
    """Return the last stream, the code and the text of a GOAWAY frame of eight bytes at least."""
    last, code = _GOAWAY.unpack_from(payload)
    return last & LARGEST_STREAM, code, payload[_GOAWAY.size :]
