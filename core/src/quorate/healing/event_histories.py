"""Bounds the events that the shards of a node keep for watches, in bytes.

The leader counts them, and has its shard delete the oldest ones: a watch that needs those has to
list again. Under bounds of entries and age alone, the events of a few rows that are written
repeatedly grow to hundreds of times the size of the rows.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import REFUSALS
from quorate.shards.shard.shard import Shard
from quorate.shards.steps import Submit
from quorate.shards.timing import Background, every
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import EngineError
from quorate.storage.events import LOW_KEY, ROWS_END, event_key, index_of_key, oldest_entry
from quorate.storage.families import EVENTS
from quorate.topology.replicas.node_shards import NodeShards
from quorate.v1.control_pb2 import TrimHistory

_log = logging.getLogger(__name__)

#: Interval of the leader's count of new events.
LOOK_S: Final = 1.0
#: Events are deleted in runs of this part of the bound.
_RUNS: Final = 64
#: Part of the bound that a trim keeps, so that not every count trims.
_KEPT: Final = 7 / 8
#: Maximum bytes and entries to count in one turn of the loop.
_TURN_BYTES: Final = 1 << 20
_TURN_ENTRIES: Final = 1_000


class EventBytes:
    """The bytes of a shard's events, in runs of entries, the oldest first."""

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._run_bytes: Final = max(1, most // _RUNS)
        #: The last entry of each run, and its bytes.
        self._runs: Final[deque[tuple[int, int]]] = deque()
        self._open = 0
        #: The next entry to count, and the bytes of all events that are kept.
        self.next = 0
        self.total = 0
        #: The last entry of the shard when all events had been counted.
        self.applied = 0

    def count(self, data: ShardData) -> bool:
        """Count new events, up to the limit of one turn of the loop; True: all are counted."""
        oldest = oldest_entry(data.get(EVENTS, LOW_KEY))
        while self._runs and self._runs[0][0] < oldest:
            self.total -= self._runs.popleft()[1]
        turn = entries = 0
        start = event_key(max(self.next, oldest))
        for key, value in data.iterate(EVENTS, start, ROWS_END):
            index, size = index_of_key(key), len(key) + len(value)
            self.next = index + 1
            self.total += size
            self._open += size
            if self._open >= self._run_bytes:
                self._runs.append((index, self._open))
                self._open = 0
            turn, entries = turn + size, entries + 1
            if turn >= _TURN_BYTES or entries >= _TURN_ENTRIES:
                return False
        return True

    def excess(self) -> int | None:
        """Return the last entry whose events are to be deleted; None: within the bound."""
        if self.total <= self._most:
            return None
        left, last = self.total, None
        for index, size in self._runs:
            if left <= self._most * _KEPT:
                break
            left, last = left - size, index
        return last


@dataclass(eq=False)
class EventHistories(Background):
    """Counts the events of the shards that the node leads, and trims those above the bound."""

    _shards: NodeShards
    _submit: Submit
    _most: int
    #: By shard that is led here.
    sizes: dict[ShardId, EventBytes] = field(default_factory=dict, init=False)

    async def _run(self) -> None:
        if self._most:
            failed = "the history of events cannot be trimmed"
            await every(self._loop, LOOK_S, self.look, failed)

    async def look(self) -> None:
        """Count the new events of each shard, and trim the shards above the bound."""
        led = {shard.id: shard for shard in self._shards.leading()}
        for gone in self.sizes.keys() - led.keys():
            del self.sizes[gone]
        for shard in led.values():
            await self._look_at(shard)

    async def _look_at(self, shard: Shard) -> None:
        size = self.sizes.setdefault(shard.id, EventBytes(self._most))
        applied = shard.data.applied
        # Nothing was written since; this also keeps a shard at rest from being woken.
        if size.applied == applied:
            return
        try:
            while not size.count(shard.data):
                await asyncio.sleep(0)
            size.applied = applied
            if (index := size.excess()) is not None:
                await self._submit(shard.id, TrimHistory(index=index))
        except EngineError as error:
            # It was closed, or replaced by a snapshot.
            _log.debug("events of shard %s cannot be counted: %s", shard.id, error)
            self.sizes.pop(shard.id, None)
        except REFUSALS as error:
            _log.debug("events of shard %s are not trimmed now: %s", shard.id, error)
