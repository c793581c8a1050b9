"""Writes header blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from quorate.http2.hpack import huffman
from quorate.http2.hpack.fields import STATIC, Field, encode_integer

_FIELDS: Final[dict[Field, int]] = {}
_NAMES: Final[dict[bytes, int]] = {}
for _index, _field in enumerate(STATIC, 1):
    _FIELDS.setdefault(_field, _index)
    _NAMES.setdefault(_field[0], _index)

_INDEXED: Final = 0x80
_NEVER: Final = 0x10


def plain_block(fields: Iterable[Field], secret: Collection[bytes] = ()) -> bytes:
    """Return a block that needs and changes no table: the same bytes on every connection.

    The values of names in `secret` are never put into any table, on the way either.
    """
    return b"".join(
        encode_integer(_FIELDS[field], 7, _INDEXED)
        if field in _FIELDS
        else _literal(field, _NEVER if field[0] in secret else 0)
        for field in fields
    )


def _literal(field: Field, flags: int) -> bytes:
    name, value = field
    index = _NAMES.get(name, 0)
    head = encode_integer(index, 4, flags)
    return head + _string(value) if index else head + _string(name) + _string(value)


def _string(text: bytes) -> bytes:
    coded = huffman.encode(text)
    if len(coded) < len(text):
        return encode_integer(len(coded), 7, 0x80) + coded
    return encode_integer(len(text), 7, 0) + text
