"""A simulated process: the replicas of one node, from its start to its end."""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Final, Protocol

from quorate.consensus.driver import Driver
from quorate.consensus.formation import Formation, FormationRefusedError, Introduction
from quorate.consensus.inherited import LEADER
from quorate.consensus.journal import JournalDamagedError, Position
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import AppendReply, Entry, Message, Peer
from quorate.consensus.proposals import Fate, Proposals
from quorate.consensus.reads import ReadOutcome
from quorate.consensus.refusals import NotLeaderError, ReplicaStoppedError
from quorate.consensus.replica import Replica
from quorate.storage.engine.memory import MemoryEngine
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.sync_loop import SyncLoop
from quorate.testing.sim import facts
from quorate.testing.sim.disk import Disk
from quorate.testing.sim.journal import ObservedJournal
from quorate.testing.sim.loop import Clock, VirtualLoop
from quorate.testing.sim.machine import Snapshot, Store
from quorate.testing.sim.network import Parcel
from quorate.testing.sim.profile import Profile
from quorate.testing.sim.world import World

#: How often a new node says who it is.
_INTRODUCTION_S: Final = 0.05

Served = Callable[[int | None], None]


class Surroundings(Protocol):
    """What a process needs of the cluster around it."""

    @property
    def world(self) -> World:
        """The time, and the seed of every draw."""

    @property
    def profile(self) -> Profile:
        """What the run is like."""

    @property
    def initial_members(self) -> tuple[str, ...]:
        """The nodes that form the cluster."""

    def tell(self, fact: facts.Fact) -> None:
        """Make a fact known."""

    def send(self, source: str, target: str, parcel: Parcel) -> None:
        """Put a parcel on its way."""

    def send_snapshot(self, source: "Process", shard: str, target: Peer, copy: Snapshot) -> None:
        """Put a snapshot on its way, or say that it was given up."""

    def next_token(self) -> int:
        """Return a number for a read that no other ever gets."""


class ObservedDriver(Driver):
    """The driver of real processes, with the replica's state looked at after each step."""

    def __init__(self, hosted: "Hosted", replica: Replica, loop: VirtualLoop) -> None:
        super().__init__(replica, hosted, loop)
        self._hosted: Final = hosted

    def call(self, act: Callable[[], object]) -> None:
        """Give something to the replica."""
        super().call(act)
        self._hosted.observe()

    def _take_turn(self) -> None:
        super()._take_turn()
        self._hosted.observe()


class Hosted:
    """One replica in a process: implements the `Host` of its driver."""

    def __init__(self, process: "Process", shard: str, journal: ObservedJournal) -> None:
        self.shard: Final = shard
        self.journal: Final = journal
        self.process: Final = process
        self.store: Final[Store] = process.disk.stores[shard]
        self.proposals: Final = Proposals()
        self._tell: Final = process.around.tell
        self._reads: Final[dict[int, Served]] = {}
        #: Reads whose index is known and not applied yet.
        self._waiting: list[tuple[int, Served]] = []
        profile = process.around.profile
        self.replica: Final = Replica(
            process.disk.peer,
            journal,
            applied=self.store.applied,
            stored=self.store.stored,
            clock=process.clock,
            rng=process.around.world.rng(f"replica/{process.life}/{shard}"),
            timing=profile.timing,
            limits=profile.limits,
        )
        self._seen: tuple[object, ...] = ()
        self._seen_commit = self.replica.commit
        self._led = False
        self.driver: Final = ObservedDriver(self, self.replica, process.loop)

    # What the process asks.

    def propose(
        self, payload: bytes, waiter: Callable[[Fate, object], None], term: int | None = None
    ) -> bool:
        """Propose a command; False where this replica does not lead, or not in that term."""
        try:
            proposed = self.replica.propose(payload, term)
        except NotLeaderError:
            return False
        if term is not None:
            self._tell(facts.Fenced(self.shard, self.replica.me, term, proposed.term))
        self.proposals.add(proposed, waiter)
        self.driver.wake()
        return True

    def read(self, served: Served) -> None:
        """Serve a linearizable read with the index that was applied, or None."""
        token = self.process.around.next_token()
        self._reads[token] = served
        self.driver.call(partial(self.replica.read_index, token))

    def install(self, copy: Snapshot) -> bool:
        """Put a snapshot in the place of the state machine, unless it is not ahead of it."""
        if copy.configuration is None:
            raise ValueError("a snapshot knows its configuration")
        taken = False
        configuration = copy.configuration

        def act() -> None:
            nonlocal taken
            self.journal.installs = configuration
            taken = self.replica.snapshot_installed(copy.position, configuration)
            if taken:
                self.store.install(copy)
                self._tell(
                    facts.Installed(
                        self.shard, self.replica.me, copy.position, copy.digest, copy.count
                    )
                )
                self.proposals.overtaken(copy.position.index)
                self._serve_reads()

        self.driver.call(act)
        return taken

    def observe(self) -> None:
        """Tell what changed since the last look."""
        replica = self.replica
        leads = replica.role == LEADER
        configuration = replica.log.configuration
        seen = (leads, replica.term, replica.commit, replica.applied, configuration)
        if seen == self._seen:
            return
        self._seen = seen
        me = replica.me
        self._tell(facts.Seen(self.shard, me, *seen))
        if leads and not self._led:
            self._tell(facts.Elected(self.shard, me, replica.term, replica.log.term_of))
        self._led = leads
        if replica.commit != self._seen_commit:
            first = max(self._seen_commit + 1, replica.log.first_index)
            self._seen_commit = replica.commit
            last = min(replica.commit, replica.log.last.index)
            if first <= last and configuration is not None:
                entries = tuple(replica.log.slice(first, last, 1 << 30))
                self._tell(
                    facts.Committed(self.shard, me, leads, replica.term, configuration, entries)
                )

    # What the driver asks.

    def send(self, messages: Sequence[Message]) -> None:
        """Put messages on their way."""
        around, node = self.process.around, self.replica.me.node
        for message in messages:
            self._tell(facts.Sent(self.shard, self.replica.me, message))
            around.send(node, message.target.node, Parcel(self.shard, message))

    def sync(self) -> None:
        """See to it that what was written becomes durable."""
        self.process.sync.request()

    def apply(self, entries: Sequence[Entry]) -> None:
        """Apply entries, then answer who proposed them."""
        me = self.replica.me
        states = self.store.apply(entries)
        for entry, state in zip(entries, states, strict=True):
            self._tell(facts.Applied(self.shard, me, entry, state.count, state.digest))
        self._serve_reads()
        for entry in entries:
            self.proposals.applied(entry.index, entry.term, entry.index)

    def reads(self, outcomes: Sequence[ReadOutcome]) -> None:
        """Let answered reads wait until their index is applied."""
        for outcome in outcomes:
            served = self._reads.pop(outcome.token, None)
            if served is None:
                continue
            if outcome.index is None:
                served(None)
            else:
                self._waiting.append((outcome.index, served))
        self._serve_reads()

    def snapshots_needed(self, peers: Sequence[Peer]) -> None:
        """Send a copy of the state machine to each."""
        for peer in peers:
            self.process.around.send_snapshot(self.process, self.shard, peer, self.store.now)

    def stopped(self, error: Exception) -> None:
        """Tell that the replica stopped."""
        self._tell(facts.Stopped(self.shard, self.replica.me, error))

    def _serve_reads(self) -> None:
        applied = self.store.applied
        ready = [served for index, served in self._waiting if index <= applied]
        if ready:
            self._waiting = [wait for wait in self._waiting if wait[0] > applied]
            for served in ready:
                served(applied)


class Process:
    """One life of a node."""

    def __init__(
        self, around: Surroundings, disk: Disk, clock: Clock, life: str, rng: Random
    ) -> None:
        self.around: Final = around
        self.disk: Final = disk
        self.clock: Final = clock
        self.life: Final = life
        self.hosted: Final[dict[str, Hosted]] = {}
        self.sync_s = around.profile.sync_s
        self._rng: Final = rng
        self._formation: Formation | None = None
        self.loop: Final = VirtualLoop(  # type: ignore[abstract]
            around.world, clock, self._begin_sync
        )
        self._log: Final = NodeLog(MemoryEngine(disk.log, (FAMILY,)), disk.witnesses)
        self.sync: Final = SyncLoop(self._log, self.loop, self._synced, self._failed)
        self._alive = True
        self.paused = False

    def start(self) -> None:
        """Open the replicas, or find the others to form a cluster with."""
        self.loop.post(self._rng.random() * self.around.profile.compaction_s, self._compact)
        if self.disk.first_entry is None and not self.disk.waits:
            try:
                self._formation = Formation(self.disk.peer, self.around.initial_members)
            except FormationRefusedError:
                self.disk.waits = True
            else:
                self._settle(self._formation.settled())
                self._introduce()
                return
        self._open()

    def end(self) -> None:
        """End, without a chance to do anything more."""
        self._alive = False
        self.loop.end()

    def pause(self) -> None:
        """Stop, as SIGSTOP does."""
        self.paused = True
        self.loop.pause()

    def resume(self) -> None:
        """Go on."""
        self.paused = False
        self.loop.resume()

    def clock_changed(self) -> None:
        """Look at the clock again."""
        for hosted in self.hosted.values():
            hosted.driver.wake()

    def receive(self, parcel: Parcel) -> None:
        """Take what came in."""
        content = parcel.content
        if isinstance(content, Introduction):
            self._introduced(content)
        elif parcel.shard in self.hosted:
            hosted = self.hosted[parcel.shard]
            if isinstance(content.body, AppendReply):
                self.around.tell(facts.Answered(hosted.shard, hosted.replica.me, content))
            hosted.driver.call(partial(hosted.replica.receive, content))

    def remade(self, node: str) -> None:
        """Take note that the bulk stream to a node is a new one."""
        for hosted in self.hosted.values():
            hosted.driver.call(partial(hosted.replica.bulk_remade, node))

    # Formation.

    def _introduce(self) -> None:
        if self._formation is None:
            return
        for member in self.around.initial_members:
            if member != self.disk.peer.node:
                said = Parcel("", self._formation.introduction())
                self.around.send(self.disk.peer.node, member, said)
        self.loop.post(_INTRODUCTION_S, self._introduce)

    def _introduced(self, other: Introduction) -> None:
        if self._formation is not None:
            try:
                self._settle(self._formation.heard(other))
            except FormationRefusedError:
                self.disk.waits = True
                self._formation = None
                self._open()
        elif self.disk.first_entry is not None and not other.first_entry:
            known = Introduction(self.disk.peer, self.around.initial_members, self.disk.first_entry)
            self.around.send(self.disk.peer.node, other.peer.node, Parcel("", known))

    def _settle(self, first: Configuration | None) -> None:
        if first is not None:
            # A new node goes on telling who it is until all the others have heard it.
            self.disk.first_entry = first.encode()
            self._formation = None
            for member in self.around.initial_members:
                if member != self.disk.peer.node:
                    said = Introduction(
                        self.disk.peer, self.around.initial_members, self.disk.first_entry
                    )
                    self.around.send(self.disk.peer.node, member, Parcel("", said))
            self._open()

    # Replicas.

    def _open(self) -> None:
        for shard in self.disk.stores:
            try:
                hosted = self._open_shard(shard)
            except (JournalDamagedError, ReplicaStoppedError) as error:
                self.around.tell(facts.Stopped(shard, self.disk.peer, error))
                return
            self.hosted[shard] = hosted
            hosted.observe()
            hosted.driver.wake()

    def _open_shard(self, shard: str) -> Hosted:
        disk, store = self.disk, self.disk.stores[shard]
        by_install = store.installed == store.now.position
        journal = self._log.journal(shard, 0 if by_install else store.applied)
        observed = ObservedJournal(
            shard, disk.peer, journal, lambda: disk.log.position, self.around.tell
        )
        observed.opened(store)
        if store.installed is not None and _lacks(observed, store.installed):
            observed.installs = store.now.configuration
            observed.reset(store.installed)
        hosted = Hosted(self, shard, observed)
        replica = hosted.replica
        if replica.log.configuration is None and disk.first_entry is not None:
            replica.bootstrap(Configuration.decode(disk.first_entry))
        return hosted

    def _begin_sync(self, done: Callable[[], None]) -> None:
        position = self.disk.log.position
        low, high = self.sync_s
        self.around.world.at(self._rng.uniform(low, high), self._end_sync, position, done)

    def _end_sync(self, position: int, done: Callable[[], None]) -> None:
        if self._alive:
            self.disk.log.sync(position)
            for hosted in self.hosted.values():
                hosted.journal.synced(position)
            self.loop.post(0.0, done)

    def _synced(self, sequence: int) -> None:
        for hosted in self.hosted.values():
            hosted.driver.call(partial(hosted.replica.synced, sequence))

    def _failed(self, error: Exception) -> None:
        raise error

    def _compact(self) -> None:
        """Cut logs behind what was durably applied at the last look, then look again."""
        for hosted in self.hosted.values():
            cut = min(hosted.store.durable, hosted.store.applied - self.around.profile.tail)
            if cut > 0 and self._rng.random() < 0.7:
                hosted.driver.call(partial(hosted.replica.compact_to, cut))
            hosted.store.sync()
        self.loop.post(self.around.profile.compaction_s, self._compact)


def _lacks(journal: ObservedJournal, installed: Position) -> bool:
    """Tell whether a log lost that a snapshot was installed: the store's pointer file knows."""
    ahead = journal.sentinel.index <= installed.index
    return ahead and journal.term_of(installed.index) != installed.term
