"""Runs the commands of any plugin on a simulated cluster: nothing that was answered is lost.

Time is virtual, and everything comes from one seed: a run that fails fails again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import cycle
from typing import Final

from google.protobuf.message import Message
from quorate.apply.entries import LoggedCommand
from quorate.apply.outcomes import WRONG_SHARD, Outcome
from quorate.config.sections import LimitsSection
from quorate.consensus.messages import Entry, Peer
from quorate.plugin import Rejected
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import NotProposedError
from quorate.shards.routing.routes import route
from quorate.shards.routing.slot_map import SlotMap
from quorate.testing.shard import MemoryShard, command_of
from quorate.testing.simulated import by_group, copies_of
from quorate.v1.control_pb2 import AdoptMirror, AdoptSlots, CloseSession

from tests.support.sim import facts
from tests.support.sim.cluster import Cluster
from tests.support.sim.faults import FaultInjector
from tests.support.sim.history import History, Invariant, Violation
from tests.support.sim.hosted import Hosted
from tests.support.sim.hosting import Hosting
from tests.support.sim.invariants.liveness import Liveness
from tests.support.sim.invariants.never_stops import NeverStops
from tests.support.sim.invariants.state_machine_safety import StateMachineSafety
from tests.support.sim.operator import Operator
from tests.support.sim.profile import Profile, mixed
from tests.support.sim.world import World

#: How often leaders look for what is due.
_LOOK_S: Final = 0.15
#: Clients wait while this many entries are uncommitted.
_BACKLOG: Final = 60
_STEP_S: Final = 0.05
_SETTLE_S: Final = 2.5
_NOBODY: Final = Peer("", 0)


def simulate(
    catalog: Catalog,
    log: Sequence[Message],
    *,
    seed: int,
    seconds: float = 5.0,
    judges: Sequence[Invariant] = (),
    copied: Mapping[str, Mapping[bytes, bytes]] | None = None,
) -> Mapping[str, int]:
    """Propose the commands over and over for a number of virtual seconds, while faults happen.

    Each group that has commands in the log is a run of its own, whose shards have these rows of the
    mirrored families that they read. Returns how often what happened; raises `AssertionError` when
    replicas differ, stop, or do anything else than one replica does to which nothing ever happens,
    and when one of the plugin's own judges finds a violation.
    """
    counts: dict[str, int] = {}
    for group, commands in by_group(catalog, log):
        copies = {each.family: each for each in copies_of(catalog, group, copied or {})}
        run = _Run(Hosting(catalog, group), commands, copies, seed, _profile(seed, seconds), judges)
        run.run()
        if run.history.violation is not None:
            raise AssertionError(
                f"group {group}, seed {seed}, at {run.world.now:.3f} virtual seconds: "
                f"{run.history.violation}"
            )
        for what, count in run.cluster.counts.items():
            counts[what] = counts.get(what, 0) + count
    return counts


def _profile(seed: int, seconds: float) -> Profile:
    profile = mixed(seed, seconds)
    limits = replace(
        profile.limits, entry_bytes=1 << 23, append_bytes=1 << 16, inflight_bytes=1 << 20
    )
    return replace(profile, limits=limits)


class _Run:
    """One group of a plugin on a cluster."""

    def __init__(
        self,
        hosting: Hosting,
        log: Sequence[Message],
        copies: Mapping[str, AdoptMirror],
        seed: int,
        profile: Profile,
        judges: Sequence[Invariant],
    ) -> None:
        self._hosting: Final = hosting
        self._profile: Final = profile
        self._log: Final[Iterator[Message]] = cycle(log)
        self._copies: Final = copies
        self.world: Final = World(seed)
        own = (NeverStops(), StateMachineSafety(), Liveness(), Undisturbed(hosting))
        self.history: Final = History((*own, *judges), self._stop)
        self.cluster: Final = Cluster(self.world, profile, self.history.tell, hosting)
        self._slot_map: Final = SlotMap.initial({hosting.group: profile.shards})
        self._limits: Final = LimitsSection()
        self._rng: Final = self.world.rng("plugin")
        self._answered_by: Final[set[str]] = set()
        self._healed = False
        self._silent = False

    def run(self) -> None:
        """Run to the end, or to the first violation."""
        operator = Operator(self.cluster)
        faults = FaultInjector(self.cluster, operator)
        self.cluster.start()
        operator.start()
        self.world.at(0.0, self._write)
        self.world.at(_LOOK_S, self._look)
        try:
            with faults.started():
                self.world.run(self._profile.seconds)
                if not self.world.stopped:
                    faults.heal()
                    self._recover()
        finally:
            self.world.dispose()

    def _recover(self) -> None:
        deadline = self.world.now + self._profile.recovery_s
        self._answered_by.clear()
        self._healed = True
        shards = self.cluster.shards
        while self.world.now < deadline and not self.world.stopped:
            if all(map(self._serves, shards)):
                break
            self.world.run(self.world.now + _STEP_S)
        for shard in shards:
            served = self._serves(shard)
            self.history.tell(facts.Healed(shard, _NOBODY, self._profile.recovery_s, served))
        self._silent = True
        self.world.run(self.world.now + _SETTLE_S)
        for shard in shards:
            for each in self._members(shard):
                ended = facts.Ended(shard, each.peer, each.applied, each.data.content, each.rows())
                self.history.tell(ended)

    def _serves(self, shard: str) -> bool:
        leader = self.cluster.leader(shard)
        if leader is None or shard not in self._answered_by:
            return False
        near = leader.replica.commit - 10
        return all(each.applied >= near for each in self._members(shard))

    def _members(self, shard: str) -> list[Hosted]:
        leader = self.cluster.leader(shard)
        configuration = leader.replica.log.configuration if leader else None
        peers = configuration.peers if configuration else ()
        return [each for each in self.cluster.replicas(shard) if each.peer in peers]

    # What is asked of the cluster.

    def _write(self) -> None:
        if self._silent:
            return
        self._propose(next(self._log))
        self.world.at(self._rng.expovariate(self._profile.proposals), self._write)

    def _look(self) -> None:
        """Give shards slots and copies, and meet deadlines, as nodes do where they lead."""
        for shard in self.cluster.shards:
            for leader in self.cluster.replicas(shard):
                if leader.leads and not leader.process.paused:
                    self._control(leader)
        if not self._silent:
            self.world.at(_LOOK_S, self._look)

    def _control(self, leader: Hosted) -> None:
        applier = leader.shard.applier
        if not applier.slots.version:
            slots = AdoptSlots(version=1, slots=self.cluster.bitmaps[leader.name])
            command = command_of(slots)._replace(slotless=True)
            self._propose_at(leader, command, leader.term)
            return
        for family, copy in self._copies.items():
            if applier.mirror_position(family) is None:
                self._propose_at(leader, command_of(copy)._replace(slotless=True), leader.term)
        if self._healed:
            # The plugin's own commands need not touch every shard.
            nothing = command_of(CloseSession())._replace(slotless=True)
            self._propose_at(leader, nothing, leader.term)
        for timer in self._hosting.catalog.timers.values():
            if timer.group == self._hosting.group:
                due = [key for key, _ in applier.due(timer.name, applier.now_ms, timer.batch)]
                if due:
                    self._propose(timer.due(due))

    def _propose(self, message: Message) -> None:
        command = self._hosting.catalog.commands[message.DESCRIPTOR.full_name]
        for part in route(command, message, self._slot_map, self._limits):
            replicas = self.cluster.replicas(str(part.shard))
            leaders = [each for each in replicas if each.leads and not each.process.paused]
            if leaders:
                logged = command_of(part.message)._replace(slots=part.slots)
                self._propose_at(self._rng.choice(leaders), logged)

    def _propose_at(self, leader: Hosted, command: LoggedCommand, term: int | None = None) -> None:
        if leader.backlog > _BACKLOG:
            return
        try:
            future = leader.shard.propose([command], term=term)
        except (NotProposedError, Rejected):
            return
        self.cluster.counts["proposals"] += 1
        future.add_done_callback(partial(self._answered, leader, command))

    def _answered(
        self, leader: Hosted, command: LoggedCommand, done: asyncio.Future[tuple[Outcome, ...]]
    ) -> None:
        if done.exception() is not None:
            return
        [outcome] = done.result()
        self.cluster.counts["acknowledged"] += 1
        if outcome.refusal is None or outcome.refusal.code != WRONG_SHARD:
            self._answered_by.add(leader.name)
        self.history.tell(facts.Acknowledged(leader.name, leader.peer, command, outcome))

    def _stop(self) -> None:
        self.world.stopped = True


class Undisturbed:
    """What came of the commands on a replica to which nothing ever happened."""

    name = "the same as without faults"
    judges = (facts.Evaluated, facts.Applied, facts.Acknowledged, facts.Ended)

    def __init__(self, hosting: Hosting) -> None:
        self._hosting: Final = hosting
        self._shards: Final[dict[str, MemoryShard]] = {}
        self._evaluated: Final[dict[tuple[str, int, bytes], facts.Evaluated]] = {}
        self._outcomes: Final[dict[tuple[str, int], Outcome]] = {}

    def see(self, fact: facts.Fact) -> None:
        """Follow the log, and judge answers and rows."""
        shard = self._shard(fact.shard)
        match fact:
            case facts.Evaluated(index=index, payload=payload):
                self._evaluated[fact.shard, index, payload] = fact
            case facts.Applied(entry=entry) if entry.index == shard.applied + 1:
                self._follow(fact.shard, shard, entry)
            case facts.Acknowledged(command=command, outcome=outcome):
                known = self._outcomes.get((fact.shard, outcome.revision))
                if outcome != known:
                    raise Violation(
                        self.name, f"{command.type} was answered {outcome}, and comes to {known}"
                    )
            case facts.Ended(applied=index, rows=rows) if index == shard.applied:
                for family, found in rows.items():
                    if list(found.values()) != shard.rows(family):
                        raise Violation(self.name, f"{fact.peer} ends with other rows of {family}")

    def _follow(self, name: str, shard: MemoryShard, entry: Entry) -> None:
        found = self._evaluated.get((name, entry.index, entry.payload))
        if found is None:
            shard.applier.apply([entry])
            return
        evaluation = shard.evaluator.evaluate(entry.index, [found.commands], found.now_ms)
        for outcome in evaluation.outcomes[0]:
            self._outcomes[name, outcome.revision] = outcome
        logged = entry._replace(payload=evaluation.payload)
        shard.evaluator.logged(evaluation)
        shard.applier.apply([logged])
        shard.evaluator.stored(entry.index)

    def _shard(self, name: str) -> MemoryShard:
        if name not in self._shards:
            group, number = self._hosting.group, ShardId.parse(name).number
            self._shards[name] = MemoryShard(self._hosting.catalog, group, number)
        return self._shards[name]
