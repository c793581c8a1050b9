"""The nodes of a cluster whose shards are split."""

from __future__ import annotations

from random import Random

from quorate.plugin.shard_id import METADATA
from quorate.shards.routing.slot_map import SlotMap

from tests.support.sim.cluster import Cluster
from tests.support.sim.disk import Disk
from tests.support.sim.hosted import Hosted
from tests.support.sim.journal import Tell
from tests.support.sim.loop import Clock
from tests.support.sim.process import Process
from tests.support.sim.profile import Profile
from tests.support.sim.splits.lists import HOSTING
from tests.support.sim.splits.process import SplitProcess
from tests.support.sim.world import World


class SplitCluster(Cluster):
    """Its shards are those of the newest slot map that any node has, and metadata/0."""

    def __init__(self, world: World, profile: Profile, tell: Tell) -> None:
        super().__init__(world, profile, tell, HOSTING)
        self._newest: SlotMap = SlotMap(0, ())
        self.shards = (str(METADATA),)

    def new_process(self, disk: Disk, clock: Clock, life: str, rng: Random) -> Process:
        """Return the next life of a node."""
        return SplitProcess(self, disk, clock, life, rng)

    def serving(self) -> list[SplitProcess]:
        """Return the nodes that would answer."""
        processes = (node.process for node in self.nodes.values())
        return [
            each
            for each in processes
            if isinstance(each, SplitProcess) and each.serves and not each.paused
        ]

    @property
    def slot_map(self) -> SlotMap:
        """The newest that any node has had."""
        return self._newest

    # What nodes tell.

    def mapped(self, process: SplitProcess) -> None:
        """Take note of a node's slot map."""
        found = process.shards.slot_map
        if found.revision >= self._newest.revision:
            self._newest = found
            self.shards = tuple(str(each) for each in found.all())

    def opened(self, hosted: Hosted) -> None:
        """Take note of a replica that a node opens."""
        self.counts["replicas opened"] += 1
