"""The one key codec of storage and plugins: packed keys sort as their parts do.

A part is text, bytes or an integer of at most 64 bits besides its sign. Every key has one packed
form and every packed form one meaning, whatever bytes a name holds. The format is a promise: rows
on disk are found by it.
"""

from typing import Final

Part = str | bytes | int

_BYTES: Final = 0x01
_TEXT: Final = 0x02
#: The tag of zero; a number of n bytes is tagged n above it, a negative one n below it.
_ZERO: Final = 0x14
_INT_BYTES: Final = 8
_INT_LIMITS: Final = tuple((1 << (8 * size)) - 1 for size in range(_INT_BYTES + 1))


def pack(*parts: Part) -> bytes:
    """Pack parts into a key; `pack(a) < pack(b)` exactly when `a < b`, part by part.

    Where parts of different types meet, bytes sort before text, and text before integers.
    """
    packed = b""
    for part in parts:
        # Most parts are text, and are packed once per row.
        packed += _pack_text(part) if type(part) is str else _pack_part(part)
    return packed


def unpack(key: bytes) -> tuple[Part, ...]:
    """Return the parts of a packed key; raises `ValueError` for bytes that are no packed key."""
    parts: list[Part] = []
    at = 0
    while at < len(key):
        part, at = _unpack_part(key, at)
        parts.append(part)
    return tuple(parts)


def shown(key: bytes) -> str:
    """Return a key in readable form: its parts, or the bytes themselves if they are not parts.

    `shown(pack("acme", 7))` is `('acme', 7)`.
    """
    try:
        parts = unpack(key)
    except ValueError:
        return repr(key)
    return repr(parts) if parts else repr(key)


def readable(key: bytes) -> str | list[str | int]:
    """Return a key for programs that show it: as text, or its parts, or else in hex digits.

    Bytes among the parts are text where they can be, else hex digits.
    """
    if (text := _printable(key)) is not None:
        return text
    try:
        parts = unpack(key)
    except ValueError:
        return key.hex()
    return [_printable(each) or each.hex() if isinstance(each, bytes) else each for each in parts]


def prefix(*parts: Part) -> tuple[bytes, bytes]:
    """Return start and end of the keys that begin with these parts, as `Reader.scan` takes them."""
    packed = pack(*parts)
    return packed, packed + b"\xff"


def opening(*parts: Part) -> tuple[bytes, bytes]:
    """Return start and end of the keys that begin with these parts, the last one being a prefix.

    The last part must be text or bytes: `opening("tenant", "ab")` covers the names `ab`, `abc`.
    """
    if not parts or isinstance(parts[-1], int):
        raise ValueError("the last part of an opening must be text or bytes")
    unended = pack(*parts)[:-1]
    return unended, after(unended)


def successor(key: bytes) -> bytes:
    """Return the smallest key that is larger than a key."""
    return key + b"\x00"


def after(start: bytes) -> bytes:
    """Return the smallest bytes that are larger than everything that begins with `start`."""
    trimmed = start.rstrip(b"\xff")
    if not trimmed:
        raise ValueError("nothing is larger than every key that begins with 0xff bytes alone")
    return trimmed[:-1] + bytes([trimmed[-1] + 1])


def _printable(value: bytes) -> str | None:
    try:
        text = value.decode()
    except UnicodeDecodeError:
        return None
    return text if text.isprintable() else None


def _pack_text(part: str) -> bytes:
    return b"\x02" + part.encode().replace(b"\x00", b"\x00\xff") + b"\x00"


def _pack_part(part: Part) -> bytes:
    if isinstance(part, str):
        return _pack_text(part)
    if isinstance(part, bytes):
        return b"\x01" + part.replace(b"\x00", b"\x00\xff") + b"\x00"
    if type(part) is int:
        return _pack_int(part)
    raise TypeError(f"a key part is str, bytes or int, not {type(part).__name__}")


def _pack_int(number: int) -> bytes:
    size = (number.bit_length() + 7) // 8
    if size > _INT_BYTES:
        raise ValueError(f"a key part of {number.bit_length()} bits; at most 64 allowed")
    if number >= 0:
        return bytes([_ZERO + size]) + number.to_bytes(size)
    # The complement, so that of two negative numbers the smaller sorts first.
    return bytes([_ZERO - size]) + (number + _INT_LIMITS[size]).to_bytes(size)


def _unpack_part(key: bytes, at: int) -> tuple[Part, int]:
    tag = key[at]
    if tag in (_BYTES, _TEXT):
        end = at + 1
        while True:
            end = key.find(b"\x00", end)
            if end < 0:
                raise ValueError(f"not a packed key: the part at byte {at} does not end")
            if key[end + 1 : end + 2] != b"\xff":
                break
            end += 2
        raw = key[at + 1 : end].replace(b"\x00\xff", b"\x00")
        return (raw.decode() if tag == _TEXT else raw), end + 1
    size = abs(tag - _ZERO)
    if size > _INT_BYTES or at + 1 + size > len(key):
        raise ValueError(f"not a packed key: tag {tag:#04x} at byte {at}")
    number = int.from_bytes(key[at + 1 : at + 1 + size])
    if size and key[at + 1] == (0x00 if tag > _ZERO else 0xFF):
        raise ValueError(
            f"not a packed key: the number at byte {at} takes more bytes than it needs"
        )
    if tag < _ZERO:
        number -= _INT_LIMITS[size]
    return number, at + 1 + size
