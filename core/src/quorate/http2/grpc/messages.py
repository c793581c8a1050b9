"""Messages on a stream: each behind a byte that says whether it is compressed, and its length."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from typing import Final

PREFIX_BYTES: Final = 5
#: What the compressed parts of messages may say of their form to zlib: gzip, detected.
_GZIP: Final = 16 + zlib.MAX_WBITS


class MessageError(Exception):
    """A message that cannot be taken."""


class MessageTooLargeError(MessageError):
    """A message over the bound; it was not read."""


def prefix_of(message: bytes) -> bytes:
    """Return the prefix of a message on the wire."""
    return b"\0" + len(message).to_bytes(PREFIX_BYTES - 1, "big")


def framed(message: bytes) -> bytes:
    """Return a message as it is sent."""
    return prefix_of(message) + message


def framed_gzip(message: bytes) -> bytes:
    """Return a message as it is sent compressed."""
    content = gzip.compress(message, 1, mtime=0)
    return b"\1" + len(content).to_bytes(PREFIX_BYTES - 1, "big") + content


class MessageReader:
    """Finds the messages of a stream in its bytes.

    `begun` is called with the length of a message that is longer than what has come of it, before
    more of it is kept; what it raises ends the stream.
    """

    __slots__ = ("_begun", "_length", "_most", "_packed", "_parts", "_rest", "_size", "_unpack")

    def __init__(
        self,
        most_bytes: int,
        unpack: Callable[[bytes, int], bytes] | None,
        begun: Callable[[int], None] | None = None,
    ) -> None:
        self._most: Final = most_bytes
        self._unpack: Final = unpack
        self._begun: Final = begun
        #: Of the message that is being read; -1: its prefix has not come.
        self._length = -1
        self._packed = False
        self._parts: list[bytes] = []
        self._size = 0

    @property
    def within(self) -> bool:
        """Whether the stream stands within a message."""
        return self._length >= 0 or bool(self._size)

    def feed(self, content: bytes) -> list[bytes]:
        """Return the messages that are whole now; raises `MessageError`."""
        found: list[bytes] = []
        self._parts.append(content)
        self._size += len(content)
        while True:
            if self._length < 0:
                if self._size < PREFIX_BYTES:
                    return found
                self._begin()
            if self._size < self._length:
                return found
            found.append(self._take(self._length))
            self._length = -1

    def _begin(self) -> None:
        head = self._cut(PREFIX_BYTES)
        if head[0] > 1:
            raise MessageError("the first byte of a message is neither 0 nor 1")
        self._packed = bool(head[0])
        self._length = int.from_bytes(head[1:], "big")
        if self._length > self._most:
            raise MessageTooLargeError(
                f"a message of {self._length} bytes exceeds the {self._most} that are read"
            )
        if self._begun is not None and self._size < self._length:
            self._begun(self._length)

    def _take(self, size: int) -> bytes:
        content = self._cut(size)
        if not self._packed:
            return content
        if self._unpack is None:
            raise MessageError("a message is compressed, and grpc-encoding does not say how")
        return self._unpack(content, self._most)

    def _cut(self, size: int) -> bytes:
        """Take as many bytes from the front."""
        content = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._size -= size
        self._parts = [content[size:]] if self._size else []
        return content[:size]


def unpack_gzip(content: bytes, most_bytes: int) -> bytes:
    """Decompress a message; raises `MessageError` before it exceeds the bound."""
    unpacking = zlib.decompressobj(_GZIP)
    try:
        message = unpacking.decompress(content, most_bytes + 1)
    except zlib.error as error:
        raise MessageError(f"a message is no gzip ({error})") from None
    if len(message) > most_bytes:
        raise MessageTooLargeError(f"a message exceeds the {most_bytes} bytes that are read")
    if not unpacking.eof:
        raise MessageError("a compressed message ends too early")
    return message


#: What unpacks messages, by the values of grpc-encoding.
ENCODINGS: Final[dict[bytes, Callable[[bytes, int], bytes] | None]] = {
    b"": None,
    b"identity": None,
    b"gzip": unpack_gzip,
}
