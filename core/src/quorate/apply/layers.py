"""Changes in memory over stored rows, in layers: a layer hides what lies below it."""

from bisect import bisect_left, insort
from collections.abc import Iterator
from heapq import merge
from itertools import islice
from operator import itemgetter
from typing import Final, Protocol

from quorate.storage.engine.port import EngineError

#: So many new keys are put into their places one by one; more are sorted together.
_FEW: Final = 16


class Rows(Protocol):
    """What a layer lies on: stored rows, or another layer."""

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return a value; None where there is no such key."""

    def get_many(self, family: str, keys: list[bytes]) -> list[bytes | None]:
        """Return the values of keys, in their order."""

    def iterate(
        self, family: str, start: bytes, end: bytes | None, *, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Return the rows from `start` up to, not including, `end`, in the order of their keys."""


class Table:
    """Changes of one family: first the ranges go, then the rows change."""

    __slots__ = ("_sorted", "ranges", "rows")

    def __init__(self) -> None:
        #: The new value of each key; None where the key was deleted. Keys are only ever added to
        #: it, but for `delete_range`.
        self.rows: dict[bytes, bytes | None] = {}
        self.ranges: Final[list[tuple[bytes, bytes]]] = []
        #: As many of the keys as were there at the last scan.
        self._sorted: list[bytes] = []

    def hides(self, key: bytes) -> bool:
        """Tell whether what lies below under that key is gone."""
        return key in self.rows or any(start <= key < end for start, end in self.ranges)

    def delete_range(self, start: bytes, end: bytes) -> None:
        """Delete every key from `start` up to, not including, `end`."""
        self.forget_range(start, end)
        self.ranges.append((start, end))

    def forget_range(self, start: bytes, end: bytes) -> None:
        """Take back the changes of those keys."""
        if self.rows:
            for key in self.between(start, end):
                del self.rows[key]
            self._sorted = []

    def between(self, start: bytes, end: bytes | None) -> list[bytes]:
        """Return the changed keys of a range, in order."""
        keys, count = self._sorted, len(self.rows)
        if len(keys) != count:
            # New keys stand at the end of the dict.
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
    """Changes of any families; those that are not merged down are dropped with their layer."""

    __slots__ = ("_below", "fault", "tables")

    def __init__(self, below: Rows) -> None:
        self._below = below
        #: Of each family that was changed, in the order of the first changes.
        self.tables: Final[dict[str, Table]] = {}
        #: Why a read failed: whatever was decided from it does not count.
        self.fault: EngineError | None = None

    def table(self, family: str) -> Table:
        """Return the changes of a family, to be changed."""
        table = self.tables.get(family)
        if table is None:
            table = self.tables[family] = Table()
        return table

    def get(self, family: str, key: bytes) -> bytes | None:
        """Return a value, as this layer shows it."""
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
        """Return the values of keys, in their order, as this layer shows them."""
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
        """Yield the rows of a range, as this layer shows them while it does not change."""
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
        """Delete a key, which need not be there."""
        self.table(family).rows[key] = None

    def delete_range(self, family: str, start: bytes, end: bytes) -> None:
        """Delete every key from `start` up to, not including, `end`."""
        self.table(family).delete_range(start, end)

    def size(self, but: frozenset[str] = frozenset()) -> int:
        """Return the bytes of the keys and values that change, some families left aside."""
        size = 0
        for family, table in self.tables.items():
            if family not in but:
                values = filter(None, table.rows.values())
                size += sum(map(len, table.rows)) + sum(map(len, values))
        return size

    def rebase(self, below: Rows) -> None:
        """Lie on other rows from now on: what lay between is part of them."""
        self._below = below

    def merge_into(self, below: "Layer") -> None:
        """Carry every change out in the layer below; nothing of this one is shared with it."""
        for family, table in self.tables.items():
            lower = below.table(family)
            for start, end in table.ranges:
                lower.delete_range(start, end)
            lower.rows.update(table.rows)
