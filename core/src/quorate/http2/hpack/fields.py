"""Header fields, integers, and the tables that both ends index them by."""

from __future__ import annotations

from collections import deque
from typing import Final

#: A name and a value.
Field = tuple[bytes, bytes]

#: The size that an entry counts beside its bytes (section 4.1).
ENTRY_OVERHEAD: Final = 32
#: Larger integers are no sizes of anything here.
_LARGEST: Final = 1 << 30


class HpackError(Exception):
    """A header block that no encoder makes."""


#: Section 2.3.1 and appendix A; the first index is 1.
STATIC: Final[tuple[Field, ...]] = (
    (b":authority", b""),
    (b":method", b"GET"),
    (b":method", b"POST"),
    (b":path", b"/"),
    (b":path", b"/index.html"),
    (b":scheme", b"http"),
    (b":scheme", b"https"),
    (b":status", b"200"),
    (b":status", b"204"),
    (b":status", b"206"),
    (b":status", b"304"),
    (b":status", b"400"),
    (b":status", b"404"),
    (b":status", b"500"),
    (b"accept-charset", b""),
    (b"accept-encoding", b"gzip, deflate"),
    (b"accept-language", b""),
    (b"accept-ranges", b""),
    (b"accept", b""),
    (b"access-control-allow-origin", b""),
    (b"age", b""),
    (b"allow", b""),
    (b"authorization", b""),
    (b"cache-control", b""),
    (b"content-disposition", b""),
    (b"content-encoding", b""),
    (b"content-language", b""),
    (b"content-length", b""),
    (b"content-location", b""),
    (b"content-range", b""),
    (b"content-type", b""),
    (b"cookie", b""),
    (b"date", b""),
    (b"etag", b""),
    (b"expect", b""),
    (b"expires", b""),
    (b"from", b""),
    (b"host", b""),
    (b"if-match", b""),
    (b"if-modified-since", b""),
    (b"if-none-match", b""),
    (b"if-range", b""),
    (b"if-unmodified-since", b""),
    (b"last-modified", b""),
    (b"link", b""),
    (b"location", b""),
    (b"max-forwards", b""),
    (b"proxy-authenticate", b""),
    (b"proxy-authorization", b""),
    (b"range", b""),
    (b"referer", b""),
    (b"refresh", b""),
    (b"retry-after", b""),
    (b"server", b""),
    (b"set-cookie", b""),
    (b"strict-transport-security", b""),
    (b"transfer-encoding", b""),
    (b"user-agent", b""),
    (b"vary", b""),
    (b"via", b""),
    (b"www-authenticate", b""),
)


class DynamicTable:
    """The fields that a connection has sent before, the newest first, up to a size."""

    def __init__(self, size: int) -> None:
        #: The largest size now; the sum of the sizes of its entries stays at or below it.
        self._limit = size
        self._used = 0
        self._entries: Final[deque[Field]] = deque()

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, place: int) -> Field:
        return self._entries[place]

    def add(self, field: Field) -> None:
        """Put a field in front; the oldest ones make room for it."""
        size = len(field[0]) + len(field[1]) + ENTRY_OVERHEAD
        self._shrink_to(self._limit - size)
        if size <= self._limit:
            self._entries.appendleft(field)
            self._used += size

    def resize(self, limit: int) -> None:
        """Change the largest size; the oldest entries that do not fit any more go."""
        self._limit = limit
        self._shrink_to(limit)

    def _shrink_to(self, size: int) -> None:
        while self._used > size and self._entries:
            name, value = self._entries.pop()
            self._used -= len(name) + len(value) + ENTRY_OVERHEAD


def encode_integer(value: int, prefix_bits: int, flags: int) -> bytes:
    """Return an integer behind the flags of its first byte (section 5.1)."""
    most = (1 << prefix_bits) - 1
    if value < most:
        return bytes((flags | value,))
    value -= most
    out = bytearray((flags | most,))
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def decode_integer(block: bytes, at: int, prefix_bits: int) -> tuple[int, int]:
    """Return an integer and the place behind it; raises `HpackError`."""
    try:
        most = (1 << prefix_bits) - 1
        value = block[at] & most
        at += 1
        if value < most:
            return value, at
        shift = 0
        while True:
            byte = block[at]
            at += 1
            value += (byte & 0x7F) << shift
            if value > _LARGEST or shift > 28:
                raise HpackError("an integer is too large")
            if byte < 0x80:
                return value, at
            shift += 7
    except IndexError:
        raise HpackError("the block ends within an integer") from None
