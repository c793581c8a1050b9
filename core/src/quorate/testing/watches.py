"""The events in the shards of a group, kept for watchers."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Mapping, Sequence
from itertools import count
from typing import Final

from quorate.plugin import RowEvent
from quorate.plugin.advanced import WatchedEvent
from quorate.storage.events import RowChange, StoredEvent
from quorate.testing.shard import MemoryShard
from quorate.testing.stored import events_of

_generations: Final = count(1)


class History:
    """The events of one group's shards. A token holds a generation and a revision per shard."""

    def __init__(self, shards: Sequence[MemoryShard]) -> None:
        self._shards: Final = shards
        self._generation: Final = next(_generations)
        self._format: Final = struct.Struct(f">Q{len(shards)}Q")
        #: By shard, the newest revision with events that are no longer kept.
        self._forgotten: Final[dict[int, int]] = {each.number: 0 for each in shards}
        self._arrival = asyncio.Event()

    def forget(self) -> None:
        """Lose all events up to now: a watcher that has not seen them must list again."""
        self._forgotten.update((shard.number, shard.revision) for shard in self._shards)
        self.wake()

    def wake(self) -> None:
        """Wake the watchers."""
        self._arrival.set()
        self._arrival = asyncio.Event()

    async def watch(self, family: str, prefix: bytes, token: bytes) -> AsyncIterator[WatchedEvent]:
        """Yield the current rows and a bookmark, or start after the token; then every change."""
        seen = self._revisions_of(token)
        if seen is None and token:
            yield self._resync()
            return
        if seen is None:
            seen = {shard.number: shard.revision for shard in self._shards}
            for row in self._rows(family, prefix):
                yield row
            yield WatchedEvent(event=None, revision=max(seen.values()), token=self._token(seen))
        while True:
            arrival = self._arrival
            for shard in self._shards:
                revision = seen[shard.number]
                if revision < self._forgotten[shard.number]:
                    yield self._resync()
                    return
                changes = shard.events_after(revision)
                for at, happened in enumerate(changes):
                    # A token can point only after all events of a command.
                    following = changes[at + 1].revision if at + 1 < len(changes) else None
                    if following != happened.revision:
                        seen[shard.number] = happened.revision
                    if _concerns(happened, family, prefix):
                        [event] = events_of([happened])
                        yield WatchedEvent(
                            event=event,
                            revision=happened.revision,
                            token=self._token(seen),
                            shard=shard.number,
                        )
            await arrival.wait()

    def _rows(self, family: str, prefix: bytes) -> list[WatchedEvent]:
        return [
            WatchedEvent(
                event=RowEvent(family=family, key=row.key, value=row.value),
                revision=row.revision,
                token=b"",
                shard=shard.number,
            )
            for shard in self._shards
            for row in shard.rows(family)
            if row.key.startswith(prefix)
        ]

    def _token(self, seen: Mapping[int, int]) -> bytes:
        return self._format.pack(self._generation, *(seen[each.number] for each in self._shards))

    def _revisions_of(self, token: bytes) -> dict[int, int] | None:
        if len(token) != self._format.size:
            return None
        generation, *revisions = self._format.unpack(token)
        if generation != self._generation:
            return None
        return {
            shard.number: revision for shard, revision in zip(self._shards, revisions, strict=True)
        }

    @staticmethod
    def _resync() -> WatchedEvent:
        return WatchedEvent(event=None, revision=0, token=b"", resync=True)


def _concerns(happened: StoredEvent, family: str, prefix: bytes) -> bool:
    change = happened.change
    return (
        isinstance(change, RowChange) and change.family == family and change.key.startswith(prefix)
    )
