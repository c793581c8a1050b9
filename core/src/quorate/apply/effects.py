"""The payload of an entry: the effects of its commands, written and read in one pass.

It has a head, the events as the history of watches stores them, and the changes of families without
events. The format is a promise that tests/compat checks.
"""

from collections.abc import Iterable, Set
from struct import Struct, error as StructError, pack, unpack_from
from typing import Final, NamedTuple

from quorate.apply.layers import Layer, Table
from quorate.storage import events
from quorate.storage.events import EventRow

#: Entries of commands, which versions before 0.2 logged, never begin with this byte.
_FORMAT: Final = 1
#: Format, logical time, generation, checked index, checksum there, number of commands, length of
#: the events, number of tables.
_HEAD: Final = Struct(">BqQQIIIH")
#: Length of the family's name, number of ranges, number of rows.
_TABLE: Final = Struct(">HII")
#: The length of a deleted row, which no value has.
_DELETED: Final = -1


class Head(NamedTuple):
    """The head of an entry."""

    #: The logical time of its commands.
    now_ms: int
    #: How many times the cluster was restored from a backup.
    generation: int
    #: An applied index of the leader, and its running checksum there; 0: none.
    checked_index: int
    checksum: int
    #: The number of its commands, refused ones included.
    commands: int


class Effects(NamedTuple):
    """An entry, split into its parts."""

    head: Head
    #: The event row of `quorate.storage.events`; b"" without events.
    events: bytes
    #: The changes of families without events.
    tables: dict[str, Table]
    #: The families of the events and the full names of emitted messages, where `tables` has all
    #: changes; None: those of families with events are in the events alone.
    names: Set[str] | None = None


class EffectsError(Exception):
    """This version cannot read the payload of an entry."""


def encode(head: Head, happened: EventRow, tables: Iterable[tuple[str, Table]]) -> bytes:
    """Return the payload of an entry."""
    row = happened.encode(head.now_ms) if happened.runs else b""
    parts: list[bytes] = [b"", row]
    count = 0
    for family, table in tables:
        count += 1
        name, rows = family.encode(), table.rows
        values = rows.values()
        edges = [edge for pair in table.ranges for edge in pair]
        lengths = [_DELETED if value is None else len(value) for value in values]
        parts += (
            _TABLE.pack(len(name), len(table.ranges), len(rows)),
            name,
            pack(
                f">{len(edges) + 2 * len(rows)}i",
                *map(len, edges),
                *map(len, rows),
                *lengths,
            ),
            *edges,
            *rows,
            *filter(None, values),
        )
    now_ms, generation, checked_index, checksum, commands = head
    parts[0] = _HEAD.pack(
        _FORMAT, now_ms, generation, checked_index, checksum, commands, len(row), count
    )
    return b"".join(parts)


def decode(payload: bytes) -> Effects:
    """Parse the payload of an entry; raises `EffectsError`."""
    if payload[:1] != bytes((_FORMAT,)):
        raise EffectsError(_foreign(payload))
    try:
        _, now_ms, generation, index, checksum, commands, size, count = _HEAD.unpack_from(payload)
        at = _HEAD.size + size
        tables: dict[str, Table] = {}
        for _ in range(count):
            family, tables_at = _name(payload, at)
            tables[family], at = _table(payload, at, tables_at)
    except (StructError, UnicodeDecodeError):
        at = -1
    if at != len(payload):
        raise EffectsError(f"has a payload of {len(payload)} bytes with the wrong length")
    head = Head(now_ms, generation, index, checksum, commands)
    return Effects(head, payload[_HEAD.size : _HEAD.size + size], tables)


def evaluated(payload: bytes, layer: Layer, names: Set[str], watched: Set[str]) -> Effects:
    """Return the parts of a payload that was made of a layer here, and need not be unpacked.

    `names` are those of its events. The layer stays as it is: later commands read it.
    """
    _, now_ms, generation, index, checksum, commands, size, _ = _HEAD.unpack_from(payload)
    head = Head(now_ms, generation, index, checksum, commands)
    tables = {
        family: table.copied()
        for family, table in layer.tables.items()
        if family not in watched or table.rows
    }
    return Effects(head, payload[_HEAD.size : _HEAD.size + size], tables, names)


def unpack_into(layer: Layer, effects: Effects) -> set[str]:
    """Move the effects to a layer; return changed families and full names of emitted messages."""
    for family, table in effects.tables.items():
        layer.merge(family, table)
    if effects.names is not None:
        return set(effects.names)
    seen: set[str] = set()
    if effects.events:
        for name, rows in events.rows_of(effects.events):
            seen.add(name)
            if rows:
                changed = layer.table(name)
                if changed.rows:
                    changed.rows.update(rows)
                else:
                    changed.rows = rows
    return seen


def _name(payload: bytes, at: int) -> tuple[str, int]:
    end = at + _TABLE.size + _TABLE.unpack_from(payload, at)[0]
    return payload[at + _TABLE.size : end].decode(), end


def _table(payload: bytes, at: int, lengths_at: int) -> tuple[Table, int]:
    _, ranges, rows = _TABLE.unpack_from(payload, at)
    named = 2 * ranges + rows
    lengths = unpack_from(f">{named + rows}i", payload, lengths_at)
    begin = lengths_at + 4 * len(lengths)
    has_deleted = min(lengths, default=0) <= _DELETED
    sizes = [max(0, length) for length in lengths] if has_deleted else lengths
    parts = events.split_at(payload, begin, sizes)
    table = Table()
    table.ranges.extend(zip(parts[0 : 2 * ranges : 2], parts[1 : 2 * ranges : 2], strict=True))
    keys, values = parts[2 * ranges : named], parts[named:]
    if has_deleted:
        deleted = lengths[named:]
        table.rows = {
            key: None if length == _DELETED else value
            for key, value, length in zip(keys, values, deleted, strict=True)
        }
    else:
        table.rows = dict(zip(keys, values, strict=True))
    return table, begin + sum(sizes)


def _foreign(payload: bytes) -> str:
    if not payload or payload[0] in (0x08, 0x10, 0x18, 0x22):
        return (
            "holds commands, as versions before 0.2 logged them, and this version reads effects:"
            " stop all clients, and back the cluster up with the version that wrote it"
        )
    return f"has format {payload[0]} of a newer version of quorate: run that version"
