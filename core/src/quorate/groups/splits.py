"""Carries out splits on the leaders of their shards, and deletes the rows that moved away."""

from __future__ import annotations

import logging
from typing import Final

from quorate.apply import cuts
from quorate.groups.refusals import NotProposedError, OutcomeUnknownError, UnreadableError
from quorate.groups.routing.proposing import propose_step
from quorate.groups.shard.shard import Shard
from quorate.groups.steps import STEP_S, Steps
from quorate.groups.timing import pause
from quorate.groups.topology_rows import replicas_of
from quorate.observe.failpoints import failpoint
from quorate.plugin import Invalid, Rejected
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.v1.control_pb2 import CutShard, FinishSplit, ForgetSlots, ForgetSlotsReply

_log = logging.getLogger(__name__)

#: Pause after a step that failed.
_AGAIN_S: Final = 0.1
#: How soon a new shard stands for election again; each time later, up to an election's time.
_CAMPAIGN_S: Final = 0.05
_LATER: Final = 1.3
#: The least pause between two deletions of foreign rows; longer ones leave the node to others.
_BREATH_S: Final = 0.01
_SHARE: Final = 3.0

#: Transient errors.
_PASSING: Final = (NotProposedError, OutcomeUnknownError, UnreadableError, Rejected, Invalid)


class Splits(Steps):
    """Takes the steps of splits in the shards that are led here.

    The rows in metadata/0 and the cuts in the shards are all that there is of a split: any later
    leader of the shard goes on with it.
    """

    def look_at(self, shard: Shard) -> None:
        """Continue the split of a shard, or the deletion of foreign rows after one."""
        row = self._rows().get(shard.id)
        if row is None or self._closed:
            return
        if row.HasField("split"):
            self._flush_before(row.split.number, shard)
            if shard.leads:
                self._begin(("split", shard.id), self._carry_out(shard))
        else:
            self._look_at_foreign(shard)
            if row.HasField("parent"):
                # It waits until this one is safe.
                parent = self._get(ShardId(row.group, row.parent.number))
                if parent is not None:
                    self._look_at_foreign(parent)

    def _look_at_foreign(self, shard: Shard) -> None:
        if self._forgets(shard):
            self._begin(("forget", shard.id), self._forget(shard))

    def opened(self, shard: Shard, parent: ShardId) -> None:
        """Elect the leader of a new shard where its parent is led."""
        self._begin(("campaign", shard.id), self._campaign(shard, parent))

    async def _carry_out(self, shard: Shard) -> None:
        said = ""
        while shard.leads and not self._closed:
            try:
                if await self._step(shard):
                    return
            except _PASSING as error:
                if str(error) != said:
                    said = str(error)
                    _log.info("the split of shard %s waits: %s", shard.id, said)
                await pause(self._loop, _AGAIN_S)

    async def _step(self, shard: Shard) -> bool:
        """Take the next step; return whether there is none left."""
        term = shard.term
        row = await self._row(shard.id)
        if not row.HasField("split"):
            return True
        split, cut = row.split.number, shard.applier.cut
        group, number = shard.id.group, shard.id.number
        if cut is not None and cut.split == split:
            failpoint("split.finishing")
            await self._submit(
                METADATA, FinishSplit(group=group, number=number, split=split, index=cut.index)
            )
            failpoint("split.finished")
            return True
        if cuts.abandoned(shard.data) >= split:
            await self._submit(METADATA, FinishSplit(group=group, number=number, split=split))
            return True
        await self._flush(shard)
        failpoint("split.cutting")
        command = CutShard(split=split, version=row.version + 1, parts=row.split.parts)
        await propose_step(shard, command, term=term, timeout_s=STEP_S)
        failpoint("split.cut")
        return False

    async def _campaign(self, shard: Shard, parent: ShardId) -> None:
        source, wait_s = self._get(parent), _CAMPAIGN_S
        while source is not None and source.leads and shard.leader is None:
            shard.campaign()
            await pause(self._loop, wait_s)
            wait_s = min(_LATER * wait_s, shard.settings.timing.election_max_s)

    def _forgets(self, shard: Shard) -> bool:
        """Whether the map agrees with a shard that is led here.

        And whether its parts are safe: until then its rows are the only other ones.
        """
        if not shard.applier.foreign or not shard.leads:
            return False
        row = self._rows().get(shard.id)
        return (
            row is not None
            and not row.HasField("split")
            and row.version >= shard.applier.slots.version > 0
            and self._are_safe(shard)
        )

    def _are_safe(self, shard: Shard) -> bool:
        """Whether a majority has the initial state of every part of a shard."""
        cut = shard.applier.cut
        if cut is None:
            return True
        for part in (ShardId(shard.id.group, each.number) for each in cut.parts):
            row, copy = self._rows().get(part), self._get(part)
            if row is None or row.origin.epoch or row.parent.split != cut.split:
                continue
            if all(each.node != shard.me.node for each in replicas_of(row)):
                # It has moved away from here, which its leader did.
                continue
            # What it applied after the cut is on a majority, and stands on its first state.
            if copy is None or copy.applied <= row.parent.index:
                return False
        return True

    async def _forget(self, shard: Shard) -> None:
        rows = 0
        while self._forgets(shard) and not self._closed:
            began = self._loop.time()
            try:
                outcome = await propose_step(
                    shard, ForgetSlots(), term=shard.term, timeout_s=STEP_S
                )
            except _PASSING:
                await pause(self._loop, _AGAIN_S)
                continue
            failpoint("split.forgetting")
            reply = ForgetSlotsReply.FromString(outcome.reply)
            rows += reply.rows
            if reply.done:
                _log.info("shard %s has looked at %d rows for foreign slots", shard.id, rows)
                return
            await pause(self._loop, max(_BREATH_S, _SHARE * (self._loop.time() - began)))
