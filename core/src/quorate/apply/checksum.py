"""The running checksum over what entries did: two replicas that differ in it are no replicas."""

from collections.abc import Collection
from struct import Struct, pack
from typing import Final
from zlib import crc32

from quorate.apply.layers import Layer, Table
from quorate.apply.outcomes import Outcome

_ENTRY: Final = Struct(">QqI")
_OUTCOME: Final = Struct(">QBI")
_TABLE: Final = Struct(">III")


def fold_outcome(checksum: int, outcome: Outcome) -> int:
    """Go on with what a command was answered."""
    revision, reply, refusal, forgotten = outcome
    if refusal is not None:
        reply = f"{refusal.code} {refusal.message}".encode()
    head = _OUTCOME.pack(revision, (refusal is not None) << 1 | forgotten, len(reply))
    return crc32(head + reply, checksum)


def fold_rows(checksum: int, layer: Layer, events: Collection[str]) -> int:
    """Go on with the changes of a layer, but for families whose changes are all events."""
    for family, table in layer.tables.items():
        if family not in events:
            checksum = _fold_table(checksum, family, table)
    return checksum


def fold_entry(checksum: int, index: int, now_ms: int, event_row: bytes) -> int:
    """Go on with the entry itself and its events."""
    return crc32(event_row, crc32(_ENTRY.pack(index, now_ms, len(event_row)), checksum))


def _fold_table(checksum: int, family: str, table: Table) -> int:
    name, rows = family.encode(), table.rows
    keys, values = list(rows), list(rows.values())
    ranges = [edge for each in table.ranges for edge in each]
    # A deleted row has the length that no value has.
    lengths = [-1 if value is None else len(value) for value in values]
    parts = [value for value in values if value]
    count, edges = len(keys), len(ranges)
    head = _TABLE.pack(len(name), count, edges) + name
    sizes = pack(f">{edges + count}I{count}i", *map(len, ranges), *map(len, keys), *lengths)
    return crc32(b"".join((head, sizes, *ranges, *keys, *parts)), checksum)
