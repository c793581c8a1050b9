"""Layers of changes in memory over stored rows; a layer hides what it changes below."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import Final, Protocol

from quorate.storage.engine.port import EngineError

#: Maximum number of new keys to insert one by one; more are sorted together.
_FEW: Final = 16


class Rows(Protocol):
    """The rows below a layer: stored ones or another layer."""

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return the value of a key, or None."""

    def get_many(self, family: str, keys: list[bytes]) -> list[bytes | None]:
        """Return the values of keys in their order."""

    def iterate(
        self, family: str, start: bytes, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Return the rows with `start <= key < end` in order."""


class Table:
    """Changes of one family: ranges are deleted first, then rows change."""

    __slots__ = ("_sorted", "ranges", "rows")

    def __init__(self) -> None:
        #: The new value of each key; None if it was deleted. Only `delete_range` removes keys.
        self.rows: dict[bytes, bytes | None] = {}
        self.ranges: Final[list[tuple[bytes, bytes]]] = []
        #: The sorted keys, as of the last scan.
        self._sorted: list[bytes] = []

    @classmethod
    def of(cls, deleted: Iterable[bytes]) -> "Table":
        """Return the deletions of keys."""
        table = cls()
        table.rows = dict.fromkeys(deleted)
        return table

    def copied(self) -> "Table":
        """Return a copy."""
        table = Table()
        table.rows = self.rows.copy()
        table.ranges.extend(self.ranges)
        return table

    def hides(self, key: bytes) -> bool:
        """Whether the row below with this key is deleted."""
        return key in self.rows or any(start <= key < end for start, end in self.ranges)

    def delete_range(self, start: bytes, end: bytes) -> None:
        """Delete every key with `start <= key < end`."""
        self.forget_range(start, end)
        self.ranges.append((start, end))

    def forget_range(self, start: bytes, end: bytes) -> None:
        """Undo the changes of these keys."""
        if self.rows:
            for key in self.between(start, end):
                del self.rows[key]
            self._sorted = []

    def between(self, start: bytes, end: bytes | None) -> list[bytes]:
        """Return the changed keys of a range, in order."""
        keys, count = self._sorted, len(self.rows)
        if len(keys) != count:
            # New keys are at the end of the dict.
            new = list(islice(reversed(self.rows), count - len(keys)))
            if len(new) <= _FEW:
                for key in new:
                    insort(keys, key)
            else:
                keys += new
                keys.sort()
        last = count if end is None else bisect_left(keys, end)
        return keys[bisect_left(keys, start) : last]


class Layer:
    """Changes of any families, to be merged into the layer below or dropped."""

    __slots__ = ("_below", "fault", "tables")

    def __init__(self, below: Rows) -> None:
        self._below = below
        #: By family, in the order of their first changes.
        self.tables: Final[dict[str, Table]] = {}
        #: Why a read failed; decisions based on it are void.
        self.fault: EngineError | None = None

    def table(self, family: str) -> Table:
        """Return the mutable changes of a family."""
        table = self.tables.get(family)
        if table is None:
            table = self.tables[family] = Table()
        return table

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return the value of a key in this layer, or None."""
        table = self.tables.get(family)
        if table is not None:
            rows = table.rows
            if key in rows:
                return rows[key]
            if table.ranges and table.hides(key):
                return None
        try:
            return self._below.get(family, key)
        except EngineError as error:
            self.fault = error
            raise

    def get_many(self, family: str, keys: list[bytes]) -> list[bytes | None]:
        """Return the values of keys in this layer, in their order."""
        table = self.tables.get(family)
        if table is not None and table.ranges:
            return [self.get(family, key) for key in keys]
        try:
            below = self._below.get_many(family, keys)
        except EngineError as error:
            self.fault = error
            raise
        if table is None or table.rows.keys().isdisjoint(keys):
            return below
        return [table.rows.get(key, value) for key, value in zip(keys, below, strict=True)]

    def iterate(
        self, family: str, start: bytes, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows of a range in this layer, which must not change meanwhile."""
        try:
            below = self._below.iterate(family, start, end, reverse=reverse)
            table = self.tables.get(family)
            if table is None:
                yield from below
                return
            keys, rows = table.between(start, end), table.rows
            if reverse:
                keys.reverse()
            changed = ((key, rows[key]) for key in keys)
            kept = (row for row in below if not table.hides(row[0]))
            for key, value in merge(changed, kept, key=itemgetter(0), reverse=reverse):
                if value is not None:
                    yield key, value
        except EngineError as error:
            self.fault = error
            raise

    def put(self, family: str, key: bytes, value: bytes) -> None:
        """Set a key."""
        self.table(family).rows[key] = value

    def delete(self, family: str, key: bytes) -> None:
        """Delete a key, if it is there."""
        self.table(family).rows[key] = None

    def delete_range(self, family: str, start: bytes, end: bytes) -> None:
        """Delete every key with `start <= key < end`."""
        self.table(family).delete_range(start, end)

    def size(self, but: frozenset[str] = frozenset()) -> int:
        """Return the size of the changed keys and values, without some families."""
        size = 0
        for family, table in self.tables.items():
            if family not in but:
                values = filter(None, table.rows.values())
                size += sum(map(len, table.rows)) + sum(map(len, values))
        return size

    def rebase(self, below: Rows) -> None:
        """Move onto other rows, which include the layers between."""
        self._below = below

    def merge_into(self, below: "Layer") -> None:
        """Move every change to the layer below; this one must not be used any more."""
        for family, table in self.tables.items():
            below.merge(family, table)

    def merge(self, family: str, table: Table) -> None:
        """Apply the changes of a table, which becomes part of this layer."""
        mine = self.tables.get(family)
        if mine is None:
            self.tables[family] = table
            return
        for start, end in table.ranges:
            mine.delete_range(start, end)
        mine.rows.update(table.rows)
