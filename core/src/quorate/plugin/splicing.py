"""Answers in their wire form, joined from bytes: a stored row is the wire form of its message.

A field may stand anywhere in a message, and two messages one after the other are both merged: so
the fields that a row does not hold go in front of it, and nothing is parsed or built again.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from quorate.plugin.transaction import Row

_BYTES: Final = 2


def encoded(answer: Message | bytes) -> bytes:
    """Return the wire form of an answer of a method or a query; it may be encoded already."""
    return answer if type(answer) is bytes else answer.SerializeToString()  # type: ignore[union-attr]


@lru_cache(maxsize=4_096)
def head(field: int, size: int) -> bytes:
    """Return the tag and length in front of a field's content: bytes, text or a message."""
    return _varint(field << 3 | _BYTES) + _varint(size)


@lru_cache(maxsize=4_096)
def number(field: int, value: int) -> bytes:
    """Return a field of an unsigned number, as it is when it is not 0."""
    return _varint(field << 3) + _varint(value)


def embedded(field: int, content: bytes) -> bytes:
    """Return a field that holds bytes, text or a message."""
    return head(field, len(content)) + content


def spliced(of_key: int, of_revision: int, row: Row) -> bytes:
    """Return a row with the fields that hold its key and its revision in front of it."""
    key, value, revision = row
    return b"".join((head(of_key, len(key)), key, number(of_revision, revision), value))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
