"""Carries out merges on the leaders of the shards that others are added to."""

from __future__ import annotations

import logging
from typing import Final

from quorate.apply import freezes, sessions, unions
from quorate.apply.entries import whole
from quorate.apply.file_sets import PUBLISHING
from quorate.groups.refusals import NotProposedError, OutcomeUnknownError, UnreadableError
from quorate.groups.routing.proposing import propose_step
from quorate.groups.shard.shard import Shard
from quorate.groups.steps import STEP_S, Steps
from quorate.groups.timing import pause
from quorate.groups.topology_rows import MERGE_OVER, REFUSED
from quorate.observe.failpoints import failpoint
from quorate.plugin import Invalid, Rejected
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.storage.data.shard_data import ShardData
from quorate.storage.families import EVENTS
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

_PASSING: Final = (NotProposedError, OutcomeUnknownError, UnreadableError)
#: Refusals that may not come again.
_FOR_NOW: Final = frozenset({freezes.NOT_YET, MERGE_OVER, PUBLISHING})


def check_small(data: ShardData, name: str) -> None:
    """Raise `Rejected` if a shard has too many rows to be added to another one."""
    rows = rows_in(data)
    if rows > MOST_ROWS:
        raise Rejected(
            REFUSED,
            f"shard {name} is the smaller one and has about {rows:,} rows: at most {MOST_ROWS:,}"
            " are added to another shard, since commands wait for that",
        )


def rows_in(data: ShardData) -> int:
    """Return about how many rows a shard has, without its events."""
    return sum(rows for family, rows in data.estimates().items() if family != EVENTS)


def check_alike(base: Shard, other: Shard, common: int) -> None:
    """Raise `Rejected` if two shards cannot be merged now.

    `common` is the last entry that they have in common.
    """
    check_small(other.data, str(other.id))
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
    unions.unite(base.data, other.data, base.applier.places.joins, revision)


class Merges(Steps):
    """Takes the steps of merges into shards that are led here.

    The rows in metadata/0, and whether the shards are frozen, are all that there is of a merge:
    any later leader of the shard goes on with it. metadata/0 alone decides whether it ends or is
    taken back.
    """

    def look_at(self, shard: Shard) -> None:
        """Continue the merge of a shard, or the work after it."""
        row = self._rows().get(shard.id)
        if row is None or self._closed:
            return
        if row.HasField("merge") and row.merge.base == row.number:
            self._flush_before(row.merge.number, shard)
            if shard.leads:
                self._begin(("merge", shard.id), self._carry_out(shard))
        elif self._is_safe(shard, row):
            self._begin(("settle", shard.id), self._settle(shard, row))

    # From the rows of both to that of the new shard.

    async def _carry_out(self, shard: Shard) -> None:
        said, frozen_at = "", None
        while shard.leads and not self._closed:
            try:
                if await self._step(shard):
                    return
            except (*_PASSING, Rejected, Invalid) as error:
                if str(error) != said:
                    said = str(error)
                    _log.info("the merge of shard %s waits: %s", shard.id, said)
                waits = isinstance(error, _PASSING) or (
                    isinstance(error, Rejected) and error.code in _FOR_NOW
                )
                now = self._loop.time()
                frozen_at = (frozen_at or now) if self._is_half(shard.id) else None
                if not waits or (frozen_at is not None and now > frozen_at + _FROZEN_S):
                    await self._take_back(shard.id, said)
                await pause(self._loop, _AGAIN_S)

    async def _step(self, shard: Shard) -> bool:
        """Take the next step; return whether there is none left."""
        term = shard.term
        row = await self._row(shard.id)
        if not row.HasField("merge") or row.merge.base != row.number:
            return True
        merge, other = row.merge, self._other(shard.id, row)
        if frozen_for(other, merge.number) is None:
            check_alike(shard, other, merge.common)
            await self._flush(shard)
            failpoint("merge.freezing")
            version = await self._version(other.id, merge.number)
            await self._submit(other.id, FreezeShard(merge=merge.number, version=version))
            failpoint("merge.half_frozen")
            _log.info("shard %s is frozen, to be merged with %s", other.id, shard.id)
            await other.read_barrier(STEP_S)
        if frozen_for(shard, merge.number) is None:
            # If the merge was taken back meanwhile, this version is too low, or will be.
            command = FreezeShard(
                merge=merge.number,
                version=row.version + 1,
                other=merge.other,
                common=merge.common,
            )
            await propose_step(shard, command, term=term, timeout_s=STEP_S)
            failpoint("merge.frozen")
            _log.info("shard %s is frozen, to be merged with %s", shard.id, other.id)
        frozen, theirs = frozen_for(shard, merge.number), frozen_for(other, merge.number)
        if frozen is None or theirs is None:
            return False
        done = FinishMerge(
            group=row.group,
            base=row.number,
            merge=merge.number,
            base_index=frozen.index,
            other_index=theirs.index,
            term=max(shard.term, other.term),
        )
        failpoint("merge.finishing")
        await self._submit(METADATA, done)
        failpoint("merge.finished")
        _log.info("shards %s and %s have given their slots away", shard.id, other.id)
        return True

    async def _version(self, shard: ShardId, merge: int) -> int:
        """Return the version with which a shard is frozen.

        That must be lower than the one with which it goes on once the merge is taken back, which
        may have happened since this step began.
        """
        row = await self._row(shard)
        if row.merge.number != merge:
            raise NotProposedError(f"the merge of shard {shard} has ended")
        return row.version + 1

    def _other(self, shard: ShardId, row: ShardRow) -> Shard:
        other = self._get(ShardId(shard.group, row.merge.other))
        if other is None:
            raise NotProposedError(f"there is no replica of {shard.group}/{row.merge.other} here")
        return other

    def _is_half(self, shard: ShardId) -> bool:
        """Whether one of the two shards is frozen, as far as the newest rows here say."""
        row = self._rows().get(shard)
        if row is None or not row.HasField("merge"):
            return False
        numbers = (row.merge.base, row.merge.other)
        both = (self._get(ShardId(shard.group, number)) for number in numbers)
        return any(each is not None and frozen_for(each, row.merge.number) for each in both)

    async def _take_back(self, shard: ShardId, reason: str) -> None:
        row = self._rows().get(shard)
        if row is None or not row.HasField("merge"):
            return
        _log.warning("shard %s is not merged: %s", shard, reason)
        command = CancelMerge(
            group=shard.group, number=shard.number, merge=row.merge.number, reason=reason
        )
        try:
            await self._submit(METADATA, command)
        except (*_PASSING, Rejected) as error:
            _log.info("the merge of shard %s is not taken back yet: %s", shard, error)

    # From the new shard to the end of the others.

    def _is_safe(self, shard: Shard, row: ShardRow) -> bool:
        """Whether a majority has the initial state of a new shard: an entry stands on it."""
        return (
            row.HasField("union")
            and not row.union.settled
            and shard.leads
            and shard.data.record.position.term == shard.term
        )

    async def _settle(self, shard: Shard, row: ShardRow) -> None:
        command = SettleMerge(group=row.group, number=row.number, merge=row.union.merge)
        while shard.leads and not self._closed:
            failpoint("merge.settling")
            try:
                await self._submit(METADATA, command)
            except (*_PASSING, Rejected) as error:
                _log.debug("the merge into shard %s is not settled yet: %s", shard.id, error)
                await pause(self._loop, _AGAIN_S)
            else:
                failpoint("merge.settled")
                return


def frozen_for(shard: Shard, merge: int) -> FrozenShard | None:
    """Return how a shard is frozen for a merge, as far as is known here."""
    found = shard.applier.frozen
    return found if found is not None and found.merge == merge else None
