"""Rebuilds replicas whose data or log is damaged.

A replica that lost acknowledged entries or its vote must not act as if it had them. It leaves its
shard, as a majority of the others decides, and comes back empty: a learner that votes once it has
installed a snapshot.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final

from quorate.consensus.messages import Peer
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.shards.refusals import REFUSALS
from quorate.shards.shard.leader_transfer import give_away
from quorate.shards.shard.shard import Shard
from quorate.shards.steps import Submit
from quorate.shards.timing import Background, end, until_beat
from quorate.shards.topology_rows import is_placed, replicas_of
from quorate.topology.replicas.census import Census
from quorate.topology.replicas.node_shards import NodeShards
from quorate.v1.control_pb2 import MoveReplica, ShardMember, ShardRow

_log = logging.getLogger(__name__)

#: Interval between attempts at the next step of each repair.
_LOOK_S: Final = 0.5


@dataclass(slots=True)
class Damage:
    """Damage that was found on this node, and the state of its repair."""

    #: None: the node as a whole.
    shard: ShardId | None
    found_at_ms: int
    what: str
    state: str
    #: 0: not healed yet.
    healed_at_ms: int = 0

    def __str__(self) -> str:
        where = "this node" if self.shard is None else f"shard {self.shard}"
        found_at = datetime.fromtimestamp(self.found_at_ms // 1_000, UTC).isoformat()
        text = f"{where} was found damaged at {found_at}: {self.what}"
        return f"{text.rstrip('.')}; {self.state}"


@dataclass(eq=False)
class Repairs(Background):
    """Fences the damaged replicas of this node, and repairs them step by step.

    The row of a shard and the note about its replica hold the whole state of a repair: a node that
    is started again continues it. `record` gets a line for the audit log.
    """

    _shards: NodeShards
    _census: Census
    _submit: Submit
    _wall_ms: Callable[[], int]
    _record: Callable[[Mapping[str, object]], None]
    #: Damage found since the node started.
    damage: list[Damage] = field(default_factory=list, init=False)
    #: The repairs under way.
    _open: dict[ShardId, Damage] = field(default_factory=dict, init=False)
    _fencing: dict[ShardId, asyncio.Task[None]] = field(default_factory=dict, init=False)
    #: The shards whose notes were read.
    _known: set[ShardId] = field(default_factory=set, init=False)

    def __post_init__(self) -> None:
        self._shards.on_damage = self._stopped

    async def stop(self) -> None:
        """Stop repairing; open repairs stay unfinished."""
        await end(self._task, *self._fencing.values())

    def found(self, shard: ShardId | None, what: str, state: str) -> Damage:
        """Record, log and return a new damage."""
        damage = Damage(shard, self._wall_ms(), what, state)
        self.damage.append(damage)
        _log.error("%s", damage, extra={} if shard is None else {"shard": str(shard)})
        self._tell(damage)
        return damage

    def healed(self, damage: Damage, state: str) -> None:
        """Record that a damage is healed."""
        damage.state, damage.healed_at_ms = state, self._wall_ms()
        _log.warning("%s", damage)
        self._tell(damage)

    def fence(self, shard: ShardId, error: Exception) -> None:
        """Stop a replica for good; if it leads, first try to transfer its leadership."""
        replica = self._shards.replica(shard)
        if replica is not None and shard not in self._fencing:
            self._fencing[shard] = self._loop.create_task(self._fence(replica, error))

    def alarms(self) -> Iterator[str]:
        """Yield a text for each damage that is not healed, unless its replica votes again."""
        for each in self.damage:
            replica = None if each.shard is None else self._shards.replica(each.shard)
            votes = replica is not None and _votes(replica, self._shards.me)
            if not (each.healed_at_ms or votes):
                yield str(each)

    def _tell(self, damage: Damage) -> None:
        self._record(
            {
                "identity": "",
                "address": "",
                "method": "",
                "domain": "admin",
                "action": "repair",
                "request": {
                    "shard": "" if damage.shard is None else str(damage.shard),
                    "found": damage.what,
                    "state": damage.state,
                },
                "outcome": "OK",
            }
        )

    async def _fence(self, shard: Shard, error: Exception) -> None:
        until = self._loop.time() + 2 * shard.settings.timing.election_max_s
        try:
            await give_away(shard, self._loop, until)
        finally:
            del self._fencing[shard.id]
            shard.fail(error)

    def _stopped(self, shard: ShardId, error: Exception) -> None:
        """Start the repair of a replica that damage has stopped, or that cannot be opened."""
        self._known.add(shard)
        if shard not in self._open and shard != METADATA:
            self._open[shard] = self.found(shard, str(error), "its replica here is fenced")

    async def _run(self) -> None:
        noted: Mapping[ShardId, ShardRow] = {}
        while True:
            if (rows := self._shards.rows()) is not noted:
                noted = rows
                for shard in rows:
                    self._look_at_note(shard)
            for shard, damage in list(self._open.items()):
                row = rows.get(shard)
                if row is None or shard in self._fencing:
                    continue
                try:
                    await self._step(shard, row, damage)
                except REFUSALS as error:
                    _log.info("the repair of shard %s waits: %s", shard, error)
            await until_beat(self._loop, _LOOK_S)

    def _look_at_note(self, shard: ShardId) -> None:
        """Continue a repair that began before this node started."""
        if shard in self._known or shard == METADATA:
            return
        self._known.add(shard)
        if self._shards.files.are_damaged(shard):
            what = "its replica was found damaged before this node started"
            self._open[shard] = self.found(shard, what, "its repair goes on")

    async def _step(self, shard: ShardId, row: ShardRow, damage: Damage) -> None:
        me, members = self._shards.me, replicas_of(row)
        mine = ShardMember(node=me.node, replica=me.replica)
        if row.HasField("move") or self._shards.is_changing(shard):
            return
        if mine not in members:
            if not self._shards.has_left(shard):
                return
            if is_placed(row, self._shards.wanted()):
                self._over(shard, "its replica was removed; a node that has room gets another")
                return
            await self._move(shard, "its replica was removed, and is rebuilt", damage, to=mine)
        elif (replica := self._shards.replica(shard)) is None:
            if len(members) < 2:
                damage.state = "it was the only replica: recover the shard, or restore a backup"
            elif (led := self._census.leader(shard)) is None or led[1] == me.node:
                damage.state = "its replica here is fenced; the repair waits for a leader"
            else:
                # The shard's own members count, not the ones that this replica knows.
                await self._move(shard, "its replica here is fenced, and leaves", damage, out=mine)
        elif _votes(replica, me):
            self._over(shard, "its replica was rebuilt, and votes again")

    def _over(self, shard: ShardId, state: str) -> None:
        self._shards.files.healed(shard)
        self.healed(self._open.pop(shard), state)

    async def _move(
        self,
        shard: ShardId,
        state: str,
        damage: Damage,
        *,
        to: ShardMember | None = None,
        out: ShardMember | None = None,
    ) -> None:
        damage.state = state
        command = MoveReplica(group=shard.group, number=shard.number, to=to)
        if out is not None:
            getattr(command, "from").CopyFrom(out)
        await self._submit(METADATA, command)


def _votes(replica: Shard, me: Peer) -> bool:
    configuration = replica.configuration
    return configuration is not None and me in configuration.voters
