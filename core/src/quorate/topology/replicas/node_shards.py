"""The shards of this node, opened as metadata/0 says."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import Final

from quorate.apply.program import families_of
from quorate.consensus.journal import JournalDamagedError
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.consensus.refusals import ReplicaStoppedError
from quorate.observe.failpoints import failpoint
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.shards.shard.log_keeper import TailJournal, open_journal
from quorate.shards.shard.shard import Shard, replica_name
from quorate.shards.snapshots.first_state import begin_part
from quorate.shards.steps import Submit
from quorate.shards.topology_rows import parents_of, replicas_of
from quorate.storage.data.record import AppliedRecord
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import DamagedError, EngineError
from quorate.storage.families import NODES
from quorate.storage.notes import MemoryNotes, Note, Notes
from quorate.storage.rows import value_of
from quorate.topology.changes.changes import Changes
from quorate.topology.changes.merge import frozen_for
from quorate.topology.replicas import life
from quorate.topology.replicas.damage import StoppedBeforeError, is_damage, stays
from quorate.topology.replicas.declaration import (
    GroupsDifferError,
    ReleaseTooOldError,
    are_known,
    check_configured,
    check_levels,
)
from quorate.topology.replicas.files import Homes, Journals, ReplicaFiles
from quorate.topology.replicas.registry import Registry
from quorate.topology.replicas.unopened import Asked
from quorate.v1.control_pb2 import CutShard, NodeDeclaration, ShardRow

_log = logging.getLogger(__name__)

#: Creates the replica of a shard, in one of its histories, from its data and journal.
NewShard = Callable[[ShardId, int, ShardData, TailJournal], Shard]

#: How long replicas are opened before the node does anything else.
_TURN_S: Final = 0.05
#: The replicas that a node opens before it does anything else: a start with as many takes a second
#: or two. It opens the others while it serves.
_AT_ONCE: Final = 64
#: Opening a replica takes as long as this many turns to stand for election.
_APART: Final = 5
#: Errors that prevent the opening of a replica.
_UNOPENED: Final = (EngineError, JournalDamagedError, ReplicaStoppedError, OSError, ValueError)


class NodeShards(Registry):
    """Opens, recovers and removes the replicas of this node as the rows want it.

    Metadata/0 is opened at once; every other shard once its row in `core.shards` names this
    node's replica. `failed` is called when this node cannot take part in the cluster.
    """

    def __init__(
        self,
        declaration: NodeDeclaration,
        catalog: Catalog,
        log: Journals,
        homes: Homes,
        *,
        configured: Mapping[str, int],
        notes: Notes | None = None,
        at_once: int = _AT_ONCE,
        loop: asyncio.AbstractEventLoop,
        failed: Callable[[Exception], None],
    ) -> None:
        super().__init__(Peer(declaration.node, declaration.replica), loop)
        self._catalog: Final = catalog
        self._log: Final = log
        self._homes: Final = homes
        self._notes: Final = MemoryNotes() if notes is None else notes
        #: The replicas on disk.
        self.files: Final = ReplicaFiles(self.me, catalog, log, homes, self._notes, loop)
        self._configured: Final = configured
        self._loop: Final = loop
        self._failed: Final = failed
        #: The declaration of this node.
        self.declaration: Final = declaration
        #: This node's number of shards per group.
        self.declared: Final = {each.name: each.shards for each in declaration.groups}
        #: Whether a group has a number of replicas.
        self.places: Final = any(each.replicas for each in declaration.groups)
        #: Set by `open`.
        self._new_shard: NewShard
        self._changes: Changes | None = None
        self._on_open: Final[list[Callable[[Shard], None]]] = []
        self._on_close: Final[list[Callable[[Shard], None]]] = []
        self._lives: Final = defaultdict[ShardId, life.Life](life.Life)
        self._at_once: Final = at_once
        #: What is left to open, while that takes several turns of the loop.
        self._opening: Iterator[ShardId] | None = None
        self._stopped = False
        #: Gets the damage of replicas that were stopped by it or cannot be opened.
        self.on_damage: Callable[[ShardId, Exception], None] = lambda shard, error: None

    # Life.

    def open(self, first: Configuration | None, submit: Submit, new_shard: NewShard) -> None:
        """Open metadata/0 and all known shards; `first` is the configuration of a new cluster.

        Raises if metadata/0 cannot be opened, or the settings contradict the cluster.
        """
        self._new_shard = new_shard
        metadata = self._open(METADATA, 0, self._notes.read(str(METADATA)))
        self._lives[METADATA].has_started = True
        self._changes = Changes(
            self.declaration, metadata, self.get, self.all, self.rows, submit, self._loop
        )
        self._read_rows()
        check_configured(self._configured, self._rows)
        check_levels(self.declaration, self.levels)
        metadata.start(first)
        metadata.subscribe(lambda _: self._entries_applied(metadata, self._follow))
        self.unopened.begin(self._put_off(), self._open_later)
        self._open_members()
        for shard, row in self._rows.items():
            is_merged = bool(row.merged_into and not replicas_of(row))
            if self.files.are_leaving(shard, merged=is_merged):
                self._lives[shard].is_leaving = True
        self._leave()
        self._changes.creation.look()

    async def close(self) -> None:
        """Stop every replica and close its data."""
        self._stopped = True
        self.unopened.end()
        if self._changes is not None:
            await self._changes.close()
        changing = (each.change for each in self._lives.values() if each.change is not None)
        await asyncio.gather(*changing, return_exceptions=True)
        await asyncio.gather(*(shard.close() for shard in self._shards.values()))

    def on_open(self, callback: Callable[[Shard], None]) -> None:
        """Call back with each open replica that has started, now and later."""
        self._on_open.append(callback)
        for shard in list(self._shards.values()):
            if self._lives[shard.id].has_started:
                callback(shard)

    def on_close(self, callback: Callable[[Shard], None]) -> None:
        """Call back with each replica that leaves this node, before it is closed."""
        self._on_close.append(callback)

    # For operators, other nodes and the repair.

    @property
    def difference(self) -> str | None:
        """Why this node, as leader of metadata/0, creates no shards, or None."""
        return None if self._changes is None else self._changes.creation.difference

    @property
    def broken(self) -> Mapping[ShardId, Exception]:
        """Why replicas here cannot be opened, by shard."""
        return {
            shard: state.broken for shard, state in self._lives.items() if state.broken is not None
        }

    @property
    def left(self) -> Mapping[ShardId, AppliedRecord]:
        """The state of their data, as far as it is readable."""
        return {shard: state.left for shard, state in self._lives.items() if state.left is not None}

    def is_changing(self, shard: ShardId) -> bool:
        """Whether the replica of a shard here begins or ends just now."""
        return self._lives[shard].change is not None

    def heard_levels(self, in_force: Mapping[str, int]) -> None:
        """Take the levels that another node knows; end this node if it does not support them."""
        try:
            check_levels(self.declaration, in_force)
        except ReleaseTooOldError as error:
            self._failed(error)

    # Hooks of the replicas.

    def stopped(self, shard: Shard, error: Exception) -> None:
        """Record that a replica has stopped, if a restart must not let it continue.

        A failure in plugin code, or by a missing plugin, is retried: it may be fixed meanwhile.
        """
        if stays(error):
            self.files.stopped(shard.id, Note(shard.epoch, str(error), damaged=is_damage(error)))
        if is_damage(error):
            self.on_damage(shard.id, error)

    async def fork(self, parent: Shard, cut: CutShard) -> None:
        """Copy the data of a shard that was cut to the new shards, and open these."""
        await self.files.fork(parent, [part.number for part in cut.parts])
        # The parent goes on first: opening databases takes longer than copying them.
        self._loop.call_soon(self._open_in_turns)

    def _entries_applied(self, shard: Shard, look: Callable[[], None]) -> None:
        """Look at a shard, unless its entries changed rows of plugins and nothing else."""
        state, changes = self._lives[shard.id], shard.applier.core_changes
        if changes != state.core_changes or state.is_awaited:
            state.core_changes = changes
            look()

    # Following metadata/0.

    def _follow(self) -> None:
        if self._stopped or self._changes is None:
            return
        if self._read_rows():
            try:
                check_configured(self._configured, self._rows)
                check_levels(self.declaration, self.levels)
            except (GroupsDifferError, ReleaseTooOldError) as error:
                self._failed(error)
                return
            self._settle()
            for shard in list(self._shards.values()):
                self._applied(shard)
        self._applied(self._shards[METADATA])
        self._changes.creation.look()

    def _applied(self, shard: Shard) -> None:
        """Continue the changes of a shard whose rows or whose row may have changed."""
        if self._changes is not None:
            self._changes.look_at(shard)
        # A snapshot may have led past the cut.
        self._look_at_awaited(shard.id)

    def _look_at_awaited(self, shard: ShardId) -> None:
        """Open the shards that are made of a shard, if they can be opened now."""
        state = self._lives[shard]
        if state.is_awaited:
            state.is_awaited = False
            self._open_members()

    def _settle(self) -> None:
        """Open and remove the replicas that waited for a change."""
        self._open_in_turns()
        self._leave()

    # Opening.

    def _open_members(self) -> None:
        """Open the shards whose rows name this node's replica."""
        for _ in self._open_each():
            pass

    def _open_in_turns(self) -> None:
        """Open them while the node goes on: many new shards take seconds."""
        waits, self._opening = self._opening is not None, self._open_each()
        if not waits:
            self._open_some()

    def _open_some(self) -> None:
        until = self._loop.time() + _TURN_S
        while self._opening is not None and not self._stopped:
            if next(self._opening, None) is None:
                self._opening = None
            elif self._loop.time() > until:
                self._loop.call_soon(self._open_some)
                return

    def _open_each(self) -> Iterator[ShardId]:
        """Open the shards that are to be here, and return each that took time.

        They start once all are open: until then it would cost more to elect leaders.
        """
        if not self._are_levels_known():
            return
        for shard, row in self._named.items():
            if self._act(shard, row):
                yield shard
        before = 0
        for shard in [each.id for each in self._shards.values()]:
            opened = self._shards.get(shard)
            if self._stopped:
                return
            if opened is not None and not self._lives[shard].has_started and shard in self._rows:
                self._start(opened, self._rows[shard], before)
                before += 1
                yield shard

    def _are_levels_known(self) -> bool:
        stored = self._shards[METADATA].data.get(NODES, self.me.node.encode())
        return stored is None or are_known(
            self.declaration, NodeDeclaration.FromString(value_of(stored))
        )

    def _open(self, shard: ShardId, epoch: int, note: Note) -> Shard:
        data = ShardData.open(self._homes(shard, epoch), families_of(self._catalog, shard.group))
        state = self._lives[shard]
        try:
            state.left = data.record
            if note.stopped:
                raise StoppedBeforeError(note.stopped, damaged=note.damaged)
            begin_part(data, shard.number)
            journal = open_journal(self._log, replica_name(shard, epoch), data)
            opened = self._new_shard(shard, epoch, data, journal)
        except Exception:
            data.close()
            raise
        state.left, state.has_started = None, False
        self._add(opened)
        opened.apply_again()
        return opened

    def _start(self, shard: Shard, row: ShardRow, before: int) -> None:
        state = self._lives[shard.id]
        state.has_started, state.core_changes = True, -1
        # A replica added later gets its members from the shard's leader.
        first = map(Member, life.peers(row.members)) if life.founds(row, self.me) else None
        shard.start(None if first is None else Configuration.of(first), before=before)
        shard.subscribe(lambda _: self._entries_applied(shard, lambda: self._applied(shard)))
        for callback in self._on_open:
            callback(shard)
        if (parents := parents_of(row)) and self._changes is not None:
            self._changes.opened(shard, parents[0])
        # What it was sent since it is open may have been applied.
        self._applied(shard)

    # Opening after the start.

    def _put_off(self) -> list[tuple[ShardId, str]]:
        """Return the replicas that may open after the start of the node, with their names.

        To other nodes each is, until it opens, a replica on a node that has not started yet.
        """
        if not self._are_levels_known():
            return []
        whole = {shard for shard, row in self._named.items() if self._is_whole(shard, row)}
        changing = {shard.group for shard in self.slot_map.changing}
        late = life.put_off(self._named, whole, changing, self._at_once)
        # Each node begins elsewhere, and leads what it opens first.
        configuration = self._shards[METADATA].configuration
        voters = () if configuration is None else configuration.voters
        begin = voters.index(self.me) * len(late) // len(voters) if self.me in voters else 0
        return [
            (shard, replica_name(shard, self._rows[shard].origin.epoch))
            for shard in late[begin:] + late[:begin]
        ]

    def _is_whole(self, shard: ShardId, row: ShardRow) -> bool:
        try:
            return (
                shard != METADATA
                and life.is_whole(row, self._notes.read(str(shard)))
                and self.files.have_data(shard, row.origin.epoch)
            )
        except (DamagedError, OSError):
            return False

    def _open_later(self, shard: ShardId, asked: Asked | None) -> None:
        """Open and start a replica on request, or in its turn."""
        try:
            self._open_now(shard, asked)
        except Exception as error:  # noqa: BLE001 - it would have ended the start of the node
            _log.exception("shard %s did not open", shard, extra={"shard": str(shard)})
            self._failed(error)

    def _open_now(self, shard: ShardId, asked: Asked | None) -> None:
        row = self._named.get(shard)
        if row is None or not self._act(shard, row):
            return
        opened = self._shards.get(shard)
        if opened is None or self._lives[shard].has_started:
            # What is made of it comes from another node.
            self._look_at_awaited(shard)
            return
        # One that has a leader hears of it once all are open.
        has_leader = asked is not None and not asked.wants_leader and not asked.messages
        self._start(opened, row, _APART * len(self.unopened) if has_leader else 0)
        for message in () if asked is None else asked.messages:
            opened.receive(message)
        if asked is None or asked.wants_leader:
            # The other nodes may not have opened theirs: they do when they are asked for a vote.
            opened.campaign()

    # Actions.

    def _act(self, shard: ShardId, row: ShardRow) -> bool:
        """Take the next action for a replica here; return whether that took time."""
        if self._lives[shard].change is not None or self._stopped:
            return False
        change: Callable[[], Awaitable[None]] | None = None
        failed = self._break
        try:
            note = self._notes.read(str(shard)) if shard in self._named else Note()
            action = life.next_action(row, note, self._here(shard, row, note))
            match action:
                case life.Open():
                    opened = self._open(shard, row.origin.epoch, note)
                    opened.replica.founds = note.founds
                case life.Wait():
                    for parent in action.parents:
                        self._lives[parent].is_awaited = True
                        self.unopened.want(parent)
                case life.Assign():
                    change = partial(self._assign, shard, action.note)
                case life.Unite():
                    base, other = (self._shards[each] for each in parents_of(row))
                    change = partial(self.files.unite, row, base, other)
                case life.Recover():
                    change = partial(self._recover, shard, row)
                case life.Part():
                    change, failed = partial(self._part, shard), self._keep
        except (*_UNOPENED, StoppedBeforeError) as error:
            self._break(shard, error)
            return True
        if change is not None:
            task = self._loop.create_task(self._carry_out(shard, change, failed))
            self._lives[shard].change = task
        return isinstance(action, (life.Open, life.Wait, life.Assign, life.Unite))

    def _here(self, shard: ShardId, row: ShardRow, note: Note) -> life.Here:
        state = self._lives[shard]
        is_known = shard in self._shards or state.broken is not None or shard in self.unopened
        if shard not in self._named:
            heir = self._lives.get(ShardId(row.group, row.merged_into))
            return life.Here(
                self.me,
                is_known=is_known,
                is_leaving=state.is_leaving,
                is_being_merged=heir is not None and heir.change is not None,
            )
        epoch = row.origin.epoch
        if is_known or note.epoch < epoch:
            # An interrupted recovery may have left anything there.
            return life.Here(self.me, is_known=is_known)
        has_data = self.files.have_data(shard, epoch)
        return life.Here(
            self.me,
            is_assigned=state.is_assigned,
            has_data=has_data,
            has_log=self.files.have_log(shard, epoch),
            parents=[] if has_data else [self._progress(each, row) for each in parents_of(row)],
        )

    def _progress(self, parent: ShardId, row: ShardRow) -> life.Progress:
        """Return how far a parent of a new shard is here."""
        found = self._shards.get(parent)
        if found is None:
            return life.Progress.BEFORE if parent in self.unopened else life.Progress.ABSENT
        if row.HasField("union"):
            frozen = found.stopped is None and frozen_for(found, row.union.merge) is not None
            return life.Progress.THERE if frozen else life.Progress.BEFORE
        return life.Progress.THERE if found.applied > row.parent.index else life.Progress.BEFORE

    async def _carry_out(
        self,
        shard: ShardId,
        change: Callable[[], Awaitable[None]],
        failed: Callable[[ShardId, Exception], None],
    ) -> None:
        try:
            await change()
        except _UNOPENED as error:
            failed(shard, error)
            return
        finally:
            self._lives[shard].change = None
        # The row may say something else by now.
        self._settle()

    def _leave(self) -> None:
        """Close and remove replicas that have moved to other nodes, and their remains."""
        for shard, row in self._rows.items():
            if shard in self._lives and shard not in self._named:
                self._act(shard, row)

    async def _assign(self, shard: ShardId, note: Note) -> None:
        """Let a new replica begin once nothing is left of an earlier one.

        The removal of its log may never have been made durable.
        """
        await self.files.remove(shard, note)
        failpoint("replica.assigned")
        self._lives[shard].is_assigned = True

    async def _part(self, shard: ShardId) -> None:
        """Remove this node's replica of a shard that has moved."""
        state = self._lives[shard]
        state.is_leaving = state.is_assigned = False
        state.broken = state.left = None
        self.unopened.discard(shard)
        # After a power loss no row must say that this replica founds the shard, or votes.
        await self._loop.run_in_executor(None, self._shards[METADATA].data.sync)
        old = self._remove(shard)
        note = self._notes.read(str(shard))
        epoch = note.epoch if old is None else old.epoch
        self._notes.write(str(shard), Note(epoch, leaving=True, damaged=note.damaged))
        failpoint("replica.leaving")
        if old is not None:
            for callback in self._on_close if state.has_started else ():
                callback(old)
            # What is damaged may not be flushed.
            with suppress(DamagedError):
                await old.close()
        await self.files.remove(shard, Note(epoch, past=True))
        _log.info("shard %s has left this node", shard, extra={"shard": str(shard)})

    def _keep(self, shard: ShardId, error: Exception) -> None:
        _log.error(
            "cannot remove the data of shard %s, which has moved: %s",
            shard,
            error,
            extra={"shard": str(shard)},
        )

    async def _recover(self, shard: ShardId, row: ShardRow) -> None:
        """Move this replica from its history to the one in the row, and open it."""
        self.unopened.discard(shard)
        old = self._remove(shard)
        self._lives[shard].broken = None
        _log.warning(
            "shard %s was recovered %s %s: its replica here starts again",
            shard,
            "without rows at" if row.origin.empty else "from",
            row.origin.node,
            extra={"shard": str(shard)},
        )
        # After a power loss the row must not be missing while its shard is in the old history.
        await self._loop.run_in_executor(None, self._shards[METADATA].data.sync)
        if old is not None:
            await old.close()
        await self._loop.run_in_executor(None, self.files.recover, shard, row)
        self.files.leave(shard, row.origin.epoch)

    def _break(self, shard: ShardId, error: Exception) -> None:
        self._lives[shard].broken = error
        _log.error("cannot open shard %s here: %s", shard, error, extra={"shard": str(shard)})
        if not is_damage(error):
            return
        try:
            note = self._notes.read(str(shard))
        except (DamagedError, OSError):
            note = Note(self._rows[shard].origin.epoch)
        stopped = note.stopped or str(error)
        # It may have voted, and must not found the shard once more.
        self.files.stopped(shard, note._replace(stopped=stopped, founds=False, damaged=True))
        self.on_damage(shard, error)
