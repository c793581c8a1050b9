"""A replica with nothing but its data, into which a test writes entries directly."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from google.protobuf.message import Message
from quorate.consensus.journal import Position
from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.reads import Staleness
from quorate.storage.data.home import MemoryHome
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import Batch
from quorate.storage.events import LOW_KEY, EventRow, Kind, event_key
from quorate.storage.families import EVENTS
from quorate.storage.rows import REVISION, value_of

#: What a command does: (family, key, value or None).
Change = tuple[str, bytes, bytes | None]


class Replica:
    """What watches see of a shard's replica; the first family is that of `put`."""

    published = 0

    def __init__(
        self,
        shard: ShardId,
        families: Sequence[str],
        *,
        kept: Collection[str] = (),
        at_ms: int = 0,
        age_ms: int = 0,
    ) -> None:
        self.id = shard
        self.stopped: Exception | None = None
        self.data = ShardData.open(MemoryHome(), families)
        self.age_ms = age_ms
        #: What a barrier waits for, and then raises; how many were taken.
        self.barrier: asyncio.Future[None] | None = None
        self.barrier_error: Exception | None = None
        self.barriers = 0
        #: Tells which rows are its own; None: all are.
        self.owns: Callable[[bytes], bool] | None = None
        self._families = families
        #: The families whose events have the previous rows.
        self._kept = kept
        self._at_ms = at_ms
        self._subscribers: dict[object, Callable[[int], None]] = {}
        self._replacing: dict[object, Callable[[], None]] = {}

    async def opened(self, families: Iterable[str], timeout_s: float | None = None) -> None:
        """Nothing is being published."""

    def owner(self, family: str) -> Callable[[bytes], bool] | None:
        """Tell which rows are its own."""
        return self.owns

    @property
    def own_rows(self) -> ShardData:
        """All of them."""
        return self.data

    def apply(self, *commands: Sequence[Change]) -> None:
        """Apply an entry with these commands."""
        index = self.data.applied + 1
        batch, row = Batch(), EventRow()
        held: dict[tuple[str, bytes], bytes | None] = {}
        for position, changes in enumerate(commands):
            revision = REVISION.pack(index << 20 | position)
            for family, key, value in changes:
                stored = self.data.get(family, key)
                old = held.get((family, key), stored and value_of(stored))
                held[family, key] = value
                kept = family in self._kept and old is not None
                if value is None:
                    row.begin(family, Kind.DELETED_OVER if kept else Kind.DELETED)
                    batch.delete(family, key)
                else:
                    row.begin(family, Kind.REPLACED if kept else Kind.PUT)
                    batch.put(family, key, revision + value)
                row.parts.extend((key, revision + (value or b"")))
                if kept and old is not None:
                    row.parts.append(old)
        self._commit(batch, row)

    def put(self, key: bytes, value: bytes = b"", family: str = "") -> None:
        self.apply([(family or self._families[0], key, value)])

    def emit(self, *messages: Message | tuple[str, bytes]) -> None:
        """Apply an entry with a command that emits messages, or their full names and bytes."""
        row = EventRow()
        for each in messages:
            if isinstance(each, Message):
                each = each.DESCRIPTOR.full_name, each.SerializeToString()
            row.begin(each[0], Kind.EMITTED)
            row.parts.append(REVISION.pack(self.data.applied + 1 << 20) + each[1])
        self._commit(Batch(), row)

    def trim(self, index: int) -> None:
        """Forget the events up to an index."""
        batch = Batch()
        batch.delete_range(EVENTS, event_key(0), event_key(index + 1))
        batch.put(EVENTS, LOW_KEY, event_key(index))
        self.data.commit(batch, self.data.record)

    def restore(self) -> None:
        """Begin a new generation."""
        record = self.data.record
        self.data.commit(Batch(), replace(record, generation=record.generation + 1))

    def replaced(self) -> None:
        """Say that a snapshot takes the place of the data."""
        for tell in list(self._replacing.values()):
            tell()

    def rows(self) -> dict[bytes, bytes]:
        """Return what is stored of the first family."""
        rows = self.data.iterate(self._families[0], b"", None)
        return {key: value_of(stored) for key, stored in rows}

    @property
    def watchers(self) -> int:
        """How many are told of entries."""
        return len(self._subscribers)

    @property
    def listeners(self) -> int:
        """How many are told of entries, or of a snapshot."""
        return len(self._subscribers) + len(self._replacing)

    def staleness(self) -> Staleness:
        return Staleness(0, self.age_ms)

    async def read_barrier(self, timeout_s: float | None = None) -> int:
        self.barriers += 1
        if self.barrier is not None:
            await self.barrier
        if self.barrier_error is not None:
            raise self.barrier_error
        return self.data.applied

    def subscribe(self, callback: Callable[[int], None]) -> Callable[[], None]:
        return _registered(self._subscribers, callback)

    def on_replace(self, callback: Callable[[], None]) -> Callable[[], None]:
        return _registered(self._replacing, callback)

    def _commit(self, batch: Batch, row: EventRow) -> None:
        record = self.data.record
        index = record.position.index + 1
        if row.parts:
            batch.put(EVENTS, event_key(index), row.encode(self._at_ms))
        seen = {name for name, *_ in row.runs}
        self.data.commit(batch, replace(record, position=Position(index, 1)), seen)
        for tell in list(self._subscribers.values()):
            tell(index)


def _registered(callbacks: dict[object, Any], callback: Any) -> Callable[[], None]:
    key = object()
    callbacks[key] = callback
    return lambda: callbacks.pop(key, None)
