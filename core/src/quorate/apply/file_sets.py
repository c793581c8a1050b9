"""File sets of a shard: rows that are made elsewhere and put in place by one entry.

The row of a set is written by the entries that open, ingest and drop it. An entry whose row says
that it ingests makes every replica put the files in place before it stores the entry's effects.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from quorate.apply.layers import Rows, Table
from quorate.storage.families import FILE_SETS
from quorate.v1 import files_pb2 as pb

#: A publication is under way that has the files, or may have them.
PUBLISHING: Final = "PUBLISHING"

#: Whether the files of a set on this node have a row of a family with one of these keys: the first
#: such key. None: unknown.
FindInFiles = Callable[[pb.FileSet, str, list[bytes]], bytes | None]


def find(rows: Rows, name: str) -> pb.FileSet | None:
    """Return the set of a name, if there is one."""
    row = rows.get(FILE_SETS, name.encode())
    return None if row is None else pb.FileSet.FromString(row)


def all_sets(rows: Rows) -> Iterator[pb.FileSet]:
    """Yield every set, in the order of their names."""
    for _, row in rows.iterate(FILE_SETS, b"", None):
        yield pb.FileSet.FromString(row)


def unfinished(rows: Rows) -> pb.FileSet | None:
    """Return a set whose files are not in place, and may still be put there."""
    over = (pb.FileSet.INGESTED, pb.FileSet.DROPPED)
    return next((each for each in all_sets(rows) if each.state not in over), None)


def ingested_by(table: Table | None, index: int) -> pb.FileSet | None:
    """Return the set that the entry at an index puts in place, if it does so."""
    rows = () if table is None else table.rows.values()
    for row in filter(None, rows):
        found = pb.FileSet.FromString(row)
        if found.ingested_at == index:
            return found
    return None


def rows_by_family(files: Iterable[pb.SortedFile]) -> Mapping[str, int]:
    """Return the number of rows of each family."""
    found: dict[str, int] = {}
    for file in files:
        found[file.family] = found.get(file.family, 0) + file.rows
    return found
