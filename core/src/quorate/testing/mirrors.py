"""The changes that copies of mirrored families adopt from the commands of their source."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, Generic, TypeVar

from quorate.apply.program import mirrored
from quorate.plugin import RowEvent
from quorate.plugin.advanced import Event
from quorate.plugin.catalog import Catalog
from quorate.v1.control_pb2 import AdoptMirror

T = TypeVar("T")


class Copies(Generic[T]):
    """The copies of mirrored families, by reader; each reader belongs to a group."""

    def __init__(self, catalog: Catalog, readers: Mapping[T, str]) -> None:
        wanted = {each: mirrored(catalog, group) for each, group in readers.items()}
        self._wanted: Final = {each: families for each, families in wanted.items() if families}
        self._begun: Final[set[tuple[str, T]]] = set()

    def of(self, revision: int, events: Sequence[Event]) -> Iterator[tuple[T, AdoptMirror]]:
        """Yield the changes that each reader adopts from the events of a command."""
        for reader, wanted in self._wanted.items():
            for adopted in _adopted(revision, events, wanted):
                # A copy begins with all rows of its source, of which there were none before.
                adopted.reset = (adopted.family, reader) not in self._begun
                self._begun.add((adopted.family, reader))
                yield reader, adopted


def _adopted(
    revision: int, events: Sequence[Event], families: Collection[str]
) -> Iterator[AdoptMirror]:
    changes: dict[str, dict[bytes, bytes | None]] = {}
    for event in events:
        if isinstance(event, RowEvent) and event.family in families:
            changes.setdefault(event.family, {})[event.key] = event.value
    for family, rows in changes.items():
        adopted = AdoptMirror(family=family, revision=revision)
        for key, value in rows.items():
            if value is None:
                adopted.deleted.append(key)
            else:
                adopted.rows.add(key=key, value=value, revision=revision)
        yield adopted
