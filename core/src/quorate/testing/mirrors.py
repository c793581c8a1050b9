"""Brings copies of mirrored families into the shards of groups that read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from quorate.apply.applier import mirrored
from quorate.plugin import Event, RowEvent
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
        news: dict[str, dict[bytes, bytes | None]] = {}
        for event in events:
            if isinstance(event, RowEvent) and event.family in self._targets:
                news.setdefault(event.family, {})[event.key] = event.value
        for family, rows in news.items():
            noted = AdoptMirror(family=family, revision=revision)
            for key, value in rows.items():
                if value is None:
                    noted.deleted.append(key)
                else:
                    noted.rows.add(key=key, value=value, revision=revision)
            self._noted.append(noted)

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
