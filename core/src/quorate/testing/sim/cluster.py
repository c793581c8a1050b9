"""Nodes, each a machine with a disk, a clock and at most one process, and the ways between them."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final

from quorate.consensus.inherited import LEADER
from quorate.consensus.messages import Peer
from quorate.testing.sim.disk import Disk
from quorate.testing.sim.facts import Fact
from quorate.testing.sim.journal import Tell
from quorate.testing.sim.loop import Clock
from quorate.testing.sim.machine import Snapshot
from quorate.testing.sim.network import Network, Parcel
from quorate.testing.sim.process import Hosted, Process
from quorate.testing.sim.profile import Profile
from quorate.testing.sim.world import World


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
            self.process = Process(self._cluster, self.disk, self.clock, life, self._rng)
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

    def __init__(self, world: World, profile: Profile, tell: Tell) -> None:
        self.world: Final = world
        self.profile: Final = profile
        self._tell: Final = tell
        self.shards: Final = tuple(f"s{number}" for number in range(profile.shards))
        names = tuple(f"n{number}" for number in range(profile.nodes + profile.spares))
        self.initial_members: Final = names[: profile.nodes]
        self.network: Final = Network(world, profile, names, self._deliver, self._remade)
        self._rng: Final = world.rng("snapshots")
        self._tokens = 0
        self.counts: Final[Counter[str]] = Counter()
        self.nodes: Final = {name: Node(name, self) for name in names}

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
        leaders = [hosted for hosted in self.replicas(shard) if hosted.replica.role == LEADER]
        return max(leaders, key=lambda hosted: hosted.replica.term, default=None)

    # What processes ask.

    def send(self, source: str, target: str, parcel: Parcel) -> None:
        """Put a parcel on its way."""
        self.network.send(source, target, parcel)

    def tell(self, fact: Fact) -> None:
        """Make a fact known."""
        self._tell(fact)

    def next_token(self) -> int:
        """Return a number for a read that no other ever gets."""
        self._tokens += 1
        return self._tokens

    def send_snapshot(self, source: Process, shard: str, target: Peer, copy: Snapshot) -> None:
        """Send a copy of a state machine; it takes its time, and may be cut on its way."""
        delay = self._rng.uniform(0.01, 0.25)
        cut = not self.network.quiet and self._rng.random() < self.profile.faults.cut_snapshot
        self.counts["snapshots sent"] += 1
        self.world.at(delay, self._end_transfer, source, shard, target, copy, cut)

    def _end_transfer(
        self, source: Process, shard: str, target: Peer, copy: Snapshot, cut: bool
    ) -> None:
        sender = source.disk.peer.node
        if cut or target.node not in self.nodes or self.network.is_cut(sender, target.node):
            self._give_up(source, shard, target)
            if cut and self._rng.random() < 0.5:
                # All of it went out, and only the sender does not know.
                delay = self._rng.uniform(0.05, 1.0)
                self.world.at(delay, self._arrive, source, shard, target, copy)
            return
        self._arrive(source, shard, target, copy)

    def _arrive(self, source: Process, shard: str, target: Peer, copy: Snapshot) -> None:
        if target.node not in self.nodes:
            return
        process = self.nodes[target.node].process
        if process is None or process.disk.peer != target or shard not in process.hosted:
            self._give_up(source, shard, target)
            return

        def install() -> None:
            if process.hosted[shard].install(copy):
                self.counts["snapshots installed"] += 1
            else:
                self._give_up(source, shard, target)

        # Its files are made durable first.
        process.loop.post(self._rng.uniform(*self.profile.sync_s), install)

    def _give_up(self, source: Process, shard: str, target: Peer) -> None:
        def give_up() -> None:
            hosted = source.hosted[shard]
            hosted.driver.call(partial(hosted.replica.snapshot_given_up, target.node))

        self.counts["snapshots given up"] += 1
        source.loop.post(0.0, give_up)

    # What the network asks.

    def _deliver(self, target: str, parcel: Parcel) -> None:
        process = self.nodes[target].process
        if process is not None:
            process.loop.post(0.0, process.receive, parcel)

    def _remade(self, source: str, target: str, opened: Callable[[], None]) -> None:
        process = self.nodes[source].process
        if process is None or self.nodes[target].process is None:
            return

        def reopen() -> None:
            opened()
            process.remade(target)

        process.loop.post(0.0, reopen)
