"""One run: a cluster under faults whose shards are split, then healed, and judged all the while."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final
from unittest.mock import patch

from quorate.apply import cuts
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.plugin.slots import slot_of, slots_in
from quorate.shards.topology_rows import is_changing
from quorate.storage.data import shard_data
from quorate.storage.data.record import Pointer
from quorate.storage.families import DEADLINE_KEYS, SLOTS
from quorate.storage.rows import value_of
from quorate.topology.replicas import node_shards
from quorate.v1.control_pb2 import ShardRow

from tests.support.sim import facts
from tests.support.sim.faults import FaultInjector
from tests.support.sim.history import History, Violation
from tests.support.sim.hosted import Hosted
from tests.support.sim.invariants.election_safety import ElectionSafety
from tests.support.sim.invariants.leader_completeness import LeaderCompleteness
from tests.support.sim.invariants.log_and_data import LogAndData
from tests.support.sim.invariants.never_stops import NeverStops
from tests.support.sim.invariants.single_vote import SingleVote
from tests.support.sim.invariants.state_machine_safety import StateMachineSafety
from tests.support.sim.operator import Operator
from tests.support.sim.profile import USUAL_S, Profile, mixed
from tests.support.sim.simulation import Outcome
from tests.support.sim.splits.clients import Clients, Load, Merger, OnceClient, Splitter, Watcher
from tests.support.sim.splits.cluster import SplitCluster
from tests.support.sim.splits.ledger import Ledger
from tests.support.sim.splits.lists import (
    GONE_OFF,
    HOSTING,
    LISTS,
    SIZE,
    SIZES,
    alarm_key,
    list_of,
    size_of,
)
from tests.support.sim.splits.process import HomedData, SplitProcess
from tests.support.sim.v1.lists_pb2 import GoneOff, List
from tests.support.sim.world import World

#: By then everything has come to rest once it is healed.
_LATEST_S: Final = 60.0
_STEP_S: Final = 0.25
_LOOK_S: Final = 0.02
#: What a shard says of rows of others of which it has forgotten none.
_ALL_THERE: Final = cuts.Forgotten().encode()


def splitting(seed: int, seconds: float = USUAL_S) -> Profile:
    """Return the profile of a seed: no members come or go while shards are split."""
    profile = mixed(seed, seconds)
    return replace(
        profile,
        spares=0,
        shards=min(profile.shards, 2),
        faults=replace(
            profile.faults,
            # A split takes some steps on many nodes: they need peace for that now and then.
            every_s=2 * profile.faults.every_s,
            membership=0,
            empty_disk=0,
            older_copy=0,
            failpoint=0.01,
        ),
        limits=replace(
            profile.limits, entry_bytes=1 << 23, append_bytes=1 << 14, inflight_bytes=1 << 17
        ),
    )


class SplitRun:
    """Everything of one run, from one seed."""

    def __init__(self, seed: int, profile: Profile) -> None:
        self._seed: Final = seed
        self._profile: Final = profile
        self.world: Final = World(seed)
        judges = (
            NeverStops(),
            ElectionSafety(),
            SingleVote(),
            StateMachineSafety(),
            LeaderCompleteness(),
            LogAndData(),
        )
        self.history: Final = History(judges, self._stop)
        self.cluster: Final = SplitCluster(self.world, profile, self.history.tell)
        self.ledger: Final = Ledger(self.violated)
        self._load: Final = Load(self.cluster, self.ledger)
        self._watchers: list[Watcher] = []

    def run(self) -> Outcome:
        """Run to the end, or to the first violation."""
        faults = FaultInjector(self.cluster, Operator(self.cluster))
        self.cluster.start()
        Clients(self._load)
        Splitter(self._load)
        Merger(self._load)
        for number in range(self._profile.sessions):
            OnceClient(self._load, number)
        self._watchers = [Watcher(self._load, each) for each in range(self._profile.watchers)]
        try:
            self.world.at(_LOOK_S, self._look_at_copies)
            with (
                patch.object(node_shards, "ShardData", HomedData),
                patch.object(shard_data, "ShardData", HomedData),
                faults.started(),
            ):
                self.world.run(self._profile.seconds)
                if not self.world.stopped:
                    faults.heal()
                    self._settle()
        finally:
            self.world.dispose()
        return Outcome(
            seed=self._seed,
            violation=self.history.violation,
            seconds=self.world.now,
            trace=self.world.trace,
            messages=self.cluster.network.sent,
            elections=self.history.elections,
            counts=dict(sorted(self.cluster.counts.items())),
        )

    def violated(self, violation: Violation) -> None:
        """Keep the first violation, and stop."""
        if self.history.violation is None:
            self.history.violation = violation
        self._stop()

    def _look_at_copies(self) -> None:
        """Demand that most have what a new shard began with before others forget it."""
        for name in self.cluster.shards:
            for each in self.cluster.replicas(name):
                cut = each.shard.applier.cut
                if cut is None or each.data.get(SLOTS, cuts.FOREIGN) == _ALL_THERE:
                    continue
                for part in cut.parts:
                    self._judge_copies(f"{each.peer} of {name}", f"{HOSTING.group}/{part.number}")
        for process in self.cluster.serving():
            for row in process.shards.rows().values():
                if row.union.settled:
                    shard = f"{row.group}/{row.number}"
                    self._judge_copies(f"{process.disk.peer}", shard)
        self.world.at(_LOOK_S, self._look_at_copies)

    def _judge_copies(self, who: str, part: str) -> None:
        if ShardId.parse(part) in self.cluster.slot_map.merged:
            return
        nodes = self.cluster.nodes.values()
        homes = [node.disk.homes[part] for node in nodes if part in node.disk.homes]
        pointers = [pointer for home in homes if (pointer := home.pointer()) is not None]
        held = sum(Pointer.decode(each).installed is not None for each in pointers)
        if held <= len(nodes) // 2:
            self._wrong(
                "most have it before it is forgotten",
                f"{who} forgets what {held} nodes have in {part}",
            )

    # The end.

    def _settle(self) -> None:
        """Let all that was begun end, then judge what is left."""
        self.world.run(self.world.now + 3.0)
        self._load.silent = True
        latest = self.world.now + _LATEST_S
        why: str | None = "it has just become silent"
        while why is not None and self.world.now < latest and not self.world.stopped:
            self.world.run(self.world.now + _STEP_S)
            why = self._unsettled()
        if self.world.stopped:
            return
        if why is not None:
            self.violated(Violation("splits end", f"after {_LATEST_S:g} s of peace: {why}"))
            return
        self._judge()

    def _unsettled(self) -> str | None:
        """Say what is still under way."""
        nodes = self.cluster.serving()
        if len(nodes) < len(self.cluster.nodes):
            return "not all nodes serve"
        maps = {
            tuple(row.SerializeToString() for row in each.shards.rows().values()) for each in nodes
        }
        if len(maps) > 1:
            return "nodes have different slot maps"
        for row in nodes[0].shards.rows().values():
            if is_changing(row):
                return f"shard {row.group}/{row.number} is being split or merged"
        for each in nodes:
            if gone := [
                shard for shard in each.shards.all() if each.shards.heir(shard.id) != shard.id
            ]:
                return f"{each.disk.peer} still has {gone[0].id}, which was merged"
        for name in self.cluster.shards:
            leader, replicas = self.cluster.leader(name), self.cluster.replicas(name)
            if leader is None or len(replicas) < len(nodes):
                return f"{name} has {len(replicas)} replicas, led by {leader and leader.peer}"
            if any(each.applied != leader.replica.log.last.index for each in replicas):
                return f"not all replicas of {name} have come to the end of its log"
            if leader.shard.applier.foreign:
                return f"{name} has not forgotten what is not its own"
        return self._undone()

    def _undone(self) -> str | None:
        """Say what clients are still owed."""
        self._read_all(judge=False)
        if self.world.stopped:
            return None
        gone = sum(1 for _ in self._rows(GONE_OFF))
        if gone < self.ledger.alarms():
            return f"{gone} alarms of {self.ledger.alarms()} went off"
        return next((why for each in self._watchers if (why := each.missing())), None)

    def _leaders(self) -> Iterator[Hosted]:
        for name in self.cluster.shards:
            leader = self.cluster.leader(name)
            if name != str(METADATA) and leader is not None:
                yield leader

    def _rows(self, family: str) -> Iterator[tuple[Hosted, bytes, bytes]]:
        """Yield what the leaders' databases hold, whether it is theirs or not."""
        for leader in self._leaders():
            for key, value in leader.data.iterate(family, b"", None):
                yield leader, key, value

    def _read_all(self, *, judge: bool) -> None:
        for leader, _, value in self._rows(LISTS):
            row = List.FromString(value_of(value))
            see = self.ledger.ended if judge else self.ledger.saw
            see(row.key, row.operations, f"{leader.peer.node} of {leader.name} at the end")

    def _judge(self) -> None:
        for name in self.cluster.shards:
            for each in self.cluster.replicas(name):
                self.history.tell(
                    facts.Ended(name, each.peer, each.applied, each.data.content, each.rows())
                )
        self._judge_slots()
        for leader in self._leaders():
            self._judge_places(leader)
            self._judge_counts(leader)
        held = {List.FromString(value_of(value)).key for _, _, value in self._rows(LISTS)}
        lost = sorted(key for key, floor in self.ledger.floors.items() if floor and key not in held)
        if lost:
            self.violated(Violation("no key is lost", f"{lost} are in no shard"))
        self._read_all(judge=True)
        gone = {key: GoneOff.FromString(value) for _, key, value in self._rows(GONE_OFF)}
        for operation, append in self.ledger.appends.items():
            self.ledger.alarmed(operation, gone.get(alarm_key(append.key, operation)))

    def _judge_slots(self) -> None:
        [process, *_] = self.cluster.serving()
        taken: dict[int, str] = {}
        for row in _rows_of(process):
            name = str(ShardId(row.group, row.number))
            slots = frozenset(slots_in(row.slots))
            for each in self.cluster.replicas(name):
                if each.shard.applier.slots.owned != slots:
                    self._wrong("one shard a slot", f"{each.peer} of {name} owns other slots")
            for slot in slots:
                if taken.setdefault(slot, name) != name:
                    self._wrong("one shard a slot", f"{slot} is of {taken[slot]} and of {name}")
        if len(taken) != 1_024:
            self._wrong("one shard a slot", f"{1_024 - len(taken)} slots are of no shard")

    def _judge_places(self, leader: Hosted) -> None:
        owned = leader.shard.applier.slots.owned
        keys = [("list", key, key) for key, _ in leader.data.iterate(LISTS, b"", None)]
        keys += [
            ("alarm", key, list_of(key)) for key, _ in leader.data.iterate(GONE_OFF, b"", None)
        ]
        for key, _ in leader.data.iterate(DEADLINE_KEYS, b"", None):
            alarm = key.partition(b"\x00")[2]
            keys.append(("deadline", alarm, list_of(alarm)))
        for what, key, shard_key in keys:
            if slot_of(shard_key) not in owned:
                self._wrong("each key in one shard", f"{what} {key!r} is left in {leader.name}")

    def _judge_counts(self, leader: Hosted) -> None:
        lists = sum(1 for _ in leader.data.iterate(LISTS, b"", None))
        counted = leader.shard.store_reader(frozenset({LISTS})).count(LISTS)
        said = size_of(leader.data.get(SIZES, SIZE))
        if {lists} != {counted, said}:
            self._wrong(
                "counts are divided",
                f"{leader.name} has {lists} lists, counts {counted}, and its plugin {said}",
            )
        if cuts.has_foreign(leader.data):
            self._wrong("splits end", f"{leader.name} has rows of others")

    def _wrong(self, invariant: str, what: str) -> None:
        self.violated(Violation(invariant, what))

    def _stop(self) -> None:
        self.world.stopped = True


def _rows_of(process: SplitProcess) -> Iterator[ShardRow]:
    rows = process.shards.rows().values()
    return (row for row in rows if row.group != METADATA.group and not row.merged_into)


def simulate(seed: int, profile: Profile | None = None) -> Outcome:
    """Run one seed."""
    return SplitRun(seed, splitting(seed) if profile is None else profile).run()
