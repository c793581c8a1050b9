"""A simulated process: the replicas of one node, from its start to its end."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, Final, Protocol

from quorate.consensus.formation import Formation, FormationRefusedError, Introduction
from quorate.consensus.journal import JournalDamagedError
from quorate.consensus.liveness import Liveness
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Alive, AppendReply, Message, Peer
from quorate.consensus.refusals import ReplicaStoppedError
from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.context import ShardHooks
from quorate.shards.shard.shard import Shard
from quorate.shards.snapshots.queue import SnapshotQueue, SnapshotReceiver
from quorate.shards.watching.feeds import Feed
from quorate.shards.watching.watches import Watches
from quorate.storage.engine.memory import MemoryDisk, MemoryEngine
from quorate.storage.engine.port import EngineError
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.sync_loop import SyncLoop

from tests.support.sim import facts
from tests.support.sim.data import ObservedData
from tests.support.sim.disk import Disk
from tests.support.sim.hosted import Hosted
from tests.support.sim.hosting import Hosting
from tests.support.sim.journal import ObservedJournal
from tests.support.sim.loop import Clock, VirtualLoop, VirtualThread
from tests.support.sim.network import Network, Packet
from tests.support.sim.profile import Profile
from tests.support.sim.transfers import Transfer, Transfers
from tests.support.sim.world import World

#: How often a new node says who it is.
_INTRODUCTION_S: Final = 0.05
#: Stands for the name of a shard in the heartbeats of nodes.
_NODE: Final = "*"
#: What watch tokens name.
CLUSTER: Final = b"simulated"
#: What wall clocks show when a run begins.
_EPOCH_MS: Final = 1_000_000


class Surroundings(Protocol):
    """What a process needs of the cluster around it."""

    @property
    def world(self) -> World:
        """The time, and the seed of every draw."""

    @property
    def profile(self) -> Profile:
        """What the run is like."""

    @property
    def hosting(self) -> Hosting:
        """What every node hosts."""

    @property
    def initial_members(self) -> tuple[str, ...]:
        """The nodes that form the cluster."""

    @property
    def network(self) -> Network:
        """The ways between nodes."""

    @property
    def counts(self) -> Counter[str]:
        """What is counted for the report."""

    def tell(self, fact: facts.Fact) -> None:
        """Make a fact known."""

    def send(self, source: str, target: str, packet: Packet) -> None:
        """Put a packet on its way."""

    def process_of(self, peer: Peer) -> "Process | None":
        """Return the process that runs on the disk of a replica."""


def _nowhere(shard: ShardId, *_: object) -> Feed:
    """Every node of a simulated cluster has a replica of every shard."""
    raise LookupError(f"there is no {shard} here")


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
            around.world, clock, self._begin_work, self._observe
        )
        self._log: Final = NodeLog(MemoryEngine(disk.log, (FAMILY,)), disk.witnesses)
        self.sync: Final = SyncLoop(
            self._log, self.loop, self._synced, self._failed, thread=VirtualThread(self.loop)
        )
        self._journals: Final[list[ObservedJournal]] = []
        self._alive = True
        self.paused = False
        #: Its disk was found to be an older copy of itself: it must begin anew.
        self.gives_up = False
        #: What was begun by senders of snapshots.
        self.connections: Final[list[Transfer]] = []
        timing = around.profile.timing
        #: The heartbeats of nodes; None: shards never rest.
        self.liveness: Final = (
            Liveness(clock, timing, around.world.rng(f"epoch/{life}").getrandbits(61), self._say)
            if around.profile.rests
            else None
        )
        settings = around.profile.snapshot_settings()
        self.snapshots: Final = SnapshotQueue(
            Transfers(self, around, rng), loop=self.loop, settings=settings
        )
        self.receiver: Final = SnapshotReceiver(self._shard, loop=self.loop, settings=settings)
        self.watches = Watches(
            CLUSTER,
            self._shard,
            _nowhere,
            loop=self.loop,
            settings=around.profile.watch_settings(),
        )

    def hooks(self, hosted: "Hosted") -> ShardHooks:
        """Return the calls of a replica to this process."""
        return ShardHooks(
            send=hosted.send,
            request_sync=lambda _: self.sync.request(),
            send_snapshots=self.snapshots.needed,
            stopped=hosted.stopped,
        )

    def start(self) -> None:
        """Open the replicas, or find the others to form a cluster with."""
        if self.liveness is not None:
            self._beat(self.liveness)
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

    def has_ended(self) -> bool:
        """Return whether it runs no more."""
        return not self._alive

    def wall_ms(self) -> int:
        """Return what the machine's wall clock shows."""
        return _EPOCH_MS + int(self.clock() * 1_000)

    def end(self) -> None:
        """End, without a chance to do anything more."""
        self._alive = False
        self.loop.end()
        for connection in self.connections:
            connection.reset()

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
            # There is no such way; it only makes the replica look.
            hosted.shard.remade("")

    def receive(self, packet: Packet) -> None:
        """Take what came in."""
        content = packet.content
        if isinstance(content, Introduction):
            self._introduced(content)
        elif isinstance(content.body, Alive):
            if self.liveness is not None:
                self.liveness.hear(content.source.node, content.body.epoch)
        elif packet.shard in self.hosted:
            hosted = self.hosted[packet.shard]
            if isinstance(content.body, AppendReply):
                self.around.tell(facts.Answered(hosted.name, hosted.peer, content))
            hosted.shard.receive(content, alone=True)
        else:
            self._receive_for(packet.shard, content)

    def _receive_for(self, shard: str, message: Message) -> None:
        """Take a message to a replica that is not open."""

    def remade(self, node: str) -> None:
        """Record that the bulk stream to a node is a new one."""
        for hosted in self.hosted.values():
            hosted.shard.remade(node)

    def _beat(self, liveness: Liveness) -> None:
        liveness.beat()
        self.loop.post(self.around.profile.timing.heartbeat_s, self._beat, liveness)

    def _say(self, epoch: int) -> None:
        """Tell every other node that this one lives."""
        me = self.disk.peer
        for node in self.around.network.nodes:
            if node != me.node:
                beat = Message(me, Peer(node, 0), 0, 0, Alive(epoch))
                self.around.send(me.node, node, Packet(_NODE, beat))

    # Formation.

    def _introduce(self) -> None:
        if self._formation is None:
            return
        for member in self.around.initial_members:
            if member != self.disk.peer.node:
                said = Packet("", self._formation.introduction())
                self.around.send(self.disk.peer.node, member, said)
        self.loop.post(_INTRODUCTION_S, self._introduce)

    def _introduced(self, other: Introduction) -> None:
        if self._formation is not None:
            try:
                self._settle(self._formation.receive(other))
            except FormationRefusedError:
                self.disk.waits = True
                self._formation = None
                self._open()
        elif self.disk.first_entry is not None and not other.first_entry:
            known = Introduction(self.disk.peer, self.around.initial_members, self.disk.first_entry)
            self.around.send(self.disk.peer.node, other.peer.node, Packet("", known))

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
                    self.around.send(self.disk.peer.node, member, Packet("", said))
            self._open()

    # Replicas.

    def open_journal(self, shard: str, data: ObservedData, applied: int) -> ObservedJournal:
        """Open the part of a shard in the node's log."""
        disk = self.disk
        opened = ObservedJournal(
            shard,
            disk.peer,
            self._log.journal(shard, applied),
            data,
            lambda: disk.log.position,
            self.around.tell,
        )
        self._journals.append(opened)
        return opened

    def _open(self) -> None:
        first = self.disk.first_entry
        for name in self.disk.homes:
            try:
                hosted = Hosted.open(self, name)
                hosted.shard.start(None if first is None else Configuration.decode(first))
            except (JournalDamagedError, ReplicaStoppedError, EngineError) as error:
                self.around.tell(facts.Stopped(name, self.disk.peer, error))
                return
            self.hosted[name] = hosted
            hosted.observe()

    def _shard(self, shard: ShardId) -> Shard | None:
        hosted = self.hosted.get(str(shard))
        return None if hosted is None else hosted.shard

    def _observe(self) -> None:
        for hosted in self.hosted.values():
            hosted.observe()

    # What threads do.

    def _begin_work(
        self, executor: object, work: Callable[[], Any]
    ) -> tuple[float, Callable[[], Any]]:
        bounds = [(disk, disk.position) for disk in self.disk.databases]
        takes = self._rng.uniform(*self.sync_s)
        if executor is None:
            # What the log waits for is slow; most of the rest only reads and writes.
            takes /= 4
        return takes, partial(self._end_work, bounds, work)

    def _end_work(self, bounds: list[tuple[MemoryDisk, int]], work: Callable[[], Any]) -> Any:
        """Do it, and promise nothing for what was written while it went on."""
        for disk, position in bounds:
            disk.sync_bound = position
        try:
            return work()
        finally:
            for disk, _ in bounds:
                disk.sync_bound = None
            for journal in self._journals:
                journal.synced(self.disk.log.synced)

    def _synced(self, sequence: int) -> None:
        for hosted in self.hosted.values():
            hosted.shard.synced(sequence)

    def _failed(self, error: Exception) -> None:
        raise error
