"""Carries out moves of replicas on the leaders of their shards."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final

from quorate.consensus.messages import Peer
from quorate.consensus.refusals import RefusedError
from quorate.consensus.status import ReplicaStatus
from quorate.groups.members import REMOVED, Goal, Step, next_step, patience_s
from quorate.groups.refusals import NotProposedError, OutcomeUnknownError, UnreadableError
from quorate.groups.shard.shard import Shard
from quorate.groups.shard_creation import Submit
from quorate.groups.timing import end, pause
from quorate.observe.failpoints import failpoint
from quorate.plugin import Rejected, keys
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.storage.families import SHARDS
from quorate.storage.rows import value_of
from quorate.v1.control_pb2 import FinishMove, ReplicaMove, ShardRow

_log = logging.getLogger(__name__)

#: How often a move is looked at, and how long one of its steps may take.
_AGAIN_S: Final = 0.2
_STEP_S: Final = 5.0

#: Errors that are transient, or left to the planner.
_PASSING: Final = (
    NotProposedError,
    OutcomeUnknownError,
    UnreadableError,
    Rejected,
    RefusedError,
)


def move_step(
    shard: ShardId, move: ReplicaMove, status: ReplicaStatus, *, patience_s: float
) -> Step:
    """Return the next step of a shard's leader: the new replica votes before the old one goes.

    Raises `Rejected` for a step that must not be taken.
    """
    if move.HasField("to"):
        goal = Goal(move.to.node, move.to.replica)
        step = next_step(shard, goal, status, patience_s=patience_s)
        if not step.done or step.configuration is not None:
            return step
    if move.HasField("from"):
        leaving = getattr(move, "from")
        configuration = status.configuration
        if configuration is None or Peer(leaving.node, leaving.replica) in configuration.peers:
            goal = Goal(leaving.node, None)
            return next_step(shard, goal, status, patience_s=patience_s)
    return Step(status=REMOVED, done=True)


class Moves:
    """Brings the members of the shards that are led here to where their rows want them.

    The rows in metadata/0 and the members are all that there is of a move: any leader of the shard
    next goes on with it.
    """

    def __init__(
        self,
        get: Callable[[ShardId], Shard | None],
        submit: Submit,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        self._get: Final = get
        self._submit: Final = submit
        self._loop: Final = loop
        #: The shards with a move in their rows.
        self.moving: frozenset[ShardId] = frozenset()
        self._tasks: Final[dict[ShardId, asyncio.Task[None]]] = {}
        self._closed = False

    def look_at(self, shard: Shard) -> None:
        """Go on with the move of a shard, if it has one and is led here."""
        if shard.id not in self.moving or not shard.leads or self._closed:
            return
        if shard.id not in self._tasks:
            self._tasks[shard.id] = self._loop.create_task(self._carry_out(shard))

    async def close(self) -> None:
        """Take no more steps."""
        self._closed = True
        await end(*self._tasks.values())

    async def _carry_out(self, shard: Shard) -> None:
        said = ""
        try:
            while shard.leads and shard.id in self.moving:
                try:
                    status = await self._step(shard)
                except _PASSING as error:
                    status = str(error)
                if status and status != said:
                    said = status
                    _log.info("a replica of shard %s is moving: %s", shard.id, status)
                await pause(self._loop, _AGAIN_S)
        finally:
            del self._tasks[shard.id]

    async def _step(self, shard: Shard) -> str:
        move = await self._move(shard.id)
        if move is None:
            return ""
        status = shard.replica.status()
        step = move_step(shard.id, move, status, patience_s=patience_s(shard))
        if step.heir is not None:
            shard.transfer(step.heir)
        elif step.configuration is not None:
            failpoint("move.step")
            await shard.change_membership(step.configuration, _STEP_S)
            failpoint("move.stepped")
        elif step.done:
            group, number = shard.id.group, shard.id.number
            await self._submit(METADATA, FinishMove(group=group, number=number, move=move.number))
        return step.status

    async def _move(self, shard: ShardId) -> ReplicaMove | None:
        """Return the move in the newest row of a shard, if any."""
        metadata = self._get(METADATA)
        if metadata is None:
            raise NotProposedError(f"there is no replica of {METADATA} here")
        await metadata.read_barrier(_STEP_S)
        stored = metadata.data.get(SHARDS, keys.pack(shard.group, shard.number))
        row = ShardRow() if stored is None else ShardRow.FromString(value_of(stored))
        return row.move if row.HasField("move") else None
