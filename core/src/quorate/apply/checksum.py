"""The running checksum over what entries did: two replicas that differ in it are no replicas.

All of an entry is folded together: what it costs beside the bytes is little per command.
"""

from collections.abc import Sequence
from struct import Struct, pack
from typing import Final
from zlib import crc32

from quorate.apply.layers import Table
from quorate.apply.outcomes import Outcome

_ENTRY: Final = Struct(">QqI")


def fold_outcomes(checksum: int, outcomes: Sequence[Outcome]) -> int:
    """Go on with what the commands of an entry were answered."""
    heads: list[int] = []
    replies: list[bytes] = []
    for revision, reply, refusal, forgotten in outcomes:
        said = reply if refusal is None else f"{refusal.code} {refusal.message}".encode()
        heads += (revision, (refusal is not None) << 1 | forgotten, len(said))
        if said:
            replies.append(said)
    return crc32(b"".join((pack(f">{len(heads)}Q", *heads), *replies)), checksum)


def fold_tables(checksum: int, tables: Sequence[tuple[str, Table]]) -> int:
    """Go on with changes of families, in their order."""
    if not tables:
        return checksum
    heads: list[int] = []
    parts: list[bytes] = []
    values: list[bytes | None] = []
    for family, table in tables:
        parts.append(family.encode())
        for edges in table.ranges:
            parts += edges
        parts += table.rows
        values += table.rows.values()
        heads += (len(table.ranges), len(table.rows))
    # A deleted row has the length that no value has.
    lengths = [-1 if value is None else len(value) for value in values]
    sizes = pack(
        f">{1 + len(heads) + len(parts)}I{len(values)}i",
        len(tables),
        *heads,
        *map(len, parts),
        *lengths,
    )
    return crc32(b"".join((sizes, *parts, *filter(None, values))), checksum)


def fold_entry(checksum: int, index: int, now_ms: int, event_row: bytes) -> int:
    """Go on with the entry itself and its events."""
    return crc32(event_row, crc32(_ENTRY.pack(index, now_ms, len(event_row)), checksum))
