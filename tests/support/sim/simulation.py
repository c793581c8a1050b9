"""One run: a cluster under faults, then healed, judged all the while."""

from dataclasses import dataclass
from typing import Final, Self

from quorate.consensus.messages import Peer

from tests.support.sim import facts
from tests.support.sim.clients import Clients, Traffic
from tests.support.sim.cluster import Cluster
from tests.support.sim.controllers import Controllers
from tests.support.sim.domain import HOSTING
from tests.support.sim.faults import FaultInjector
from tests.support.sim.history import History, Invariant, Violation
from tests.support.sim.hosted import Hosted
from tests.support.sim.invariants import all_invariants
from tests.support.sim.operator import Operator
from tests.support.sim.profile import Profile
from tests.support.sim.sessions import SessionClient
from tests.support.sim.watchers import Watcher
from tests.support.sim.world import World

_NOBODY: Final = Peer("", 0)
#: Longer than the slowest way, on which the last messages may still be when it is mended.
_SETTLE_S: Final = 2.5
#: By then all members must stand where the leader does, however slow their disks are.
_LATEST_S: Final = 20.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a run was, and what it found."""

    seed: int
    violation: Violation | None
    #: The virtual time at the end.
    seconds: float
    trace: str
    messages: int
    elections: int
    counts: dict[str, int]


class Simulation:
    """Everything of one run, from one seed."""

    def __init__(self, seed: int, profile: Profile, *judges: Invariant) -> None:
        self.seed = seed
        self.profile = profile
        self.world = World(seed)
        self.history = History((*all_invariants(), *judges), self._stop)
        self.cluster = Cluster(self.world, profile, self._tell, HOSTING)
        self.traffic = Traffic(self.cluster)
        self.clients = Clients(self.traffic)
        self.controllers = Controllers(self.traffic)
        self.sessions = [
            SessionClient(self.traffic, shard, number)
            for shard in self.cluster.shards
            for number in range(profile.sessions)
        ]
        self.watchers = [
            Watcher(self.traffic, shard, number)
            for shard in self.cluster.shards
            for number in range(profile.watchers)
        ]
        self.operator = Operator(self.cluster)
        self.faults = FaultInjector(self.cluster, self.operator)
        #: By shard, what its leader had committed when it served again after it was healed.
        self._wanted: Final[dict[str, int]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.world.dispose()

    def run(self) -> Outcome:
        """Run to the end, or to the first violation."""
        self.cluster.start()
        self.clients.start()
        self.controllers.start()
        for session in self.sessions:
            session.start()
        for watcher in self.watchers:
            watcher.start()
        self.operator.start()
        with self.faults.started():
            self.world.run(self.profile.seconds)
            if not self.world.stopped:
                self.faults.heal()
                self._recover()
        return self.outcome()

    def outcome(self) -> Outcome:
        """Say what happened up to now."""
        return Outcome(
            seed=self.seed,
            violation=self.history.violation,
            seconds=self.world.now,
            trace=self.world.trace,
            messages=self.cluster.network.sent,
            elections=self.history.elections,
            counts=dict(sorted(self.cluster.counts.items())),
        )

    def _recover(self) -> None:
        """Demand that every shard serves again, and that its members catch up, in time."""
        # Slow faults of one way add up: what was sent on it before delays what is sent now.
        healed_at = max(self.world.now, self.cluster.network.last_arrival)
        deadline = healed_at + self.profile.recovery_s
        self.traffic.served.clear()
        self.traffic.gentle = True
        while self.world.now < deadline and not self.world.stopped and not self._recovered():
            self.world.run(min(self.world.now + 0.05, deadline))
        for shard in self.cluster.shards:
            served = self._serves(shard)
            self._tell(facts.Healed(shard, _NOBODY, self.profile.recovery_s, served))
        self._end()

    def _end(self) -> None:
        """Let everything settle: then all members stand where the leader does."""
        self.traffic.silent = True
        latest = self.world.now + _LATEST_S
        self.world.run(self.world.now + _SETTLE_S)
        # With slow disks what the leader had logged by then takes its time.
        while not self.world.stopped and self.world.now < latest and not self._is_level():
            self.world.run(self.world.now + _SETTLE_S)
        for shard in self.cluster.shards:
            for hosted in self._members(shard):
                content = hosted.data.content
                self.world.note(f"{shard} {hosted.peer} ends at {hosted.applied} {content}")
                self._tell(facts.Ended(shard, hosted.peer, hosted.applied, content, hosted.rows()))
        for watcher in self.watchers:
            watcher.finish()

    def _is_level(self) -> bool:
        """Whether every member has applied all that its leader has logged."""
        for shard in self.cluster.shards:
            leader = self.cluster.leader(shard)
            last = leader.replica.log.last.index if leader else -1
            if any(hosted.applied != last for hosted in self._members(shard)):
                return False
        return True

    def _members(self, shard: str) -> list[Hosted]:
        """Return the replicas that the leader counts on."""
        leader = self.cluster.leader(shard)
        configuration = leader.replica.log.configuration if leader else None
        members = configuration.peers if configuration else ()
        return [each for each in self.cluster.replicas(shard) if each.peer in members]

    def _recovered(self) -> bool:
        return all(self._serves(shard) for shard in self.cluster.shards)

    def _serves(self, shard: str) -> bool:
        """Whether a proposal was acknowledged since, and every member has what stood by then.

        What comes meanwhile does not count: a member with a slow disk is never level with it.
        """
        leader = self.cluster.leader(shard)
        if leader is None or shard not in self.traffic.served:
            return False
        wanted = self._wanted.setdefault(shard, leader.replica.commit)
        return all(hosted.applied >= wanted for hosted in self._members(shard))

    def _tell(self, fact: facts.Fact) -> None:
        match fact:
            case facts.Sent(message=message):
                self.world.note(
                    f"{fact.shard} {message.source.node}>{message.target.node}"
                    f" {message.term} {type(message.body).__name__}"
                )
            case facts.StateAt(index=index, digest=digest):
                self.world.note(f"{fact.shard} {fact.peer.node} {index} {digest}")
            case facts.Elected(term=term):
                self.world.note(f"{fact.shard} {fact.peer} leads {term}")
        self.history.tell(fact)

    def _stop(self) -> None:
        self.world.stopped = True


def simulate(seed: int, profile: Profile) -> Outcome:
    """Run one seed."""
    with Simulation(seed, profile) as simulation:
        return simulation.run()
