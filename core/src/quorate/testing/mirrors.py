"""Brings copies of mirrored families into the shards of groups that read them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from quorate.apply.program import mirrored
from quorate.plugin import METADATA_GROUP, Event, RowEvent
from quorate.plugin.catalog import Catalog
from quorate.testing.shard import Entry, MemoryShard, command_of
from quorate.v1.control_pb2 import AdoptMirror


class Mirrors:
    """Copies what was noted into each reading shard, through its log, as nodes do."""

    def __init__(self, catalog: Catalog, shards: Sequence[MemoryShard]) -> None:
        self._targets: Final[dict[str, list[MemoryShard]]] = {}
        for shard in shards:
            for family in mirrored(catalog, shard.group):
                self._targets.setdefault(family, []).append(shard)
        self._noted: Final[list[AdoptMirror]] = []
        self._begun: Final[set[tuple[str, MemoryShard]]] = set()

    def note(self, revision: int, events: Sequence[Event]) -> None:
        """Take what a command brought about."""
        self._noted.extend(adoptions(revision, events, self._targets))

    def catch_up(self, now_ms: int) -> None:
        """Carry what was noted into the shards."""
        for noted in self._noted:
            for shard in self._targets[noted.family]:
                # A copy begins with all rows of its source, of which there were none before.
                noted.reset = (noted.family, shard) not in self._begun
                self._begun.add((noted.family, shard))
                commands = (command_of(noted),)
                [outcome] = shard.apply(
                    [Entry(index=shard.applied + 1, commands=commands, at_ms=now_ms)]
                )
                if outcome.failure is not None:
                    raise outcome.failure
        self._noted.clear()


class Copies:
    """What the copies of mirrored families take over of a log, without a shard that holds one."""

    def __init__(self, catalog: Catalog) -> None:
        groups = {command.group for command in catalog.commands.values()}
        self._wanted: Final = {group: mirrored(catalog, group) for group in sorted(groups)}
        self._sources: Final = MemoryShard(catalog, METADATA_GROUP.name)
        self._begun: Final[set[tuple[str, str]]] = set()

    def of(self, entry: Entry) -> Iterator[tuple[str, AdoptMirror]]:
        """Apply an entry of the group that is mirrored; yield what each group takes over of it."""
        for outcome in self._sources.apply([entry]):
            for group, wanted in self._wanted.items():
                for noted in adoptions(outcome.revision, outcome.events, wanted):
                    noted.reset = (noted.family, group) not in self._begun
                    self._begun.add((noted.family, group))
                    yield group, noted


def adoptions(
    revision: int, events: Sequence[Event], families: Collection[str]
) -> list[AdoptMirror]:
    """Return what copies of these families take over of what a command brought about."""
    news: dict[str, dict[bytes, bytes | None]] = {}
    for event in events:
        if isinstance(event, RowEvent) and event.family in families:
            news.setdefault(event.family, {})[event.key] = event.value
    adopted: list[AdoptMirror] = []
    for family, rows in news.items():
        noted = AdoptMirror(family=family, revision=revision)
        for key, value in rows.items():
            if value is None:
                noted.deleted.append(key)
            else:
                noted.rows.add(key=key, value=value, revision=revision)
        adopted.append(noted)
    return adopted
