"""Jute: the encoding of ZooKeeper's records, whose fields follow each other without tags."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from struct import Struct, error as StructError
from typing import Any, Final, TypeVar

T = TypeVar("T")

_INT: Final = Struct(">i")
_LONG: Final = Struct(">q")


class ShortRecordError(Exception):
    """A record ends before its last field does."""


class Record:
    """Reads the fields of a record in their order; raises `ShortRecordError` at its end."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self.data: Final = data
        #: The position of the next field.
        self.at = at

    @property
    def ended(self) -> bool:
        """Whether the record is read to its end."""
        return self.at >= len(self.data)

    @property
    def rest(self) -> bytes:
        """The unread bytes."""
        return self.data[self.at :]

    def int32(self) -> int:
        """Read a number of 4 bytes."""
        number: int = self.fields(_INT)[0]
        return number

    def int64(self) -> int:
        """Read a number of 8 bytes."""
        number: int = self.fields(_LONG)[0]
        return number

    def fields(self, form: Struct) -> tuple[Any, ...]:
        """Read fields of fixed sizes."""
        try:
            found = form.unpack_from(self.data, self.at)
        except StructError:
            raise ShortRecordError from None
        self.at += form.size
        return found

    def boolean(self) -> bool:
        """Read a boolean."""
        return self.take(1) != b"\x00"

    def buffer(self) -> bytes | None:
        """Read bytes, which may be null."""
        data, start = self.data, self.at + _INT.size
        try:
            [length] = _INT.unpack_from(data, self.at)
        except StructError:
            raise ShortRecordError from None
        if length < 0:
            self.at = start
            return None
        end = start + length
        if end > len(data):
            raise ShortRecordError
        self.at = end
        return data[start:end]

    def text(self) -> str:
        """Read a string; null reads as empty, and invalid UTF-8 is replaced."""
        return (self.buffer() or b"").decode(errors="replace")

    def vector(self, read: Callable[[], T]) -> list[T]:
        """Read a list of elements with `read`; null reads as an empty list."""
        count = self.int32()
        if count > len(self.data):
            # Every element has at least one byte; a false count must not cost memory.
            raise ShortRecordError
        return [read() for _ in range(count)]

    def skips(self, expected: bytes) -> bool:
        """Skip these bytes if they are next, and return whether they were."""
        found = self.data.startswith(expected, self.at)
        if found:
            self.at += len(expected)
        return found

    def take(self, count: int) -> bytes:
        """Read a number of bytes."""
        end = self.at + count
        if end > len(self.data):
            raise ShortRecordError
        taken = self.data[self.at : end]
        self.at = end
        return taken


def int32(value: int) -> bytes:
    """Write a number of 4 bytes."""
    return _INT.pack(value)


def int64(value: int) -> bytes:
    """Write a number of 8 bytes."""
    return _LONG.pack(value)


def buffer(value: bytes | None) -> bytes:
    """Write bytes, which may be null."""
    return b"\xff\xff\xff\xff" if value is None else _INT.pack(len(value)) + value


def text(value: str) -> bytes:
    """Write a string."""
    return buffer(value.encode())


def vector(values: Iterable[bytes]) -> bytes:
    """Write a list of written elements."""
    written = list(values)
    return _INT.pack(len(written)) + b"".join(written)
