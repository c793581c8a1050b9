"""Who looks after the members of shards, and moves leadership about."""

from typing import Final

from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.consensus.refusals import ChangeRefusedError, NotLeaderError, TransferRefusedError

from tests.support.sim.cluster import Cluster
from tests.support.sim.hosted import Hosted


class Operator:
    """Replaces lost members, and, when asked, changes members and leaders that are well."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster: Final = cluster
        self._rng: Final = cluster.world.rng("operator")

    def start(self) -> None:
        """Look after the members every now and then."""
        self._cluster.world.at(0.2, self._look_after)

    @property
    def all_replaced(self) -> bool:
        """Whether every disk that was lost before is replaced, for good, in every shard."""
        nodes = self._cluster.nodes.values()
        alive = {node.disk.peer for node in nodes}
        if any(node.process is None or not node.process.hosted for node in nodes):
            return False
        for shard in self._cluster.shards:
            leader = self._cluster.leader(shard)
            configuration = leader.replica.log.configuration if leader else None
            if leader is None or configuration is None or not set(configuration.peers) <= alive:
                return False
            noop, commit = leader.replica.noop_index, leader.replica.commit
            if noop is None or commit < max(noop, leader.replica.log.configuration_index):
                return False
            if len(configuration.voters) < 3:
                return False
        return True

    def transfer(self) -> None:
        """Ask some leader to hand over to some voter."""
        leader = self._cluster.leader(self._rng.choice(self._cluster.shards))
        if leader is None or leader.process.paused or leader.replica.log.configuration is None:
            return
        target = self._rng.choice(leader.replica.log.configuration.voters)
        self._hand_over(leader, target.node)

    def transfer_to(self, shard: str, node: str) -> None:
        """Ask the leader of a shard to hand over to a node."""
        leader = self._cluster.leader(shard)
        if leader is not None and not leader.process.paused:
            self._hand_over(leader, node)

    def _hand_over(self, leader: Hosted, node: str) -> None:
        try:
            leader.shard.transfer(node)
        except (TransferRefusedError, NotLeaderError):
            return
        self._cluster.counts["transfers"] += 1

    def change(self) -> None:
        """Let some member go, come, or change its part."""
        leader = self._cluster.leader(self._rng.choice(self._cluster.shards))
        if leader is None or leader.process.paused or leader.replica.log.configuration is None:
            return
        node = self._cluster.nodes[self._rng.choice(sorted(self._cluster.nodes))]
        members = leader.replica.log.configuration.members
        mine = next((each for each in members if each.peer.node == node.name), None)
        if mine is None:
            self._propose(leader, (*members, Member(node.disk.peer, voter=False)))
        elif not mine.voter:
            self._propose(leader, _with(members, Member(mine.peer)))
        elif len(members) > 3 and mine.peer != leader.replica.me:
            self._propose(leader, _without(members, mine.peer))

    def _look_after(self) -> None:
        for shard in self._cluster.shards:
            leader = self._cluster.leader(shard)
            if leader is not None and not leader.process.paused:
                self._repair(leader)
        self._cluster.world.at(self._rng.uniform(0.1, 0.3), self._look_after)

    def _repair(self, leader: Hosted) -> None:
        configuration = leader.replica.log.configuration
        if configuration is None:
            return
        members = configuration.members
        for member in members:
            now = self._cluster.nodes[member.peer.node].disk.peer
            if now != member.peer:
                learner = Member(now, voter=False)
                self._propose(leader, (*_without(members, member.peer), learner))
                return
        missing = len(configuration.voters) < self._cluster.profile.nodes
        for member in members:
            if missing and not member.voter:
                self._propose(leader, _with(members, Member(member.peer)))
                return
        for name in self._cluster.initial_members:
            if missing and configuration.peer_of(name) is None:
                back = Member(self._cluster.nodes[name].disk.peer, voter=False)
                self._propose(leader, (*members, back))
                return

    def _propose(self, leader: Hosted, members: tuple[Member, ...]) -> None:
        try:
            leader.shard.change_membership(Configuration.of(members))
        except (ChangeRefusedError, NotLeaderError, ValueError):
            return
        self._cluster.counts["membership changes"] += 1


def _without(members: tuple[Member, ...], peer: Peer) -> tuple[Member, ...]:
    return tuple(member for member in members if member.peer != peer)


def _with(members: tuple[Member, ...], changed: Member) -> tuple[Member, ...]:
    return (*_without(members, changed.peer), changed)
