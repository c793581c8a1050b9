"""Rows, deadlines and sequences in memory, in layers: a layer hides what lies below it."""

from __future__ import annotations

import hashlib
import heapq
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Final, NamedTuple

from sortedcontainers import SortedDict

from quorate.plugin import Row, keys


class Deadline(NamedTuple):
    """When a key of a timer is due, in logical time."""

    at_ms: int
    ttl_ms: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """Everything that a shard holds, in order: what a snapshot carries, and what is compared."""

    families: Mapping[str, tuple[Row, ...]] = field(default_factory=dict)
    deadlines: Mapping[tuple[str, bytes], Deadline] = field(default_factory=dict)
    sequences: Mapping[str, int] = field(default_factory=dict)

    def digest(self) -> str:
        """Return a sha256 over everything, the same for equal contents in any process."""
        digest = hashlib.sha256()
        for family, rows in self.families.items():
            for row in rows:
                digest.update(keys.pack("row", family, row.key, row.value, row.revision))
        for (timer, key), deadline in self.deadlines.items():
            ttl = () if deadline.ttl_ms is None else (deadline.ttl_ms,)
            digest.update(keys.pack("deadline", timer, key, deadline.at_ms, *ttl))
        for sequence, last in self.sequences.items():
            digest.update(keys.pack("sequence", sequence, last))
        return digest.hexdigest()


class Layer:
    """Changes over what lies below; the lowest layer is the shard itself.

    A transaction is a layer over its batch, a batch one over the shard. Changes that are not merged
    down are dropped with their layer.
    """

    def __init__(self, below: Layer | None = None) -> None:
        self._below: Final = below
        self._rows: Final[dict[str, SortedDict[bytes, Row | None]]] = {}
        self._deadlines: Final[dict[tuple[str, bytes], Deadline | None]] = {}
        self._sequences: Final[dict[str, int]] = {}

    def row(self, family: str, key: bytes) -> Row | None:
        """Return the row of that key, as this layer shows it."""
        own = self._rows.get(family)
        if own is not None and key in own:
            return own[key]
        return self._below.row(family, key) if self._below is not None else None

    def span(self, family: str, start: bytes, end: bytes, *, reverse: bool) -> Iterator[Row]:
        """Yield the rows with `start <= key < end`, in the order of their keys."""
        own = self._rows.get(family, SortedDict())
        changed = (
            (key, own[key])
            for key in own.irange(start, end, inclusive=(True, False), reverse=reverse)
        )
        kept: Iterator[tuple[bytes, Row | None]] = iter(())
        if self._below is not None:
            below = self._below.span(family, start, end, reverse=reverse)
            kept = ((row.key, row) for row in below if row.key not in own)
        both = heapq.merge(changed, kept, key=itemgetter(0), reverse=reverse)
        return (row for _, row in both if row is not None)

    def write(self, family: str, key: bytes, row: Row | None) -> None:
        """Store a row, or hide it with None."""
        own = self._rows.setdefault(family, SortedDict())
        if row is None and self._below is None:
            own.pop(key, None)
        else:
            own[key] = row

    def deadline(self, timer: str, key: bytes) -> Deadline | None:
        """Return the deadline that stands for the key."""
        name = (timer, key)
        if name in self._deadlines or self._below is None:
            return self._deadlines.get(name)
        return self._below.deadline(timer, key)

    def schedule(self, timer: str, key: bytes, deadline: Deadline | None) -> None:
        """Set a deadline, or cancel it with None."""
        if deadline is None and self._below is None:
            self._deadlines.pop((timer, key), None)
        else:
            self._deadlines[timer, key] = deadline

    def last_id(self, sequence: str) -> int:
        """Return the last number that the sequence gave, 0 for a new one."""
        if sequence in self._sequences or self._below is None:
            return self._sequences.get(sequence, 0)
        return self._below.last_id(sequence)

    def advance_sequence(self, sequence: str) -> int:
        """Return the next number of the sequence."""
        self._sequences[sequence] = self.last_id(sequence) + 1
        return self._sequences[sequence]

    def merge_down(self) -> None:
        """Carry every change of this layer out in the one below."""
        if self._below is None:
            raise ValueError("the lowest layer has nothing below it to merge into")
        for family, rows in self._rows.items():
            for key, row in rows.items():
                self._below.write(family, key, row)
        for (timer, key), deadline in self._deadlines.items():
            self._below.schedule(timer, key, deadline)
        self._below._sequences.update(self._sequences)

    def contents(self) -> Contents:
        """Return everything that this layer shows, ordered by name and key."""
        layers = list(self._downwards())
        upwards = layers[::-1]
        families = sorted({family for layer in layers for family in layer._rows})
        deadlines = {key: due for layer in upwards for key, due in layer._deadlines.items()}
        sequences = {name: last for layer in upwards for name, last in layer._sequences.items()}
        rows = {family: tuple(self._every_row(family)) for family in families}
        return Contents(
            families={family: found for family, found in rows.items() if found},
            deadlines={key: due for key, due in sorted(deadlines.items()) if due is not None},
            sequences=dict(sorted(sequences.items())),
        )

    @classmethod
    def holding(cls, contents: Contents) -> Layer:
        """Return a lowest layer with these contents."""
        layer = cls()
        for family, rows in contents.families.items():
            for row in rows:
                layer.write(family, row.key, row)
        layer._deadlines.update(contents.deadlines)
        layer._sequences.update(contents.sequences)
        return layer

    def _downwards(self) -> Iterator[Layer]:
        layer: Layer | None = self
        while layer is not None:
            yield layer
            layer = layer._below

    def _every_row(self, family: str) -> Iterator[Row]:
        names = {key for layer in self._downwards() for key in layer._rows.get(family, ())}
        found = (self.row(family, key) for key in sorted(names))
        return (row for row in found if row is not None)
