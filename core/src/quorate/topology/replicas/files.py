"""The replicas of this node on disk: their data, logs and notes."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from quorate.apply.program import families_of, mirrored
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.observe.failpoints import failpoint
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.log_keeper import JournalOpener
from quorate.shards.shard.shard import Shard, replica_name
from quorate.shards.snapshots.first_state import recover, unite
from quorate.storage.data.home import Home
from quorate.storage.engine.port import DamagedError
from quorate.storage.notes import Note, Notes
from quorate.topology.replicas.life import peers
from quorate.v1.control_pb2 import ShardRow

_log = logging.getLogger(__name__)


class Journals(JournalOpener, Protocol):
    """The node's log."""

    def holds(self, shard: str) -> bool:
        """Whether a shard has a journal that was durable once."""

    def remove(self, shard: str) -> None:
        """Remove an unused journal, if it is there."""


#: Returns the home of a shard's data in one of its histories.
Homes = Callable[[ShardId, int], Home]


@dataclass(eq=False)
class ReplicaFiles:
    """Makes replicas on disk, removes them, and records why they stopped."""

    _me: Peer
    _catalog: Catalog
    _log: Journals
    _homes: Homes
    _notes: Notes
    _loop: asyncio.AbstractEventLoop

    def stopped(self, shard: ShardId, note: Note) -> None:
        """Record that a replica stopped for good."""
        try:
            self._notes.write(str(shard), note)
        except OSError as failure:
            _log.error(
                "cannot record that shard %s stopped: %s; do not start this node again before"
                " the shard is recovered or the member replaced",
                shard,
                failure,
                extra={"shard": str(shard)},
            )

    def are_damaged(self, shard: ShardId) -> bool:
        """Whether the replica of a shard is to leave this node, and to begin anew."""
        try:
            return self._notes.read(str(shard)).damaged
        except (DamagedError, OSError):
            return True

    def healed(self, shard: ShardId) -> None:
        """Record that the new replica of a shard is as good as the others."""
        note = self._notes.read(str(shard))
        self._notes.write(str(shard), note._replace(stopped="", damaged=False))

    def are_leaving(self, shard: ShardId, *, merged: bool = False) -> bool:
        """Whether the removal of a replica was interrupted, or not begun after its merge."""
        try:
            note = self._notes.read(str(shard))
        except (DamagedError, OSError):
            # The caller that opens it reports it.
            return False
        return note.leaving or (merged and self._log.holds(replica_name(shard, note.epoch)))

    def have_data(self, shard: ShardId, epoch: int) -> bool:
        """Whether a replica has data in a history; raises `OSError` and `EngineError`."""
        return self._homes(shard, epoch).pointer() is not None

    def have_log(self, shard: ShardId, epoch: int) -> bool:
        """Whether a replica had a log in a history that was durable once."""
        return self._log.holds(replica_name(shard, epoch))

    async def remove(self, shard: ShardId, left: Note) -> None:
        """Remove the data and the log of a replica, and keep a note of it."""
        await self._loop.run_in_executor(None, self._homes(shard, left.epoch).destroy)
        failpoint("replica.destroyed")
        self._log.remove(replica_name(shard, left.epoch))
        damaged = self._notes.read(str(shard)).damaged
        self._notes.write(str(shard), left._replace(damaged=damaged))

    def recover(self, shard: ShardId, row: ShardRow) -> None:
        """Create the home of a new history, from the start if it was interrupted; blocks."""
        origin, left = row.origin, self._notes.read(str(shard)).epoch
        self._homes(shard, origin.epoch).destroy()
        if self._me not in peers(row.members):
            return
        members = [Member(each, voter=each == self._me) for each in peers(row.replicas)]
        recover(
            [self._homes(shard, epoch) for epoch in range(left, -1, -1)],
            self._homes(shard, origin.epoch),
            families_of(self._catalog, shard.group),
            origin,
            Configuration.of(members),
        )

    def leave(self, shard: ShardId, epoch: int) -> None:
        """Remove the logs of earlier histories."""
        for earlier in range(self._notes.read(str(shard)).epoch, epoch):
            self._log.remove(replica_name(shard, earlier))
        self._notes.write(str(shard), Note(epoch))

    async def fork(self, parent: Shard, numbers: Iterable[int]) -> None:
        """Copy the data of a shard that was cut to the new shards with these numbers."""
        await self._loop.run_in_executor(None, parent.data.flush)
        failpoint("split.flushed")
        for number in numbers:
            shard = ShardId(parent.id.group, number)
            # A replica that was here and has left must not begin anew: it may have voted.
            if not self.have_data(shard, 0) and not self._notes.read(str(shard)).past:
                began = self._loop.time()
                await self._loop.run_in_executor(None, parent.data.fork, self._homes(shard, 0))
                failpoint("split.forked")
                took_ms = round((self._loop.time() - began) * 1_000)
                _log.info("shard %s was copied to %s in %d ms", parent.id, shard, took_ms)

    async def unite(self, row: ShardRow, base: Shard, other: Shard) -> None:
        """Make the data of one shard of that of two which are frozen."""
        began, shard = self._loop.time(), ShardId(row.group, row.number)
        await self._loop.run_in_executor(None, base.data.flush)
        failpoint("merge.uniting")
        await self._loop.run_in_executor(
            None,
            unite,
            base.data,
            other.data,
            self._homes(shard, 0),
            row,
            base.applier.ownership.families,
            mirrored(self._catalog, shard.group),
        )
        failpoint("merge.united")
        took_ms = round((self._loop.time() - began) * 1_000)
        _log.info("shards %s and %s became %s in %d ms", base.id, other.id, shard, took_ms)
