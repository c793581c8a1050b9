"""What people do to a cluster without a session: write, and read."""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Final

from google.protobuf.message import Message
from quorate.apply.entries import LoggedCommand, Stamp
from quorate.apply.outcomes import Outcome
from quorate.plugin import Rejected
from quorate.plugin.slots import slot_of
from quorate.shards.refusals import NotProposedError, UnreadableError

from tests.support.sim import domain, facts
from tests.support.sim.cluster import Cluster
from tests.support.sim.hosted import Hosted
from tests.support.sim.v1.domain_pb2 import Add, Erase, Write

#: How often, per second, they do anything once they were asked to be gentle.
_GENTLE: Final = 8.0
#: Clients wait while so many entries are not committed.
_BACKLOG: Final = 60
#: The registers, and the counters, of a shard.
_NAMES: Final = 8

Answer = Callable[[Outcome | BaseException], None]


class Traffic:
    """What all clients share: the rate, the numbers of operations, and where leaders are."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster: Final = cluster
        self.rng: Final = cluster.world.rng("clients")
        self._operations = 0
        #: Ask for less than the slowest cluster can do, so that whoever lags catches up.
        self.gentle = False
        #: Ask for nothing any more.
        self.silent = False
        #: The shards that acknowledged something since this was last emptied.
        self.served: Final[set[str]] = set()
        self.names: Final = {shard: _names_of(cluster, shard) for shard in cluster.shards}

    def go_on(self, rate: float, act: Callable[[], None]) -> None:
        """Do something again and again, so many times a second, until all is to be silent."""
        if self.silent or not rate:
            return
        if not self._lulls():
            act()
        now = min(rate, _GENTLE) if self.gentle else rate
        self.cluster.world.at(self.rng.expovariate(now), self.go_on, rate, act)

    def _lulls(self) -> bool:
        """Whether clients are quiet for a while."""
        lull_s = self.cluster.profile.lull_s
        return bool(lull_s and not self.gentle and int(self.cluster.world.now / lull_s) % 2)

    def awake(self, shard: str) -> list[Hosted]:
        """Return the replicas that would answer."""
        return [each for each in self.cluster.replicas(shard) if not each.process.paused]

    def leading(self, shard: str) -> Hosted | None:
        """Return a replica that takes itself for the leader, and keeps up."""
        leaders = [each for each in self.awake(shard) if each.leads]
        leader = self.rng.choice(leaders) if leaders else None
        return None if leader is None or leader.backlog > _BACKLOG else leader

    def invent(self, shard: str, stamp: Stamp | None = None) -> LoggedCommand:
        """Think of something to do, unlike anything before."""
        rng, name = self.rng, self.rng.choice(self.names[shard])
        self._operations += 1
        drawn, number = rng.random(), self._operations
        message: Message
        if drawn < 0.3:
            message = Add(operation=number, key=name, amount=rng.randint(1, 5))
        elif drawn < 0.37:
            message = Erase(operation=number, key=name)
        else:
            content = b"".ljust(rng.choice((0, 0, 12, 50, 230)), b".")
            message = Write(operation=number, key=name, content=content)
            if drawn < 0.45:
                message.expected = self._expected(shard, name)
            if drawn > 0.9:
                message.ttl_ms = rng.randint(50, 3000)
        return LoggedCommand(
            type=message.DESCRIPTOR.full_name,
            payload=message.SerializeToString(deterministic=True),
            slots=(slot_of(domain.key_of(name)),),
            stamp=stamp,
        )

    def propose(
        self, at: Hosted, command: LoggedCommand, answer: Answer, term: int | None = None
    ) -> bool:
        """Propose at a replica; unless its process ends, `answer` is called once.

        Who waited for long with trying again may come when all is to be silent: that is too late.
        """
        if self.silent:
            return False
        try:
            future = at.shard.propose([command], term=term)
        except (NotProposedError, Rejected):
            return False
        future.add_done_callback(partial(_pass_on, answer))
        self.cluster.counts["proposals"] += 1
        return True

    def acknowledged(self, at: Hosted, command: LoggedCommand, outcome: Outcome) -> None:
        """Tell what a client was told."""
        self.cluster.counts["acknowledged"] += 1
        if outcome.refusal is None:
            self.served.add(at.name)
        self.cluster.tell(facts.Acknowledged(at.name, at.peer, command, outcome))

    def _expected(self, shard: str, name: str) -> int:
        """Return the revision of a register as some replica has it: often the right one."""
        replicas = self.awake(shard)
        if not replicas or self.rng.random() < 0.2:
            return self.rng.choice((0, 1 << 20))
        row = self.rng.choice(replicas).row(domain.REGISTERS, domain.key_of(name))
        return row.revision if row else 0


class Clients:
    """Write and read without sessions: each write is tried once, at one replica."""

    def __init__(self, traffic: Traffic) -> None:
        self._traffic: Final = traffic
        self._cluster: Final = traffic.cluster
        self._rng: Final = traffic.rng
        self._reads = 0
        #: The revision that a client saw last, by shard: what it reads next is no older.
        self._seen: Final[dict[str, int]] = dict.fromkeys(traffic.cluster.shards, 0)

    def start(self) -> None:
        """Begin to write and to read, for as long as the world goes on."""
        profile, world = self._cluster.profile, self._cluster.world
        for rate, act in (
            (profile.proposals, self._write),
            (profile.fenced, self._think_of_a_write),
            (profile.reads, self._read),
            (profile.stale_reads, self._read_stale),
        ):
            world.at(0.0, self._traffic.go_on, rate, act)

    def _write(self) -> None:
        shard = self._rng.choice(self._cluster.shards)
        leader = self._traffic.leading(shard)
        if leader is None:
            return
        # Now and then a burst, so that windows fill up and appends carry several entries.
        for _ in range(1 if self._traffic.gentle or self._rng.random() < 0.9 else 12):
            command = self._traffic.invent(shard)
            answer = partial(self._written, leader, command)
            if not self._traffic.propose(leader, command, answer):
                return

    def _think_of_a_write(self) -> None:
        """Decide on something as a controller does: it is proposed later, for this term alone."""
        leader = self._traffic.leading(self._rng.choice(self._cluster.shards))
        if leader is not None:
            later = self._rng.uniform(0.05, 1.5)
            self._cluster.world.at(later, self._write_fenced, leader, leader.term)

    def _write_fenced(self, leader: Hosted, term: int) -> None:
        if leader in self._traffic.awake(leader.name):
            command = self._traffic.invent(leader.name)
            self._cluster.tell(facts.Fenced(leader.name, leader.peer, command, term))
            answer = partial(self._written, leader, command)
            self._traffic.propose(leader, command, answer, term)

    def _written(self, at: Hosted, command: LoggedCommand, end: Outcome | BaseException) -> None:
        if isinstance(end, Outcome):
            self._seen[at.name] = max(self._seen[at.name], end.revision)
            self._traffic.acknowledged(at, command, end)
        elif isinstance(end, NotProposedError):
            self._cluster.tell(facts.Refused(at.name, at.peer, command))

    def _read(self) -> None:
        at = self._some_replica()
        if at is None:
            return
        self._reads += 1
        self._cluster.tell(facts.ReadBegan(at.name, at.peer, self._reads))
        try:
            future = at.shard.read_barrier()
        except UnreadableError:
            return
        future.add_done_callback(partial(self._read_ended, at, self._reads))

    def _read_ended(self, at: Hosted, read: int, done: asyncio.Future[int]) -> None:
        if done.exception() is None:
            self._cluster.counts["reads"] += 1
            # The rows are read now, and not when the index was given.
            self._cluster.tell(facts.ReadEnded(at.name, at.peer, read, at.applied))
            self._look(at)

    def _read_stale(self) -> None:
        """Read what was written or seen before, at any replica: it must have come so far."""
        at = self._some_replica()
        if at is None:
            return
        wanted = self._seen[at.name]
        try:
            future = at.shard.wait_for(wanted)
        except UnreadableError:
            return
        future.add_done_callback(partial(self._stale_read_ended, at, wanted))

    def _stale_read_ended(self, at: Hosted, wanted: int, done: asyncio.Future[int]) -> None:
        if done.exception() is None:
            self._cluster.counts["stale reads"] += 1
            revision = at.shard.revision
            self._seen[at.name] = max(self._seen[at.name], revision)
            self._cluster.tell(facts.StaleRead(at.name, at.peer, wanted, revision))
            self._look(at)

    def _some_replica(self) -> Hosted | None:
        replicas = self._traffic.awake(self._rng.choice(self._cluster.shards))
        return self._rng.choice(replicas) if replicas else None

    def _look(self, at: Hosted) -> None:
        family = self._rng.choice((domain.REGISTERS, domain.COUNTERS))
        key = domain.key_of(self._rng.choice(self._traffic.names[at.name]))
        row = at.row(family, key)
        self._cluster.tell(facts.Saw(at.name, at.peer, at.applied, family, key, row))


def _pass_on(answer: Answer, done: asyncio.Future[tuple[Outcome, ...]]) -> None:
    error = done.exception()
    if error is not None:
        answer(error)
    else:
        # Who is told that it is done, and not what became of it, was told nothing that is true.
        answer(next(iter(done.result()), Outcome(0)))


def _names_of(cluster: Cluster, shard: str) -> tuple[str, ...]:
    """Return names whose slots a shard owns."""
    slots = cluster.slots[shard]
    names = (f"k{number}" for number in range(10_000))
    owned = (name for name in names if slot_of(domain.key_of(name)) in slots)
    return tuple(name for name, _ in zip(owned, range(_NAMES), strict=False))
