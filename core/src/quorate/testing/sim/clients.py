"""What people do to a cluster: propose, read, hand leadership over, and change its members."""

from collections.abc import Callable
from functools import partial
from typing import Final

from quorate.consensus.inherited import LEADER
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Peer
from quorate.consensus.proposals import Fate
from quorate.consensus.refusals import ChangeRefusedError, NotLeaderError, TransferRefusedError
from quorate.testing.sim import facts
from quorate.testing.sim.cluster import Cluster
from quorate.testing.sim.process import Hosted

#: How often, per second, they do anything once they were asked to be gentle.
_GENTLE: Final = 8.0
#: Clients wait while so many entries are not committed.
_BACKLOG: Final = 60


class Clients:
    """Propose unique payloads and read, at any replica that they take for the leader."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster: Final = cluster
        self._rng: Final = cluster.world.rng("clients")
        self._proposed = 0
        self._reads = 0
        #: Ask for less than the slowest cluster can do, so that whoever lags catches up.
        self.gentle = False
        #: Ask for nothing any more.
        self.silent = False
        #: The shards that acknowledged something since this was last emptied.
        self.served: Final[set[str]] = set()

    def start(self) -> None:
        """Begin to propose and to read, for as long as the world goes on."""
        profile = self._cluster.profile
        if profile.proposals:
            self._cluster.world.at(0.0, self._go_on, profile.proposals, self._propose)
        if profile.fenced:
            self._cluster.world.at(0.0, self._go_on, profile.fenced, self._think_of_a_proposal)
        if profile.reads:
            self._cluster.world.at(0.0, self._go_on, profile.reads, self._read)

    def _go_on(self, rate: float, act: Callable[[], None]) -> None:
        if self.silent:
            return
        act()
        now = min(rate, _GENTLE) if self.gentle else rate
        self._cluster.world.at(self._rng.expovariate(now), self._go_on, rate, act)

    def _awake(self, shard: str) -> list[Hosted]:
        return [each for each in self._cluster.replicas(shard) if not each.process.paused]

    def _propose(self) -> None:
        shard = self._rng.choice(self._cluster.shards)
        leaders = [each for each in self._awake(shard) if each.replica.role == LEADER]
        if not leaders:
            return
        leader = self._rng.choice(leaders)
        if leader.replica.log.last.index - leader.replica.commit > _BACKLOG:
            return
        # Now and then a burst, so that windows fill up and appends carry several entries.
        for _ in range(1 if self.gentle or self._rng.random() < 0.9 else 12):
            self._proposed += 1
            size = self._rng.choice((8, 8, 20, 60, 250))
            payload = b"%s %d " % (shard.encode(), self._proposed)
            payload = payload.ljust(size, b".")
            if not leader.propose(payload, partial(self._proposal_ended, leader, payload)):
                return
            self._cluster.counts["proposals"] += 1

    def _think_of_a_proposal(self) -> None:
        """Decide on something as a controller does: it is proposed later, for this term alone."""
        shard = self._rng.choice(self._cluster.shards)
        leaders = [each for each in self._awake(shard) if each.replica.role == LEADER]
        if leaders:
            leader = self._rng.choice(leaders)
            later = self._rng.uniform(0.05, 1.5)
            self._cluster.world.at(later, self._propose_fenced, leader, leader.replica.term)

    def _propose_fenced(self, leader: Hosted, term: int) -> None:
        if leader not in self._awake(leader.shard):
            return
        self._proposed += 1
        payload = b"%s %d fenced" % (leader.shard.encode(), self._proposed)
        leader.propose(payload, partial(self._proposal_ended, leader, payload), term)

    def _proposal_ended(self, at: Hosted, payload: bytes, fate: Fate, index: object) -> None:
        peer = at.replica.me
        if isinstance(index, int):
            self._cluster.counts["acknowledged"] += 1
            self.served.add(at.shard)
            self._cluster.tell(facts.Acknowledged(at.shard, peer, index, payload))
        elif fate is Fate.DISCARDED:
            self._cluster.tell(facts.Refused(at.shard, peer, payload))

    def _read(self) -> None:
        shard = self._rng.choice(self._cluster.shards)
        replicas = self._awake(shard)
        if not replicas:
            return
        at = self._rng.choice(replicas)
        self._reads += 1
        self._cluster.tell(facts.ReadBegan(shard, at.replica.me, self._reads))
        at.read(partial(self._read_ended, at, self._reads))

    def _read_ended(self, at: Hosted, read: int, index: int | None) -> None:
        if index is not None:
            self._cluster.counts["reads"] += 1
            self._cluster.tell(facts.ReadEnded(at.shard, at.replica.me, read, index))


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
        try:
            leader.replica.transfer(target.node)
        except (TransferRefusedError, NotLeaderError):
            return
        self._cluster.counts["transfers"] += 1
        leader.driver.wake()

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
            leader.replica.change_membership(Configuration.of(members))
        except (ChangeRefusedError, NotLeaderError, ValueError):
            return
        self._cluster.counts["membership changes"] += 1
        leader.driver.wake()


def _without(members: tuple[Member, ...], peer: Peer) -> tuple[Member, ...]:
    return tuple(member for member in members if member.peer != peer)


def _with(members: tuple[Member, ...], changed: Member) -> tuple[Member, ...]:
    return (*_without(members, changed.peer), changed)
