"""Merges a shard with another one, whose rows are added to its own."""

from __future__ import annotations

import logging
from typing import Final

from quorate.apply import freezes, sessions
from quorate.apply.entries import whole
from quorate.apply.file_sets import PUBLISHING
from quorate.plugin import Rejected
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.shards.shard.shard import Shard
from quorate.shards.steps import (
    OVER,
    PASSING,
    Act,
    CatchUp,
    Change,
    Flush,
    Log,
    Order,
    Propose,
    Step,
    row_of,
)
from quorate.shards.topology_rows import MERGE_OVER, REFUSED
from quorate.storage.data.shard_data import ShardData
from quorate.storage.families import EVENTS
from quorate.topology.commands import unions
from quorate.v1.control_pb2 import (
    CancelMerge,
    FinishMerge,
    FreezeShard,
    FrozenShard,
    SettleMerge,
    ShardRow,
)

_log = logging.getLogger(__name__)

#: About the most rows, deadlines and answers of a shard whose rows are added to another one:
#: commands wait while they are copied.
MOST_ROWS: Final = 100_000
#: Pause after a step that failed.
_AGAIN_S: Final = 0.05
#: How long one shard stays frozen while the other one cannot be: then the merge is taken back.
_FROZEN_S: Final = 2.0

#: Refusals that may not come again.
_FOR_NOW: Final = frozenset({freezes.NOT_YET, MERGE_OVER, PUBLISHING})


def rows_in(data: ShardData) -> int:
    """Return about how many rows a shard has, without its events."""
    return sum(rows for family, rows in data.estimates().items() if family != EVENTS)


def check_alike(base: Shard, other: Shard, common: int) -> None:
    """Raise `Rejected` if two shards cannot be merged now.

    `common` is the last entry that they have in common.
    """
    rows = rows_in(other.data)
    if rows > MOST_ROWS:
        raise Rejected(
            REFUSED,
            f"shard {other.id} is the smaller one and has about {rows:,} rows: at most"
            f" {MOST_ROWS:,} are added to another shard, since commands wait for that",
        )
    for each in (base, other):
        if each.applier.foreign:
            raise Rejected(freezes.NOT_YET, f"shard {each.id} still deletes rows of others")
        orphans = each.data.orphans
        if (family := next((f for f in orphans if each.data.estimates()[f]), None)) is not None:
            raise Rejected(
                REFUSED,
                f"shard {each.id} has rows of {family}, and no plugin says what becomes of them:"
                " enable its plugin, or delete them with `quorate plugin purge`",
            )
    revision = whole(common) if common else 0
    found = sessions.in_both(base.data, other.data, revision)
    if found is not None:
        raise Rejected(
            REFUSED,
            f"{base.id} and {other.id} have each opened {found} for themselves: merge them when one"
            " of both is closed",
        )
    unions.unite(base.data, other.data, base.applier.ownership.joins, revision)


class Merge(Change):
    """Freezes two shards, and has metadata/0 give their slots to the new one.

    metadata/0 alone decides whether the merge ends or is taken back.
    """

    waits = "the merge of shard %s waits: %s"
    again_s = _AGAIN_S
    #: Since when one of the shards is frozen, and the other one is not.
    _frozen_at: float | None = None

    async def _step(self) -> Step:
        shard, rows = self.shard, await self.steps.newest()
        row = row_of(rows, shard.id)
        if not row.HasField("merge") or row.merge.base != row.number:
            return OVER
        merge, other = row.merge, self.steps.replica(ShardId(row.group, row.merge.other))
        frozen, theirs = frozen_for(shard, merge.number), frozen_for(other, merge.number)
        if theirs is None:
            check_alike(shard, other, merge.common)
        term = max(shard.term, other.term)
        return merge_step(row, row_of(rows, other.id), frozen, theirs, term)

    async def _failed(self, error: Exception) -> None:
        """Take the merge back if it cannot go on, or one shard waits for the other too long."""
        now, row = self.steps.loop.time(), self.steps.rows().get(self.shard.id)
        self._frozen_at = (self._frozen_at or now) if self._is_half(row) else None
        waits = isinstance(error, PASSING) or (
            isinstance(error, Rejected) and error.code in _FOR_NOW
        )
        too_long = self._frozen_at is not None and now > self._frozen_at + _FROZEN_S
        if (waits and not too_long) or row is None or not row.HasField("merge"):
            return
        _log.warning("shard %s is not merged: %s", self.shard.id, self.said)
        command = CancelMerge(
            group=row.group, number=row.number, merge=row.merge.number, reason=self.said
        )
        try:
            await self.steps.submit(METADATA, command)
        except (*PASSING, Rejected) as failure:
            _log.info("the merge of shard %s is not taken back yet: %s", self.shard.id, failure)

    def _is_half(self, row: ShardRow | None) -> bool:
        """Whether one of the two shards is frozen, as far as is known here."""
        if row is None or not row.HasField("merge"):
            return False
        both = (self.steps.get(ShardId(row.group, n)) for n in (row.merge.base, row.merge.other))
        return any(each is not None and frozen_for(each, row.merge.number) for each in both)


def merge_step(
    base: ShardRow,
    other: ShardRow,
    frozen: FrozenShard | None,
    theirs: FrozenShard | None,
    term: int,
) -> Step:
    """Return the next step of a merge: freeze the other shard, then the base, and end it.

    A shard is frozen with a version that is lower than the one with which it goes on once the merge
    is taken back, which may have happened since the rows were read.
    """
    merge, there = base.merge, ShardId(other.group, other.number)
    here, number = ShardId(base.group, base.number), base.merge.number
    if frozen is not None and theirs is not None:
        finish = FinishMerge(
            group=base.group,
            base=base.number,
            merge=number,
            base_index=frozen.index,
            other_index=theirs.index,
            term=term,
        )
        given = Log(f"shards {here} and {there} have given their slots away")
        return Step(("merge.finishing", Order(finish), "merge.finished", given), over=True)
    acts: list[Act] = []
    if theirs is None:
        freeze = FreezeShard(merge=number, version=other.version + 1)
        acts += [Flush(), "merge.freezing", Order(freeze, there), "merge.half_frozen"]
        acts += [Log(f"shard {there} is frozen, to be merged with {here}"), CatchUp(there)]
    if frozen is None:
        freeze = FreezeShard(
            merge=number, version=base.version + 1, other=merge.other, common=merge.common
        )
        acts += [Propose(freeze), "merge.frozen"]
        acts += [Log(f"shard {here} is frozen, to be merged with {there}")]
    return Step(tuple(acts))


class Settling(Change):
    """Lets the replicas of two merged shards go once a majority has the new one."""

    waits = "the merge into shard %s is not settled yet: %s"
    level = logging.DEBUG
    again_s = _AGAIN_S

    async def _step(self) -> Step:
        row = self.steps.rows().get(self.shard.id, ShardRow())
        if not row.HasField("union") or row.union.settled:
            return OVER
        command = SettleMerge(group=row.group, number=row.number, merge=row.union.merge)
        return Step(("merge.settling", Order(command), "merge.settled"), over=True)


def is_safe(shard: Shard, row: ShardRow) -> bool:
    """Whether a majority has the initial state of a new shard: an entry stands on it."""
    return (
        row.HasField("union")
        and not row.union.settled
        and shard.leads
        and shard.data.record.position.term == shard.term
    )


def frozen_for(shard: Shard, merge: int) -> FrozenShard | None:
    """Return how a shard is frozen for a merge, as far as is known here."""
    found = shard.applier.frozen
    return found if found is not None and found.merge == merge else None
