"""Splits a shard, and deletes the rows that moved away."""

from __future__ import annotations

import logging
from typing import Final

from quorate.apply import cuts
from quorate.observe.failpoints import failpoint
from quorate.plugin.shard_id import ShardId
from quorate.shards.routing.proposing import propose_step
from quorate.shards.shard.shard import Shard
from quorate.shards.steps import OVER, STEP_S, Change, Flush, Order, Propose, Step, Steps
from quorate.shards.timing import pause
from quorate.shards.topology_rows import replicas_of
from quorate.v1.control_pb2 import CutShard, FinishSplit, ForgetSlots, ForgetSlotsReply, ShardRow

_log = logging.getLogger(__name__)

#: Pause after a step that failed.
_AGAIN_S: Final = 0.1
#: How soon a new shard stands for election again; each time later, up to an election's time.
_CAMPAIGN_S: Final = 0.05
_LATER: Final = 1.3
#: The least pause between two deletions of foreign rows; longer ones leave the node to others.
_BREATH_S: Final = 0.01
_SHARE: Final = 3.0


class Split(Change):
    """Cuts a shard, and has metadata/0 give the slots to the new ones."""

    waits = "the split of shard %s waits: %s"
    again_s = _AGAIN_S

    async def _step(self) -> Step:
        row, shard = await self._row(), self.shard
        return split_step(row, shard.applier.cut, cuts.abandoned(shard.data))


def split_step(row: ShardRow, cut: CutShard | None, abandoned: int) -> Step:
    """Return the next step of a split; `abandoned` is the last one that the shard gave up."""
    if not row.HasField("split"):
        return OVER
    split = row.split.number
    finish = FinishSplit(group=row.group, number=row.number, split=split)
    if cut is not None and cut.split == split:
        finish.index = cut.index
        return Step(("split.finishing", Order(finish), "split.finished"), over=True)
    if abandoned >= split:
        return Step((Order(finish),), over=True)
    command = CutShard(split=split, version=row.version + 1, parts=row.split.parts)
    return Step((Flush(), "split.cutting", Propose(command), "split.cut"))


async def campaign(steps: Steps, shard: Shard, parent: ShardId) -> None:
    """Elect the leader of a new shard where its parent is led."""
    source, wait_s = steps.get(parent), _CAMPAIGN_S
    while source is not None and source.leads and shard.leader is None:
        shard.campaign()
        await pause(steps.loop, wait_s)
        wait_s = min(_LATER * wait_s, shard.settings.timing.election_max_s)


class Forgetting(Change):
    """Deletes the rows of slots that a shard has given away."""

    again_s = _AGAIN_S

    _rows = 0

    async def _step(self) -> Step:
        shard, began = self.shard, self.steps.loop.time()
        if not forgets(shard, self.steps):
            return OVER
        outcome = await propose_step(shard, ForgetSlots(), term=shard.term, timeout_s=STEP_S)
        failpoint("split.forgetting")
        reply = ForgetSlotsReply.FromString(outcome.reply)
        self._rows += reply.rows
        if reply.done:
            _log.info("shard %s has looked at %d rows for foreign slots", shard.id, self._rows)
        took_s = self.steps.loop.time() - began
        return Step(over=reply.done, pause_s=max(_BREATH_S, _SHARE * took_s))


def forgets(shard: Shard, steps: Steps) -> bool:
    """Whether the map agrees with a shard that is led here.

    And whether its parts are safe: until then its rows are the only other ones.
    """
    if not shard.applier.foreign or not shard.leads:
        return False
    row = steps.rows().get(shard.id)
    return (
        row is not None
        and not row.HasField("split")
        and row.version >= shard.applier.slots.version > 0
        and _are_safe(shard, steps)
    )


def _are_safe(shard: Shard, steps: Steps) -> bool:
    """Whether a majority has the initial state of every part of a shard."""
    cut = shard.applier.cut
    if cut is None:
        return True
    for part in (ShardId(shard.id.group, each.number) for each in cut.parts):
        row, copy = steps.rows().get(part), steps.get(part)
        if row is None or row.origin.epoch or row.parent.split != cut.split:
            continue
        if all(each.node != shard.me.node for each in replicas_of(row)):
            # It has moved away from here, which its leader did.
            continue
        # What it applied after the cut is on a majority, and stands on its first state.
        if copy is None or copy.applied <= row.parent.index:
            return False
    return True
