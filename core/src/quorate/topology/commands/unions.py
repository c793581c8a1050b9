"""The rows of a shard that two others were merged into.

It has the rows of both. A row that both have is as the base has it, unless it is named here. These
are few: the base's leader finds them when it freezes the base, and they come with that entry to all
replicas.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import add
from typing import Final

from quorate.apply import fences, publications, sessions
from quorate.apply.layers import Layer, Rows
from quorate.apply.slot_ownership import Joins
from quorate.apply.txn import number_of, number_row
from quorate.plugin import Rejected
from quorate.storage.families import COUNTS, SEQUENCES
from quorate.v1.control_pb2 import UnitedRow

#: Maximum size of these rows: they are part of one entry.
MOST_BYTES: Final = 4 << 20


def unite(
    base: Rows, other: Rows, joins: Mapping[str, Joins | None], common: int
) -> list[UnitedRow]:
    """Return the united rows of both; raises `Rejected` for rows that cannot be united.

    `joins` says that of the families whose rows have no slot. Sessions that were opened up to
    `common` are the same in both.
    """
    layer = Layer(base)
    for family, join in joins.items():
        for key, value in other.iterate(family, b"", None):
            own = layer.get(family, key)
            if own is None:
                continue
            if join is None:
                raise Rejected(
                    "FAILED_PRECONDITION",
                    f"both shards have rows of {family}, and its plugin does not say what becomes"
                    " of them (`joins` of the family): they cannot be merged",
                )
            layer.put(family, key, join(key, own, value))
    for family, operation in ((COUNTS, add), (SEQUENCES, max)):
        for key, value in other.iterate(family, b"", None):
            own = layer.get(family, key)
            if own is not None:
                layer.put(family, key, number_row(operation(number_of(own), number_of(value))))
    fences.unite(layer, other)
    sessions.unite(layer, other, common)
    mark, theirs = publications.mark(layer), publications.mark(other)
    if theirs.number > mark.number:
        mark.number = theirs.number
        publications.put_mark(layer, mark)
    found, size = list[UnitedRow](), 0
    for family, table in sorted(layer.tables.items()):
        for key, row in sorted(table.rows.items()):
            found.append(UnitedRow(family=family, key=key, value=row))
            size += found[-1].ByteSize()
            if size > MOST_BYTES:
                raise Rejected(
                    "FAILED_PRECONDITION",
                    f"both shards have more than {MOST_BYTES} bytes of the same sessions, fences"
                    " and numbers: merge them when fewer clients are in the middle of something",
                )
    return found
