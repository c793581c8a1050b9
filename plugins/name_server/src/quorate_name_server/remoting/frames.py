"""The frames of RocketMQ's remoting protocol."""

from __future__ import annotations

from struct import Struct
from typing import Final

#: The size limit of a frame in bytes, including its length field.
LARGEST_FRAME: Final = 16_777_216
_WORD: Final = 4
_LARGEST: Final = (LARGEST_FRAME - _WORD).to_bytes(_WORD, "big")
_HEAD: Final = Struct(">ii")
_HEADER_BYTES: Final = 0xFFFFFF

#: The kind of a frame's header, the header, and the body.
Frame = tuple[int, bytes, bytes]

#: The PROXY header before a forwarded connection: a line of text, or binary.
_PROXY_LINE: Final = b"PROXY "
_LONGEST_LINE: Final = 107
_PROXY_BINARY: Final = b"\r\n\r\n\x00\r\nQUIT\n"
_BINARY_HEAD: Final = 16


class MalformedError(Exception):
    """The bytes violate the protocol: the connection is closed without an answer."""


class Frames:
    """Splits a stream of bytes into frames; an incomplete frame is kept."""

    def __init__(self) -> None:
        self._held = bytearray()

    @property
    def held(self) -> int:
        """The number of bytes kept of an incomplete frame."""
        return len(self._held)

    @property
    def expected(self) -> int:
        """The size of the incomplete frame by its head, in bytes."""
        if len(self._held) < _WORD:
            return _WORD
        return _WORD + int.from_bytes(self._held[:_WORD], "big")

    def feed(self, data: bytes) -> list[Frame]:
        """Add bytes, and return the complete frames; raises `MalformedError`."""
        source: bytes | bytearray = data
        if self._held:
            self._held += data
            source = self._held
        found = []
        at, size = 0, len(source)
        while size - at >= _HEAD.size:
            length, word = _HEAD.unpack_from(source, at)
            header = at + _HEAD.size + (word & _HEADER_BYTES)
            end = at + _WORD + length
            if length > LARGEST_FRAME - _WORD or header > end:
                raise _malformed(source, at)
            if size < end:
                break
            found.append(
                (word >> 24, bytes(source[at + _HEAD.size : header]), bytes(source[header:end]))
            )
            at = end
        if size - at >= _WORD and source[at : at + _WORD] > _LARGEST:
            raise _malformed(source, at)
        if source is self._held:
            del self._held[:at]
        elif at < size:
            self._held += source[at:] if at else source
        return found


def skip_proxy(data: bytes) -> bytes | None:
    """Return the bytes after a PROXY header; None while the header is incomplete.

    Bytes without a header are returned unchanged. Raises `MalformedError`.
    """
    if data[:1] == b"P":
        line, found, rest = data.partition(b"\r\n")
        if not line.startswith(_PROXY_LINE[: len(line)]) or len(line) >= _LONGEST_LINE:
            raise MalformedError(f"it begins with {_start(data)}")
        return rest if found else None
    if data[:1] == b"\r":
        if not data.startswith(_PROXY_BINARY[: len(data)]):
            raise MalformedError(f"it begins with {_start(data)}")
        end = _BINARY_HEAD + int.from_bytes(data[_BINARY_HEAD - 2 : _BINARY_HEAD], "big")
        return data[end:] if len(data) >= max(end, _BINARY_HEAD) else None
    return data


def frame(header: bytes, body: bytes = b"") -> bytes:
    """Return a frame with a JSON header."""
    return _HEAD.pack(_WORD + len(header) + len(body), len(header)) + header + body


def _malformed(source: bytes | bytearray, at: int) -> MalformedError:
    length = int.from_bytes(source[at : at + _WORD], "big")
    return MalformedError(f"a frame of {length:,} bytes begins with {_start(source, at)}")


def _start(source: bytes | bytearray, at: int = 0) -> str:
    return repr(bytes(source[at : at + 12]))
