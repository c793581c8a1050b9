"""Writes header blocks."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from quorate.http2.hpack import huffman
from quorate.http2.hpack.fields import STATIC, DynamicTable, Field, encode_integer

#: Blocks that an encoder remembers.
_REMEMBERED: Final = 64
_FIELDS: Final[dict[Field, int]] = {}
_NAMES: Final[dict[bytes, int]] = {}
for _index, _field in enumerate(STATIC, 1):
    _FIELDS.setdefault(_field, _index)
    _NAMES.setdefault(_field[0], _index)
_OFFSET: Final = len(STATIC) + 1

_INDEXED: Final = 0x80
_REMEMBER: Final = 0x40
_SIZE_UPDATE: Final = 0x20
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


class Encoder:
    """Encodes the fields of a connection's blocks, and remembers whole blocks.

    Fields that repeat go into the table, but for those whose names are in `changing`. The values of
    names in `secret` are never put into any table, here or on the way (section 7.1.3).
    """

    def __init__(
        self,
        table_bytes: int,
        changing: Collection[bytes] = (),
        secret: Collection[bytes] = (),
    ) -> None:
        self._table: Final = DynamicTable(table_bytes)
        self._changing: Final = frozenset(changing)
        self._secret: Final = frozenset(secret)
        #: The number of an entry: how many had been added before. Its index follows from it.
        self._numbers: Final[dict[Field, int]] = {}
        self._added = 0
        self._known: Final[dict[tuple[Field, ...], bytes]] = {}
        #: Sizes to tell in front of the next block.
        self._updates: list[int] = []

    def resize(self, limit: int) -> None:
        """Keep to the size that the other end allows from now on."""
        if limit != self._table.limit:
            self._forget(self._table.resize(limit))
            # The smallest in between counts as well (section 4.2).
            self._updates = [min([limit, *self._updates]), limit]

    def encode(self, fields: tuple[Field, ...]) -> bytes:
        """Return the block of these fields."""
        known = self._known.get(fields)
        if known is not None:
            return known
        updates = b"".join(
            encode_integer(size, 5, _SIZE_UPDATE) for size in dict.fromkeys(self._updates)
        )
        self._updates = []
        before = self._added
        block = b"".join(map(self._field, fields))
        if before == self._added:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[fields] = block
        return updates + block

    def _field(self, field: Field) -> bytes:
        index = self._index(field)
        if index:
            return encode_integer(index, 7, _INDEXED)
        name = field[0]
        if name in self._secret:
            return _literal(field, _NEVER)
        size = len(name) + len(field[1]) + 32
        if name in self._changing or size > self._table.limit // 2:
            return _literal(field, 0)
        literal = _literal(field, _REMEMBER)
        self._forget(self._table.add(field))
        self._known.clear()
        self._added += 1
        self._numbers[field] = self._added
        return literal

    def _index(self, field: Field) -> int:
        index = _FIELDS.get(field)
        if index is not None:
            return index
        number = self._numbers.get(field)
        return 0 if number is None else _OFFSET + self._added - number

    def _forget(self, fields: Iterable[Field]) -> None:
        for field in fields:
            self._numbers.pop(field, None)
        self._known.clear()


def _literal(field: Field, flags: int) -> bytes:
    name, value = field
    bits = 6 if flags == _REMEMBER else 4
    index = _NAMES.get(name, 0)
    head = encode_integer(index, bits, flags)
    return head + _string(value) if index else head + _string(name) + _string(value)


def _string(text: bytes) -> bytes:
    coded = huffman.encode(text)
    if len(coded) < len(text):
        return encode_integer(len(coded), 7, 0x80) + coded
    return encode_integer(len(text), 7, 0) + text
