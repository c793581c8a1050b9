"""Nodes, each a machine with a disk, a clock and at most one process, and the ways between them."""

from asyncio import _get_running_loop
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Final

from quorate.consensus.messages import Peer
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import even_cut, slots_in

from tests.support.sim.disk import Disk
from tests.support.sim.facts import Fact
from tests.support.sim.hosted import Hosted
from tests.support.sim.hosting import Hosting
from tests.support.sim.journal import Tell
from tests.support.sim.loop import Clock
from tests.support.sim.network import Network, Packet
from tests.support.sim.process import Process
from tests.support.sim.profile import Profile
from tests.support.sim.world import World


class Node:
    """One machine."""

    def __init__(self, name: str, cluster: "Cluster") -> None:
        self.name: Final = name
        self._cluster: Final = cluster
        self._rng: Final = cluster.world.rng(f"node/{name}")
        self._lives = 0
        self.clock: Final = Clock(cluster.world)
        self.disk = Disk(name, cluster.shards, self._rng)
        self.process: Process | None = None

    def start(self) -> None:
        """Start its process, unless one runs."""
        if self.process is None:
            self._lives += 1
            life = f"{self.name}/{self._lives}"
            self.process = self._cluster.new_process(self.disk, self.clock, life, self._rng)
            self.process.start()

    def kill(self) -> None:
        """End its process: what it wrote is in the page cache."""
        if self.process is not None:
            self._end()
            self.disk.kill()

    def lose_power(self) -> None:
        """End its process and lose of what is not durable any end."""
        self._end()
        self.disk.lose_power(self._rng)

    def empty(self) -> None:
        """End its process and replace its disk by a new one."""
        self._end()
        self.disk = Disk(self.name, self._cluster.shards, self._rng)

    def _end(self) -> None:
        if self.process is not None:
            self.process.end()
            self.process = None
            self._cluster.network.process_ended(self.name)


class Cluster:
    """All nodes; what is asked of it by clients and faults, and by the processes in it."""

    def __init__(self, world: World, profile: Profile, tell: Tell, hosting: Hosting) -> None:
        self.hosting: Final = hosting
        self.world: Final = world
        self.profile: Final = profile
        self._tell: Final = tell
        numbers = range(profile.shards)
        self.shards = tuple(str(ShardId(hosting.group, number)) for number in numbers)
        #: The slots that each shard is to own, and as their bitmap.
        self.bitmaps: Final = dict(zip(self.shards, even_cut(profile.shards), strict=True))
        self.slots: Final = {name: frozenset(slots_in(each)) for name, each in self.bitmaps.items()}
        names = tuple(f"n{number}" for number in range(profile.nodes + profile.spares))
        self.initial_members: Final = names[: profile.nodes]
        self.network: Final = Network(world, profile, names, self._deliver, self._remade)
        self.counts: Final[Counter[str]] = Counter()
        self._numbers = 0
        self.nodes: Final = {name: Node(name, self) for name in names}

    def new_process(self, disk: Disk, clock: Clock, life: str, rng: Random) -> Process:
        """Return the next life of a node."""
        return Process(self, disk, clock, life, rng)

    def start(self) -> None:
        """Start every node."""
        for node in self.nodes.values():
            node.start()

    @property
    def formed(self) -> bool:
        """Whether every initial member wrote the first entry."""
        return all(self.nodes[name].disk.first_entry for name in self.initial_members)

    def replicas(self, shard: str) -> list[Hosted]:
        """Return the replicas of a shard that run, in the order of their nodes."""
        return [
            node.process.hosted[shard]
            for node in self.nodes.values()
            if node.process is not None and shard in node.process.hosted
        ]

    def leader(self, shard: str) -> Hosted | None:
        """Return the replica that leads in the latest term, if any does."""
        leaders = [hosted for hosted in self.replicas(shard) if hosted.leads]
        return max(leaders, key=lambda hosted: hosted.term, default=None)

    @property
    def running(self) -> Process | None:
        """The process whose code runs right now."""
        loop = _get_running_loop()
        processes = (node.process for node in self.nodes.values())
        return next((each for each in processes if each is not None and each.loop is loop), None)

    def next_number(self) -> int:
        """Return a number that nothing else of this run gets."""
        self._numbers += 1
        return self._numbers

    # What processes ask.

    def send(self, source: str, target: str, packet: Packet) -> None:
        """Put a packet on its way."""
        self.network.send(source, target, packet)

    def tell(self, fact: Fact) -> None:
        """Make a fact known."""
        self._tell(fact)

    def process_of(self, peer: Peer) -> Process | None:
        """Return the process that runs on the disk of a replica."""
        node = self.nodes.get(peer.node)
        process = None if node is None else node.process
        return None if process is None or process.disk.peer != peer else process

    # What the network asks.

    def _deliver(self, target: str, packet: Packet) -> None:
        process = self.nodes[target].process
        if process is not None:
            process.loop.run(process.receive, packet)

    def _remade(self, source: str, target: str, opened: Callable[[], None]) -> None:
        process = self.nodes[source].process
        if process is None or self.nodes[target].process is None:
            return

        def reopen() -> None:
            opened()
            process.remade(target)

        process.loop.post(0.0, reopen)
