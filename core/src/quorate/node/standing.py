"""Checks that a ready node can still serve: majorities of its shards, and room on its disk."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.shard import Shard
from quorate.shards.timing import Background, every
from quorate.topology.replicas.node_shards import NodeShards

_log = logging.getLogger(__name__)

#: Interval between checks, and how long a shard may lack a majority: elections end sooner.
_LOOK_S: Final = 2.0
_PATIENCE_S: Final = 5.0
_PATIENCE_ELECTIONS: Final = 5
#: Maximum number of shards to name; the others are counted.
_MOST_NAMED: Final = 10


@dataclass(eq=False)
class Standing(Background):
    """Checks the shards and the disk; calls `changed` when the health of the node changes.

    `changed` gets whether the node is healthy. `shortage` returns why writes are refused for lack
    of room, or None.
    """

    _shards: NodeShards
    _shortage: Callable[[], str | None]
    _changed: Callable[[bool], Awaitable[None]]
    _without: frozenset[ShardId] = field(default=frozenset(), init=False)
    _is_well: bool = field(default=True, init=False)

    async def _run(self) -> None:
        failed = "cannot check whether this node can serve; trying again"
        await every(self._loop, _LOOK_S, self.look, failed)

    async def look(self) -> None:
        """Check every open shard, and log and report changes."""
        now = self._loop.time()
        without = frozenset(
            shard.id
            for shard in self._shards.all()
            if shard.stopped is None and now - shard.majority_at > _patience_s(shard)
        )
        if lost := without - self._without:
            _log.warning("no majority of their nodes is heard of in %s", _listed(lost))
        if found := self._without - without:
            _log.warning("a majority of their nodes is there again in %s", _listed(found))
        self._without = without
        is_well = not self.lacking()
        if is_well != self._is_well:
            self._is_well = is_well
            await self._changed(is_well)

    def lacking(self) -> Sequence[str]:
        """Return the reasons why the node cannot serve all of its shards, a sentence each."""
        shards = sorted(self._without)
        lacking = [
            f"shard {shard} has no majority: too few of its nodes answer"
            for shard in shards[:_MOST_NAMED]
        ]
        if len(shards) > _MOST_NAMED:
            lacking.append(f"nor have {len(shards) - _MOST_NAMED} more shards")
        shortage = self._shortage()
        return lacking if shortage is None else [*lacking, shortage]


def _patience_s(shard: Shard) -> float:
    return max(_PATIENCE_S, _PATIENCE_ELECTIONS * shard.settings.timing.election_max_s)


def _listed(shards: frozenset[ShardId]) -> str:
    named = ", ".join(map(str, sorted(shards)[:_MOST_NAMED]))
    more = len(shards) - _MOST_NAMED
    return f"shards {named}" if more <= 0 else f"shards {named} and {more} more"
