"""Moves a replica: the new one votes before the old one goes."""

from __future__ import annotations

from typing import Final

from quorate.consensus.messages import Peer
from quorate.consensus.status import ReplicaStatus
from quorate.plugin.shard_id import ShardId
from quorate.shards.steps import OVER, Change, ChangeMembers, Order, Step
from quorate.topology.changes.members import REMOVED, Goal, next_step, patience_s
from quorate.v1.control_pb2 import FinishMove, ShardRow

#: Pause between two steps.
_AGAIN_S: Final = 0.2


class Move(Change):
    """Brings the members of a shard to where its row wants them."""

    waits = "a replica of shard %s is moving: %s"
    again_s = _AGAIN_S

    async def _step(self) -> Step:
        row, shard = await self._row(), self.shard
        return move_step(shard.id, row, shard.replica.status(), patience_s=patience_s(shard))


def move_step(shard: ShardId, row: ShardRow, status: ReplicaStatus, *, patience_s: float) -> Step:
    """Return the next step of a move; raises `Rejected` for one that must not be taken."""
    if not row.HasField("move"):
        return OVER
    if row.move.HasField("to"):
        to = row.move.to
        step = next_step(shard, Goal(to.node, to.replica), status, patience_s=patience_s)
        if step.acts or not step.over:
            return _part(step)
    if row.move.HasField("from"):
        leaving, configuration = getattr(row.move, "from"), status.configuration
        if configuration is None or Peer(leaving.node, leaving.replica) in configuration.peers:
            return _part(next_step(shard, Goal(leaving.node), status, patience_s=patience_s))
    finish = FinishMove(group=shard.group, number=shard.number, move=row.move.number)
    return Step((Order(finish),), status=REMOVED, pause_s=_AGAIN_S)


def _part(step: Step) -> Step:
    acts = step.acts
    if acts and isinstance(acts[0], ChangeMembers):
        acts = ("move.step", *acts, "move.stepped")
    return Step(acts, status=step.status, pause_s=_AGAIN_S)
