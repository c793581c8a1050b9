"""The replicas of this node on disk: their data, logs and notes."""

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from quorate.apply.program import families_of
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.groups.shard.log_keeper import JournalOpener
from quorate.groups.shard.shard import replica_name
from quorate.groups.snapshots.first_state import recover
from quorate.observe.failpoints import failpoint
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.storage.data.home import Home
from quorate.storage.engine.port import DamagedError
from quorate.storage.notes import Note, Notes
from quorate.v1.control_pb2 import ShardMember, ShardRow

_log = logging.getLogger(__name__)


class Journals(JournalOpener, Protocol):
    """The node's log."""

    def holds(self, shard: str) -> bool:
        """Whether a shard has a journal that was durable once."""

    def remove(self, shard: str) -> None:
        """Remove an unused journal, if it is there."""


#: Returns the home of a shard's data in one of its histories.
Homes = Callable[[ShardId, int], Home]


class ReplicaFiles:
    """Records why replicas stopped, and removes and recreates them on disk."""

    def __init__(
        self, me: Peer, catalog: Catalog, log: Journals, homes: Homes, notes: Notes
    ) -> None:
        self._me: Final = me
        self._catalog: Final = catalog
        self._log: Final = log
        self._homes: Final = homes
        self._notes: Final = notes

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

    def lack(self, shard: ShardId, row: ShardRow, note: Note) -> bool:
        """Whether nothing is left of a replica; raises `DamagedError` if only its log is."""
        epoch = row.origin.epoch
        gone = self._homes(shard, epoch).pointer() is None
        if gone and not note.leaving and self._log.holds(replica_name(shard, epoch)):
            # It may have voted, and what it has acknowledged is lost.
            raise DamagedError(f"The data of shard {shard} is gone, and its log is there.")
        return note.leaving or gone

    async def remove(self, loop: asyncio.AbstractEventLoop, shard: ShardId, left: Note) -> None:
        """Remove the data and the log of a replica, and keep a note of it."""
        await loop.run_in_executor(None, self._homes(shard, left.epoch).destroy)
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


def peers(members: Iterable[ShardMember]) -> list[Peer]:
    """Return the replicas of a row."""
    return [Peer(each.node, each.replica) for each in members]
