"""The changes of the shards on this node, as their rows say."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from typing import Final

from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.shard import Shard
from quorate.shards.steps import Steps, Submit
from quorate.topology.changes.creation import Creation
from quorate.topology.changes.members import Promotion, learners_of
from quorate.topology.changes.merge import Merge, Settling, is_safe
from quorate.topology.changes.move import Move
from quorate.topology.changes.split import Forgetting, Split, campaign, forgets
from quorate.v1.control_pb2 import NodeDeclaration, ShardRow


class Changes:
    """Takes the steps of all changes in the shards that are led here.

    `shards` are the replicas of this node, and `rows` those of `core.shards`, as it has read them.
    """

    def __init__(
        self,
        declaration: NodeDeclaration,
        metadata: Shard,
        get: Callable[[ShardId], Shard | None],
        shards: Callable[[], Iterable[Shard]],
        rows: Callable[[], Mapping[ShardId, ShardRow]],
        submit: Submit,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._steps: Final = Steps(get, submit, loop, rows)
        #: Proposes missing rows, where metadata/0 is led here.
        self.creation: Final = Creation(declaration, metadata, shards, self._steps)
        #: The changes before which the data here was flushed.
        self._flushed: Final = set[int]()

    def look_at(self, shard: Shard) -> None:
        """Go on with the changes of a shard: it, or its row, may have changed."""
        row, steps = self._steps.rows().get(shard.id), self._steps
        self.creation.look_at(shard, row)
        if shard.epoch and shard.leads and learners_of(shard.configuration):
            steps.carry_out(Promotion(steps, shard))
        if row is None:
            return
        if row.HasField("move"):
            steps.carry_out(Move(steps, shard))
        if row.HasField("split"):
            self._flush_before(row.split.number, shard)
            steps.carry_out(Split(steps, shard))
        if row.HasField("merge") and row.merge.base == row.number:
            self._flush_before(row.merge.number, shard)
            steps.carry_out(Merge(steps, shard))
        elif is_safe(shard, row):
            steps.carry_out(Settling(steps, shard))
        self._look_at_foreign(shard)
        if row.HasField("parent"):
            # It waits until this one is safe.
            self._look_at_foreign(steps.get(ShardId(row.group, row.parent.number)))

    def opened(self, shard: Shard, parent: ShardId) -> None:
        """Elect the leader of a new shard where its parent is led."""
        self._steps.begin(("campaign", shard.id), campaign, self._steps, shard, parent)

    async def close(self) -> None:
        """Take no more steps."""
        self.creation.close()
        await self._steps.close()

    def _look_at_foreign(self, shard: Shard | None) -> None:
        if shard is not None and forgets(shard, self._steps):
            self._steps.carry_out(Forgetting(self._steps, shard))

    def _flush_before(self, change: int, shard: Shard) -> None:
        """Flush once before a change, so that commands need not wait for it."""
        if change not in self._flushed:
            self._flushed.add(change)
            self._steps.begin(("flush", shard.id), self._steps.flush, shard)
