"""Reads header blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeVar

from quorate.http2.hpack import huffman
from quorate.http2.hpack.fields import (
    ENTRY_OVERHEAD,
    STATIC,
    DynamicTable,
    Field,
    HpackError,
    decode_integer,
)

T = TypeVar("T")

#: Blocks that a connection remembers; a full memory is emptied.
_REMEMBERED: Final = 32
#: Fields that are remembered have at most this size, however few bytes refer to them.
_REMEMBERED_BYTES: Final = 4_096
#: Size updates of a block: the least since the last one, and the final one (section 4.2).
_UPDATES: Final = 2
_OFFSET: Final = len(STATIC) + 1


class HeaderListTooLargeError(Exception):
    """The fields of a block exceed the bound; the table has taken them all the same."""


class Decoder(Generic[T]):
    """Decodes header blocks, and converts their fields with `interpret`.

    A block that left the table as it was, and comes again before the table changes, means the same:
    its meaning is remembered, which is how calls that repeat cost one look at a dictionary.
    """

    def __init__(
        self, interpret: Callable[[list[Field]], T], table_bytes: int, list_bytes: int
    ) -> None:
        self._interpret: Final = interpret
        #: The table size announced by settings; size updates must not exceed it.
        self._allowed_bytes: Final = table_bytes
        self._list_bytes: Final = list_bytes
        self._table: Final = DynamicTable(table_bytes)
        self._known: Final[dict[bytes, T]] = {}

    def decode(self, block: bytes) -> T:
        """Return the meaning of a block.

        Raises `HpackError`, after which the connection cannot go on, and `HeaderListTooLargeError`,
        after which it can.
        """
        known = self._known.get(block)
        if known is not None:
            return known
        fields, size, changed = self._fields(block)
        if changed:
            self._known.clear()
        meaning = self._interpret(fields)
        if not changed and max(size, len(block)) <= _REMEMBERED_BYTES:
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[block] = meaning
        return meaning

    def _fields(self, block: bytes) -> tuple[list[Field], int, bool]:
        """Return the fields of a block, their size, and whether it changed the table."""
        at, end, size, changed = 0, len(block), 0, False
        updates = 0
        fields: list[Field] = []
        while at < end:
            first = block[at]
            if first >= 0x80:
                index, at = decode_integer(block, at, 7)
                field = self._at(index)
            elif first >= 0x40 or first < 0x20:
                index, at = decode_integer(block, at, 6 if first >= 0x40 else 4)
                if index:
                    name = self._at(index)[0]
                else:
                    name, at = _string(block, at)
                value, at = _string(block, at)
                field = name, value
                if first >= 0x40:
                    self._table.add(field)
                    changed = True
            else:
                # Updates precede all fields (section 4.2).
                if fields:
                    raise HpackError("a size update follows a field")
                limit, at = decode_integer(block, at, 5)
                if limit > self._allowed_bytes:
                    raise HpackError(f"a size update of {limit} exceeds {self._allowed_bytes}")
                updates += 1
                if updates > _UPDATES:
                    raise HpackError("a block has more size updates than an encoder needs")
                self._table.resize(limit)
                changed = True
                continue
            size += len(field[0]) + len(field[1]) + ENTRY_OVERHEAD
            if size <= self._list_bytes:
                fields.append(field)
            elif not fields:
                # What is over the bound is not kept; the updates rule needs to see a field.
                fields.append((b"", b""))
        if size > self._list_bytes:
            if changed:
                self._known.clear()
            raise HeaderListTooLargeError(f"{size} bytes of header fields")
        return fields, size, changed

    def _at(self, index: int) -> Field:
        if 0 < index < _OFFSET:
            return STATIC[index - 1]
        place = index - _OFFSET
        if 0 <= place < len(self._table):
            return self._table[place]
        raise HpackError(f"no field has index {index}")


def _string(block: bytes, at: int) -> tuple[bytes, int]:
    """Return a string and the place behind it; raises `HpackError`."""
    if at >= len(block):
        raise HpackError("the block ends before a string")
    coded = block[at] & 0x80
    length, at = decode_integer(block, at, 7)
    end = at + length
    if end > len(block):
        raise HpackError("the block ends within a string")
    text = block[at:end]
    return (huffman.decode(text) if coded else text), end
