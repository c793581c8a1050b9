"""Splits shards that have become too large or too busy."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from time import perf_counter
from typing import Final

from quorate.plugin import Controller, NodeApi, Rejected, ShardRef
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import NotProposedError, OutcomeUnknownError
from quorate.shards.shard.shard import Shard
from quorate.shards.timing import pause
from quorate.topology.commands.splits import OTHER
from quorate.topology.replicas.node_shards import NodeShards

_log = logging.getLogger(__name__)

#: Rows that are counted in one turn of the loop, and the turns' part of the time.
_ROWS: Final = 500
_SHARE: Final = 0.05
#: Interval between attempts at a split that waits for another shard's.
_AGAIN_S: Final = 5.0

#: Begins to split a shard in two, unless its group has the given number of shards.
Split = Callable[[ShardId, int], Awaitable[object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """The bounds above which shards of a group are split."""

    rows: int | None = None
    bytes: int | None = None
    #: Per second.
    writes: int | None = None
    #: Maximum number of shards of the group.
    shards: int
    #: Interval between checks of a shard, over which its writes are counted.
    pause_s: float


@dataclass(frozen=True, slots=True)
class _Look:
    term: int
    at: float
    writes: int


class Growth:
    """Checks the shards that are led here, in groups with bounds."""

    def __init__(
        self,
        shards: NodeShards,
        catalog: Catalog,
        bounds: Mapping[str, Bounds],
        split: Split,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._shards: Final = shards
        #: By group; without copies of other groups' rows, which are in every shard.
        self._families: Final = {
            group: [each.name for each in catalog.families.values() if each.group == group]
            for group in bounds
        }
        self._split: Final = split
        self._loop: Final = loop
        self._looks: Final[dict[ShardId, _Look]] = {}
        self._excesses: Final[dict[ShardId, str]] = {}
        self.controllers: Final = [
            Controller(
                name=f"core.{group}_splitting",
                group=group,
                run_once=partial(self._run_once, each),
                interval_s=each.pause_s,
                scope="each_shard",
            )
            for group, each in bounds.items()
        ]

    def excess(self, shard: ShardId) -> str:
        """Return why a shard that is led here should be split; empty if it should not."""
        return self._excesses.get(shard, "")

    async def _run_once(self, bounds: Bounds, _: NodeApi, ref: ShardRef) -> None:
        shard = self._shards.get(ShardId(ref.group, ref.shard))
        if shard is None:
            return
        before = self._looks.get(shard.id)
        now = _Look(ref.term, self._loop.time(), int(shard.counters.entry_commands.total))
        self._looks[shard.id] = now
        self._excesses.pop(shard.id, None)
        # Leave a shard alone that was just split, or has just moved here.
        if before is None or before.term != ref.term or shard.applier.foreign:
            return
        excess = _busier(bounds, before, now) or await self._larger(bounds, shard)
        if not excess:
            return
        self._excesses[shard.id] = excess
        while shard.leads:
            try:
                await self._split(shard.id, bounds.shards)
            except Rejected as error:
                if error.code != OTHER:
                    _log.warning("shard %s has %s, but is not split: %s", shard.id, excess, error)
                    self._excesses[shard.id] = f"{excess}; it is not split: {error.message}"
                    return
            except (NotProposedError, OutcomeUnknownError) as error:
                _log.info("shard %s has %s; its split waits: %s", shard.id, excess, error)
            else:
                _log.info("shard %s has %s; splitting it", shard.id, excess)
                del self._excesses[shard.id]
                return
            await pause(self._loop, _AGAIN_S)

    async def _larger(self, bounds: Bounds, shard: Shard) -> str:
        """Count rows until there are too many; slowly, since no count is kept."""
        rows, size = 0, 0
        if bounds.rows is None and bounds.bytes is None:
            return ""
        for family in self._families.get(shard.id.group, ()):
            start: bytes | None = b""
            while start is not None and shard.leads:
                began = perf_counter()
                page = _page(shard, family, start)
                start = page[-1][0] + b"\x00" if len(page) == _ROWS else None
                rows += len(page)
                size += sum(len(key) + len(value) for key, value in page)
                if bounds.rows is not None and rows > bounds.rows:
                    return f"more than {bounds.rows:,} rows"
                if bounds.bytes is not None and size > bounds.bytes:
                    return f"more than {bounds.bytes:,} bytes of rows"
                await pause(self._loop, (perf_counter() - began) * (1 / _SHARE - 1))
        return ""


def _busier(bounds: Bounds, before: _Look, now: _Look) -> str:
    if bounds.writes is None or now.at <= before.at:
        return ""
    writes = (now.writes - before.writes) / (now.at - before.at)
    return f"{writes:,.0f} writes per second" if writes > bounds.writes else ""


def _page(shard: Shard, family: str, start: bytes) -> list[tuple[bytes, bytes]]:
    data = shard.data
    if family not in data.families:
        return []
    rows: Iterator[tuple[bytes, bytes]] = data.iterate(family, start, None)
    return list(islice(rows, _ROWS))
