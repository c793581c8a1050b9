"""Copies of the data of shards that are split, for the new shards."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from quorate.groups.shard.shard import Shard
from quorate.groups.timing import pause
from quorate.observe.failpoints import failpoint
from quorate.plugin.shard_id import ShardId
from quorate.storage.data.home import Home
from quorate.storage.data.shard_data import Fork, ShardData
from quorate.storage.notes import Notes
from quorate.v1.control_pb2 import CutShard, ShardPart, ShardRow, ShardSplit

_log = logging.getLogger(__name__)

#: The pause between two openings, in openings: each keeps the node from everything else.
_SHARE: Final = 3.0


class Forks:
    """The copies on this node.

    It takes long to open a database, and nothing else goes on meanwhile. So the copies are made and
    opened before the cut, and follow their parent; only one that was not is made at the cut.
    """

    def __init__(
        self,
        homes: Callable[[ShardId], Home],
        rows: Callable[[], Mapping[ShardId, ShardRow]],
        notes: Notes,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._homes: Final = homes
        self._rows: Final = rows
        self._notes: Final = notes
        self._loop: Final = loop
        self._following: Final[dict[ShardId, Fork]] = {}
        #: The data of new shards that nobody has taken yet.
        self._begun: Final[dict[ShardId, ShardData]] = {}
        self._lock: Final = asyncio.Lock()
        self._opening: asyncio.Future[None] | None = None

    def clear(self) -> None:
        """Remove what such splits have left here before a restart; blocks."""
        rows = self._rows()
        drawn = {ShardId(row.group, n) for row in rows.values() for n in range(row.drawn + 1)}
        for shard in sorted(drawn - rows.keys()):
            home = self._homes(shard)
            if home.pointer() is None:
                home.destroy()

    async def prepare(self, parent: Shard, split: ShardSplit) -> None:
        """Make the copies, one after the other, while the parent goes on.

        Raises `EngineError` or `OSError`; those that are missing are then made at the cut.
        """
        await self._loop.run_in_executor(None, parent.data.flush)
        for shard in _parts(parent, split.parts):
            async with self._lock:
                cut = parent.applier.cut
                if shard not in self._rows() or (cut is not None and cut.split >= split.number):
                    return
                if shard in self._following or not self._is_free(shard):
                    continue
                began = self._loop.time()
                fork = self._following[shard] = parent.data.follow(self._homes(shard))
                self._opening = self._loop.run_in_executor(None, fork.open)
                await asyncio.shield(self._opening)
                fork.catch_up()
            failpoint("split.prepared")
            await pause(self._loop, _SHARE * (self._loop.time() - began))

    async def cut(self, parent: Shard, cut: CutShard) -> None:
        """Have the data of every new shard here durably, as its parent's is."""
        async with self._lock:
            flushed, record = False, parent.data.record
            for shard in _parts(parent, cut.parts):
                began = self._loop.time()
                fork = self._following.get(shard)
                if fork is not None:
                    data = await self._loop.run_in_executor(None, fork.begin, record)
                    if data is not None:
                        self._begun[shard] = data
                    del self._following[shard]
                if shard not in self._begun and self._is_free(shard):
                    if not flushed:
                        await self._loop.run_in_executor(None, parent.data.flush)
                        flushed = True
                    await self._loop.run_in_executor(None, parent.data.fork, self._homes(shard))
                failpoint("split.forked")
                took_ms = round((self._loop.time() - began) * 1_000)
                _log.info("shard %s was copied to %s in %d ms", parent.id, shard, took_ms)

    def is_following(self, shard: ShardId) -> bool:
        """Whether the copy for a shard is open, and its parent was not cut yet."""
        fork = self._following.get(shard)
        return fork is not None and not fork.lost

    def take(self, shard: ShardId) -> ShardData | None:
        """Return the data of a new shard, if it was opened before the cut."""
        return self._begun.pop(shard, None)

    async def tidy(self) -> None:
        """Remove the copies of splits that were taken back."""
        async with self._lock:
            while left := self._following.keys() - self._rows().keys():
                shard = min(left)
                await self.drop(shard)
                await self._loop.run_in_executor(None, self._homes(shard).destroy)

    async def drop(self, shard: ShardId) -> None:
        """Close the copy for a shard, if there is one."""
        if self._opening is not None:
            await asyncio.wait([self._opening])
        for each in (self._following.pop(shard, None), self._begun.pop(shard, None)):
            if each is not None:
                await self._loop.run_in_executor(None, each.close)

    async def close(self) -> None:
        """Close all copies."""
        for shard in [*self._following, *self._begun]:
            await self.drop(shard)

    def _is_free(self, shard: ShardId) -> bool:
        # A replica that was here and has left must not begin anew: it may have voted.
        return self._homes(shard).pointer() is None and not self._notes.read(str(shard)).past


def _parts(parent: Shard, parts: Iterable[ShardPart]) -> list[ShardId]:
    return [ShardId(parent.id.group, part.number) for part in parts]
