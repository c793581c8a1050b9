"""The shards of this node, opened as metadata/0 says."""

import asyncio
import logging
from collections.abc import (
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import suppress
from functools import partial
from importlib.metadata import version
from itertools import count
from typing import Any, Final

from quorate.apply import levels
from quorate.apply.entries import whole
from quorate.apply.layers import Rows
from quorate.apply.program import families_of, mirrored
from quorate.consensus.journal import JournalDamagedError
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Message as PeerMessage, Peer
from quorate.consensus.refusals import ReplicaStoppedError
from quorate.groups.damage import StoppedBeforeError, is_damage, stays
from quorate.groups.declared_groups import GroupsDifferError, check_configured, declared_groups
from quorate.groups.replica_files import Homes, Journals, ReplicaFiles, peers
from quorate.groups.routing.slot_map import SlotMap
from quorate.groups.shard.log_keeper import TailJournal, open_journal
from quorate.groups.shard.removal import Membership
from quorate.groups.shard.shard import Shard, replica_name
from quorate.groups.snapshots.first_state import begin_part, unite
from quorate.groups.steps import Submit
from quorate.groups.topology_rows import is_forming, parents_of, replicas_of, replicas_wanted
from quorate.groups.unopened import Asked, Unopened
from quorate.observe.failpoints import failpoint
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.storage.data.record import AppliedRecord
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import DamagedError, EngineError
from quorate.storage.families import LEVELS, NODES, SHARDS
from quorate.storage.notes import MemoryNotes, Note, Notes
from quorate.storage.rows import value_of
from quorate.topology.changes.changes import Changes
from quorate.topology.changes.merge import frozen_for
from quorate.v1.control_pb2 import (
    CutShard,
    DeclaredGroup,
    NodeDeclaration,
    ShardRow,
)
from quorate.v1.levels_pb2 import FeatureLevel
from quorate.v1.node_pb2 import LedShard

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


class ReleaseTooOldError(Exception):
    """The release of this node does not support the levels in force in its cluster."""


class NodeShards:
    """Implements `LocalShards` for routing, and receives the node's messages and syncs.

    Metadata/0 is opened at once; every other shard once its row in `core.shards` names this
    node's replica. `failed` is called when this node cannot take part in the cluster.
    """

    def __init__(
        self,
        me: Peer,
        address: str,
        catalog: Catalog,
        log: Journals,
        homes: Homes,
        *,
        configured: Mapping[str, int],
        replicas: Mapping[str, int] | None = None,
        machine: str = "",
        zone: str = "",
        notes: Notes | None = None,
        at_once: int = _AT_ONCE,
        loop: asyncio.AbstractEventLoop,
        failed: Callable[[Exception], None],
    ) -> None:
        self.me: Final = me
        #: Why replicas here cannot be opened, by shard.
        self.broken: Final[dict[ShardId, Exception]] = {}
        #: The state of their data, as far as it is readable.
        self.left: Final[dict[ShardId, AppliedRecord]] = {}
        self._catalog: Final = catalog
        self._log: Final = log
        self._homes: Final = homes
        self._notes: Final = MemoryNotes() if notes is None else notes
        #: The replicas on disk.
        self.files: Final = ReplicaFiles(me, catalog, log, homes, self._notes)
        self._configured: Final = configured
        self._loop: Final = loop
        self._failed: Final = failed
        #: This node's number of shards per group.
        self.declared: Final = declared_groups(catalog, configured)
        declared_groups(catalog, replicas or {})
        #: Whether a group has a number of replicas.
        self.places: Final = bool(replicas)
        #: The declaration of this node.
        self.declaration: Final = NodeDeclaration(
            node=me.node,
            replica=me.replica,
            address=address,
            groups=[
                DeclaredGroup(name=name, shards=shards, replicas=(replicas or {}).get(name, 0))
                for name, shards in self.declared.items()
            ],
            fingerprint=catalog.fingerprint(),
            commands=catalog.commands,
            machine=machine,
            zone=zone,
            version=version("quorate"),
            levels=levels.rows_of(levels.levels_of(catalog)),
        )
        #: The levels in force, as far as this node knows: they only rise.
        self.levels: Mapping[str, int] = {}
        self._shards: Final[dict[ShardId, Shard]] = {}
        self._by_name: Final[dict[str, Shard]] = {}
        self._leading: Sequence[Shard] | None = None
        #: Shards that wait for a sync of the log.
        self._unsynced: Final = set[ShardId]()
        #: The applier's count of changes to the cluster's rows when they were read.
        self._changes_read = -1
        self._rows: dict[ShardId, ShardRow] = {}
        self._slot_map = SlotMap(0, ())
        #: Set by `open`.
        self._new_shard: NewShard
        self._changes: Changes | None = None
        self._on_open: Final[list[Callable[[Shard], None]]] = []
        self._on_map: Final[list[Callable[[], None]]] = []
        self._on_close: Final[list[Callable[[Shard], None]]] = []
        #: Shards whose replica here begins, starts again after a recovery, or ends.
        self._changing: Final[dict[ShardId, asyncio.Task[None]]] = {}
        #: Shards whose replica here may begin: nothing is left of an earlier one.
        self._assigned: Final = set[ShardId]()
        #: Shards whose replica here was left by an earlier life of the node.
        self._leaving: Final = set[ShardId]()
        #: Replicas that are open, and start once all others are.
        self._unstarted: Final[dict[ShardId, Shard]] = {}
        self._at_once: Final = at_once
        #: The replicas that open after the start of the node.
        self.unopened: Final = Unopened(loop)
        #: What is left to open, while that takes several turns of the loop.
        self._opening: Iterator[ShardId] | None = None
        #: The parents of new shards that were not cut or frozen here yet.
        self._uncut: Final = set[ShardId]()
        self._stopped = False
        #: Gets the damage of replicas that were stopped by it or cannot be opened.
        self.on_damage: Callable[[ShardId, Exception], None] = lambda shard, error: None

    # Life.

    def open(self, first: Configuration | None, submit: Submit, new_shard: NewShard) -> None:
        """Open metadata/0 and all known shards; `first` is the configuration of a new cluster.

        Raises if metadata/0 cannot be opened, or the settings contradict the cluster.
        """
        self._new_shard = new_shard
        metadata = self._open(METADATA, 0)
        self._read_rows()
        check_configured(self._configured, self._rows)
        self.check_levels(self.levels)
        self._changes = Changes(
            self.declaration, metadata, self.get, self.all, self.rows, submit, self._loop
        )
        metadata.start(first)
        metadata.subscribe(lambda _: self._follow())
        self.unopened.begin(self._put_off(), self._open_later)
        self._open_members()
        self._leaving.update(
            shard
            for shard, row in self._rows.items()
            if self.files.are_leaving(shard, merged=bool(row.merged_into and not replicas_of(row)))
        )
        self._leave_moved()
        self._changes.look()

    async def close(self) -> None:
        """Stop every replica and close its data."""
        self._stopped = True
        self.unopened.end()
        if self._changes is not None:
            await self._changes.close()
        await asyncio.gather(*self._changing.values(), return_exceptions=True)
        await asyncio.gather(*(shard.close() for shard in self._shards.values()))

    def on_open(self, callback: Callable[[Shard], None]) -> None:
        """Call back with each open replica that has started, now and later."""
        self._on_open.append(callback)
        for shard in list(self._shards.values()):
            if shard.id not in self._unstarted:
                callback(shard)

    def on_close(self, callback: Callable[[Shard], None]) -> None:
        """Call back with each replica that leaves this node, before it is closed."""
        self._on_close.append(callback)

    def on_map(self, callback: Callable[[], None]) -> None:
        """Call back after each change of the slot map."""
        self._on_map.append(callback)

    # For `Groups`.

    @property
    def slot_map(self) -> SlotMap:
        """The newest slot map on this node."""
        return self._slot_map

    def get(self, shard: ShardId) -> Shard | None:
        """Return a running replica that is a member of its shard, or None."""
        found = self.replica(shard)
        return found if found is not None and found.configuration is not None else None

    def replica(self, shard: ShardId) -> Shard | None:
        """Return a running replica, also one that is not a member of its shard yet, or None.

        Asking for one that has not been opened since the node started opens it soon after.
        """
        found = self._shards.get(shard)
        if found is None:
            self.unopened.want(shard)
        return found if found is not None and found.stopped is None else None

    def is_moving(self, shard: ShardId) -> bool:
        """Whether a replica of a shard is perhaps on its way to this node.

        That of a new shard is made here, when its parent comes to its cut, or both of its parents
        are frozen.
        """
        row = self._rows.get(shard)
        return row is not None and (row.HasField("move") or bool(parents_of(row)))

    def has_left(self, shard: ShardId) -> bool:
        """Whether this node had a replica of a shard that has moved to other nodes."""
        row = self._rows.get(shard)
        return (
            row is not None
            and shard not in self._shards
            and not row.merged_into
            and self.me not in peers(replicas_of(row))
        )

    def offshoots(self, shard: ShardId) -> list[tuple[ShardId, int]]:
        """Return the shards that were split off a shard, each with the revision it begins after."""
        return [
            (each, whole(row.parent.index))
            for each, row in self._rows.items()
            if each.group == shard.group
            and row.HasField("parent")
            and row.parent.number == shard.number
            and row.parent.index
        ]

    def heir(self, shard: ShardId) -> ShardId:
        """Return the shard that a shard was finally merged into; itself if it was not merged."""
        return self._slot_map.heir(shard)

    def all(self) -> Iterable[Shard]:
        """Return the replicas of this node."""
        return self._shards.values()

    def is_unopened(self, shard: ShardId) -> bool:
        """Whether a replica here has not been opened since the node started."""
        return shard in self.unopened

    async def opened(self, shard: ShardId, until: float) -> None:
        """Open such a replica, and return when that is done, or at that time."""
        await self.unopened.opened(shard, until)

    def leading(self) -> Sequence[Shard]:
        """Return the replicas of this node that lead, as of the last turn of each.

        Those that were merged into others have nothing more to do.

        It is the same object until another one leads, or one of them in another term.
        """
        if self._leading is None:
            merged = self._slot_map.merged
            self._leading = [
                shard for shard in self._shards.values() if shard.leads and shard.id not in merged
            ]
        return self._leading

    # Levels.

    def level(self, feature: str) -> int:
        """Return the level of a feature that is in force, as far as this node knows."""
        return self.levels.get(feature, levels.LOWEST)

    def check_levels(self, in_force: Mapping[str, int]) -> None:
        """Raise `ReleaseTooOldError` unless this node supports the levels in force."""
        why = levels.lacking(levels.by_feature(self.declaration.levels), in_force)
        if why is not None:
            raise ReleaseTooOldError(
                f"quorate {self.declaration.version} is too old for the cluster of {self.me.node},"
                f" whose upgrade was finished: {why}; install the release that the other nodes run"
            )

    def heard_levels(self, in_force: Mapping[str, int]) -> None:
        """Take the levels that another node knows; end this node if it does not support them."""
        try:
            self.check_levels(in_force)
        except ReleaseTooOldError as error:
            self._failed(error)

    def _is_declared(self) -> bool:
        """Whether the cluster knows the levels of this release: until then it may assume others."""
        stored = self._shards[METADATA].data.get(NODES, self.me.node.encode())
        if stored is None:
            return True
        known = levels.by_feature(NodeDeclaration.FromString(value_of(stored)).levels)
        return all(
            known.get(each.feature, levels.LOWEST) == each.level
            for each in self.declaration.levels
            if each.feature in known or not known
        )

    # For operators.

    @property
    def difference(self) -> str | None:
        """Why this node, as leader of metadata/0, creates no shards, or None."""
        return None if self._changes is None else self._changes.difference

    def rows(self) -> Mapping[ShardId, ShardRow]:
        """Return the rows of `core.shards` on this node, the same object until one changes."""
        return self._rows

    def declarations(self) -> Iterable[NodeDeclaration]:
        """Return the declarations of the cluster's nodes, as far as this node knows."""
        metadata = self._shards.get(METADATA)
        if metadata is None:
            return
        for _, row in metadata.data.iterate(NODES, b"", None):
            yield NodeDeclaration.FromString(value_of(row))

    def led(self) -> list[LedShard]:
        """Return the shards that this node leads."""
        return [
            LedShard(shard=str(shard.id), term=shard.term, done=shard.done)
            for shard in self.leading()
            if shard.leads
        ]

    def wanted(self) -> Mapping[str, int]:
        """Return the number of replicas of each group, as far as all nodes declare the same."""
        return replicas_wanted(self.declarations())

    def knowing(self, command: str) -> Sequence[str]:
        """Return the nodes whose plugins declare a command, as far as this node knows."""
        return sorted(each.node for each in self.declarations() if command in each.commands)

    def membership(self, shard: ShardId) -> Membership | None:
        """Return the committed members of a shard, or None if unknown."""
        found = self.get(shard)
        return None if found is None else found.membership

    # For streams and syncs.

    def admits(self, peer: Peer, config_index: int) -> bool:
        """Whether a peer with that configuration may be a member of the cluster."""
        metadata = self.replica(METADATA)
        if metadata is None:
            return False
        log = metadata.replica.log
        if log.configuration is None or config_index > log.configuration_index:
            return True
        return log.known(peer, metadata.replica.commit)

    def config_index(self) -> int:
        """Return the index of this node's configuration of the cluster."""
        metadata = self.replica(METADATA)
        return 0 if metadata is None else metadata.replica.log.configuration_index

    def deliver(self, shard: str, message: PeerMessage) -> bool:
        """Pass a message to its replica; False if it is not here."""
        found = self._by_name.get(shard)
        if found is None:
            return self.unopened.keep(shard, message)
        found.receive(message)
        return True

    def remade(self, node: str) -> None:
        """Record that the bulk stream to a node was replaced."""
        for shard in self._shards.values():
            shard.remade(node)

    def wrote(self, shard: ShardId) -> None:
        """Record that a shard has written to the log, and waits for its sync."""
        self._unsynced.add(shard)

    def synced(self, sequence: int) -> None:
        """Record that log writes up to `sequence` are durable, for the shards that wait for it."""
        for name in sorted(self._unsynced):
            shard = self._shards.get(name)
            if shard is None or shard.log_written <= sequence:
                self._unsynced.discard(name)
            if shard is not None:
                shard.synced(sequence)

    def stopped(self, shard: Shard, error: Exception) -> None:
        """Record that a replica has stopped, if a restart must not let it continue.

        A failure in plugin code, or by a missing plugin, is retried: it may be fixed meanwhile.
        """
        if stays(error):
            self.files.stopped(shard.id, Note(shard.epoch, str(error), damaged=is_damage(error)))
        if is_damage(error):
            self.on_damage(shard.id, error)

    # Repair.

    def is_changing(self, shard: ShardId) -> bool:
        """Whether the replica of a shard here begins or ends just now."""
        return shard in self._changing

    def log_failed(self, error: Exception) -> None:
        """Stop every replica: the node's log failed."""
        for shard in list(self._shards.values()):
            shard.fail(error)

    # Opening.

    def _open(self, shard: ShardId, epoch: int) -> Shard:
        name, note = replica_name(shard, epoch), self._notes.read(str(shard))
        data = ShardData.open(self._homes(shard, epoch), families_of(self._catalog, shard.group))
        try:
            self.left[shard] = data.record
            if note.stopped:
                raise StoppedBeforeError(note.stopped, damaged=note.damaged)
            begin_part(data, shard.number)
            opened = self._new_shard(shard, epoch, data, open_journal(self._log, name, data))
        except Exception:
            data.close()
            raise
        self.left.pop(shard)
        self._shards[shard] = opened
        self._by_name[name] = opened
        return opened

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
        if not self._is_declared():
            return
        for shard, row in self._rows.items():
            if self._open_unless_known(shard, row):
                yield shard
        for before in count():
            if not self._unstarted or self._stopped:
                return
            opened = self._unstarted.pop(next(iter(self._unstarted)))
            if opened.id in self._rows:
                self._start_member(opened, self._rows[opened.id], before)
            yield opened.id

    def _open_unless_known(self, shard: ShardId, row: ShardRow) -> bool:
        """Open a shard if it is to be here, and return whether that took time."""
        replicas = peers(replicas_of(row))
        if self.me not in replicas or shard in self._changing or self._stopped:
            return False
        known = shard in self._shards or shard in self.broken or shard in self.unopened
        try:
            note = self._notes.read(str(shard))
        except (DamagedError, OSError) as error:
            self._break(shard, error)
            return False
        if note.epoch < row.origin.epoch:
            self._change(shard, self._recover(shard, row))
            return False
        if known:
            return False
        self._open_member(shard, row, note)
        return True

    def _open_member(self, shard: ShardId, row: ShardRow, note: Note) -> None:
        try:
            if not self._is_made(shard, row):
                return
            assigned = shard in self._assigned
            if not self._founds(row) and not assigned and self.files.lack(shard, row, note):
                # One that was never here may vote for whoever has a copy: few may have one.
                founds = bool(parents_of(row)) and not row.origin.epoch
                first = Note(
                    note.epoch, past=True, founds=founds and (note.founds or not note.past)
                )
                self._change(shard, self._assign(shard, first))
                return
            opened = self._open(shard, row.origin.epoch)
            opened.replica.founds = note.founds
            self._unstarted[shard] = opened
        except (*_UNOPENED, StoppedBeforeError) as error:
            self._break(shard, error)

    def _start_member(self, shard: Shard, row: ShardRow, before: int) -> None:
        # A replica added later gets its members from the shard's leader.
        first = map(Member, peers(row.members)) if self._founds(row) else None
        shard.start(None if first is None else Configuration.of(first), before=before)
        shard.subscribe(partial(self._applied, shard))
        for callback in self._on_open:
            callback(shard)
        if parents := parents_of(row):
            assert self._changes is not None
            self._changes.opened(shard, parents[0])
        # What it was sent since it is open may have been applied.
        self._applied(shard, shard.applied)

    # Opening after the start.

    def _put_off(self) -> list[tuple[ShardId, str]]:
        """Return the replicas that may open after the start of the node, with their names.

        To other nodes each is, until it opens, a replica on a node that has not started yet.
        """
        if not self._is_declared():
            return []
        changing = {shard.group for shard in self._slot_map.changing}
        here = [
            (shard, row) for shard, row in self._rows.items() if self.me in peers(replicas_of(row))
        ]
        whole = {shard for shard, row in here if self._is_whole(shard, row)}
        # What is made of others first looks how far they are.
        first = {each for shard, row in here if shard not in whole for each in parents_of(row)}
        late = [
            (shard, replica_name(shard, row.origin.epoch))
            for shard, row in here
            if shard in whole and shard not in first and shard.group not in changing
        ]
        late = late[max(0, self._at_once - (len(here) - len(late))) :]
        # Each node begins elsewhere, and leads what it opens first.
        configuration = self._shards[METADATA].configuration
        voters = () if configuration is None else configuration.voters
        begin = voters.index(self.me) * len(late) // len(voters) if self.me in voters else 0
        return late[begin:] + late[:begin]

    def _is_whole(self, shard: ShardId, row: ShardRow) -> bool:
        """Whether the replica here is complete, and nothing but its opening is to be done."""
        try:
            note = self._notes.read(str(shard))
            return (
                shard != METADATA
                and not row.HasField("move")
                and note.epoch == row.origin.epoch
                and not (note.stopped or note.leaving or note.damaged)
                and self._homes(shard, note.epoch).pointer() is not None
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
        row = self._rows.get(shard)
        if row is None or not self._open_unless_known(shard, row):
            return
        opened = self._unstarted.pop(shard, None)
        if opened is None:
            # What is made of it comes from another node.
            self._look_at_uncut(shard)
            return
        # One that has a leader hears of it once all are open.
        has_leader = asked is not None and not asked.wants_leader and not asked.messages
        before = _APART * len(self.unopened) if has_leader else 0
        self._start_member(opened, row, before)
        for message in () if asked is None else asked.messages:
            opened.receive(message)
        if asked is None or asked.wants_leader:
            # The other nodes may not have opened theirs: they do when they are asked for a vote.
            opened.campaign()

    def _founds(self, row: ShardRow) -> bool:
        """Whether the replica here is one of the first of its shard, in its first history."""
        return self.me in peers(row.members) and not row.origin.epoch

    # Splits and merges.

    def _is_made(self, shard: ShardId, row: ShardRow) -> bool:
        """Whether the copy of a new shard was made here, or never will be.

        A replica of its parent that was replaced by a snapshot from after the cut makes none.
        """
        if row.HasField("union"):
            return self._is_united(shard, row)
        if not row.HasField("parent") or row.origin.epoch:
            return True
        if self._homes(shard, 0).pointer() is not None or self._notes.read(str(shard)).past:
            return True
        [parent] = parents_of(row)
        here, is_unopened = self._shards.get(parent), self.is_unopened(parent)
        if is_forming(row) or is_unopened or (here and here.applied <= row.parent.index):
            self._uncut.add(parent)
            self.unopened.want(parent)
            return False
        return True

    def _is_united(self, shard: ShardId, row: ShardRow) -> bool:
        """Whether two shards were made one here, or never will be: begin with that if they can be.

        Once a majority has the new shard, the others go, and it comes here from its leader.
        """
        if row.origin.epoch or row.union.settled or self._notes.read(str(shard)).past:
            return True
        if self._homes(shard, 0).pointer() is not None:
            return True
        if is_forming(row):
            return False
        parents = parents_of(row)
        frozen = [
            each
            for each in map(self.replica, parents)
            if each is not None and frozen_for(each, row.union.merge) is not None
        ]
        if len(frozen) == len(parents):
            base, other = frozen
            self._change(shard, self._unite(shard, row, base, other))
        else:
            self._uncut.update(parents)
        return False

    async def _unite(self, shard: ShardId, row: ShardRow, base: Shard, other: Shard) -> None:
        """Make one shard of two that are frozen, and open it."""
        began = self._loop.time()
        try:
            await self._loop.run_in_executor(None, base.data.flush)
            failpoint("merge.uniting")
            await self._loop.run_in_executor(
                None,
                unite,
                base.data,
                other.data,
                self._homes(shard, 0),
                row,
                base.applier.places.families,
                mirrored(self._catalog, shard.group),
            )
            failpoint("merge.united")
        except _UNOPENED as error:
            self._break(shard, error)
            return
        finally:
            del self._changing[shard]
        took_ms = round((self._loop.time() - began) * 1_000)
        _log.info("shards %s and %s became %s in %d ms", base.id, other.id, shard, took_ms)
        self._changed()

    # Hooks of the replicas.

    def leaders_changed(self) -> None:
        """Record that a replica here has begun or ceased to lead."""
        self._leading = None

    def rows_of(self, shard: ShardId) -> Rows | None:
        """Return the rows of a shard here."""
        found = self.replica(shard)
        return None if found is None else found.data

    async def fork(self, parent: Shard, cut: CutShard) -> None:
        """Copy the data of a shard that was cut to the new shards, and open these."""
        await self._loop.run_in_executor(None, parent.data.flush)
        failpoint("split.flushed")
        for part in cut.parts:
            shard = ShardId(parent.id.group, part.number)
            home = self._homes(shard, 0)
            # A replica that was here and has left must not begin anew: it may have voted.
            if home.pointer() is None and not self._notes.read(str(shard)).past:
                began = self._loop.time()
                await self._loop.run_in_executor(None, parent.data.fork, home)
                failpoint("split.forked")
                took_ms = round((self._loop.time() - began) * 1_000)
                _log.info("shard %s was copied to %s in %d ms", parent.id, shard, took_ms)
        # The parent goes on first: opening databases takes longer than copying them.
        self._loop.call_soon(self._open_forked)

    def _open_forked(self) -> None:
        if not self._stopped:
            self._open_in_turns()

    def _change(self, shard: ShardId, change: Coroutine[Any, Any, None]) -> None:
        self._changing[shard] = self._loop.create_task(change)

    def _changed(self) -> None:
        """Open and remove the replicas that waited for a change."""
        self._open_in_turns()
        self._leave_moved()

    # Moves.

    async def _assign(self, shard: ShardId, note: Note) -> None:
        """Open a new replica of a shard once nothing is left of an earlier one.

        The removal of its log may never have been made durable.
        """
        try:
            await self.files.remove(self._loop, shard, note)
            failpoint("replica.assigned")
            self._assigned.add(shard)
        except _UNOPENED as error:
            self._break(shard, error)
            return
        finally:
            del self._changing[shard]
        self._changed()

    def _leave_moved(self) -> None:
        """Close and remove replicas that have moved to other nodes, and their remains."""
        for shard, row in self._rows.items():
            here = shard in self._shards or shard in self.unopened
            here = here or shard in self.broken or shard in self._leaving
            if not here or shard == METADATA or shard in self._changing or self._stopped:
                continue
            replicas = peers(replicas_of(row))
            if row.merged_into and not replicas:
                # What it was made part of may just be made of it.
                if ShardId(row.group, row.merged_into) not in self._changing:
                    self._change(shard, self._part(shard))
                continue
            # One that lost its row with its node is a stranger now, and is kept for its operator.
            if replicas and all(each.node != self.me.node for each in replicas):
                self._change(shard, self._part(shard))

    async def _part(self, shard: ShardId) -> None:
        """Remove this node's replica of a shard that has moved."""
        self._leaving.discard(shard)
        self._assigned.discard(shard)
        self.unopened.discard(shard)
        self.broken.pop(shard, None)
        self.left.pop(shard, None)
        try:
            # After a power loss no row must say that this replica founds the shard, or votes.
            await self._loop.run_in_executor(None, self._shards[METADATA].data.sync)
            old = self._shards.pop(shard, None)
            note = self._notes.read(str(shard))
            epoch = note.epoch if old is None else old.epoch
            self._notes.write(str(shard), Note(epoch, leaving=True, damaged=note.damaged))
            failpoint("replica.leaving")
            if old is not None:
                del self._by_name[replica_name(shard, old.epoch)]
                if self._unstarted.pop(shard, None) is None:
                    for callback in self._on_close:
                        callback(old)
                # What is damaged may not be flushed.
                with suppress(DamagedError):
                    await old.close()
            await self.files.remove(self._loop, shard, Note(epoch, past=True))
        except _UNOPENED as error:
            _log.error(
                "cannot remove the data of shard %s, which has moved: %s",
                shard,
                error,
                extra={"shard": str(shard)},
            )
            return
        finally:
            del self._changing[shard]
        _log.info("shard %s has left this node", shard, extra={"shard": str(shard)})
        # It may have come back meanwhile.
        self._changed()

    def _break(self, shard: ShardId, error: Exception) -> None:
        self.broken[shard] = error
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

    # Recovery.

    async def _recover(self, shard: ShardId, row: ShardRow) -> None:
        """Move this replica from its history to the one in the row, and open it."""
        self.unopened.discard(shard)
        old = self._shards.pop(shard, None)
        self._unstarted.pop(shard, None)
        self.broken.pop(shard, None)
        if old is not None:
            del self._by_name[replica_name(shard, old.epoch)]
        _log.warning(
            "shard %s was recovered %s %s: its replica here starts again",
            shard,
            "without rows at" if row.origin.empty else "from",
            row.origin.node,
            extra={"shard": str(shard)},
        )
        try:
            # After a power loss the row must not be missing while its shard is in the old history.
            await self._loop.run_in_executor(None, self._shards[METADATA].data.sync)
            if old is not None:
                await old.close()
            await self._loop.run_in_executor(None, self.files.recover, shard, row)
            self.files.leave(shard, row.origin.epoch)
        except _UNOPENED as error:
            self._break(shard, error)
            return
        finally:
            del self._changing[shard]
        self._changed()

    # Following metadata/0.

    def _follow(self) -> None:
        if self._stopped:
            return
        if self._read_rows():
            try:
                check_configured(self._configured, self._rows)
                self.check_levels(self.levels)
            except (GroupsDifferError, ReleaseTooOldError) as error:
                self._failed(error)
                return
            self._open_in_turns()
            self._leave_moved()
            for shard in self._shards.values():
                self._look_at_changes(shard)
        self._look_at_changes(self._shards[METADATA])
        if self._changes is not None:
            self._changes.look()

    def _look_at_changes(self, shard: Shard) -> None:
        if self._changes is not None:
            self._changes.look_at(shard)
        # A snapshot may have led past the cut.
        self._look_at_uncut(shard.id)

    def _look_at_uncut(self, shard: ShardId) -> None:
        """Open the shards that are made of a shard, if they can be opened now."""
        if shard in self._uncut:
            self._uncut.discard(shard)
            self._open_members()

    def _applied(self, shard: Shard, _: int) -> None:
        self._look_at_changes(shard)

    def _read_rows(self) -> bool:
        """Read `core.shards` if it may have changed, and return whether it was read."""
        metadata = self._shards[METADATA]
        changes = metadata.applier.cluster_changes
        if changes == self._changes_read:
            return False
        self._changes_read = changes
        stored = metadata.data.iterate(SHARDS, b"", None)
        rows = [ShardRow.FromString(value_of(row)) for _, row in stored]
        self._rows = {ShardId(row.group, row.number): row for row in rows}
        stored = metadata.data.iterate(LEVELS, b"", None)
        self.levels = levels.by_feature(FeatureLevel.FromString(value_of(row)) for _, row in stored)
        self._slot_map = SlotMap(metadata.revision, rows)
        self._leading = None
        for callback in self._on_map:
            callback()
        return True
