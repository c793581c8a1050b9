"""Runs a plugin's commands on replicas under faults: no acknowledged command is lost or changed.

Each replica evaluates, stores, restores and installs by the code of nodes. An entry is committed
once a majority has logged it; consensus itself is no plugin's concern. Time is virtual, and all
choices are drawn from one seed: a failing run is reproducible.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, repeat
from random import Random
from typing import Final, NamedTuple

from google.protobuf.message import Message

from quorate.apply.entries import LoggedCommand
from quorate.apply.outcomes import Outcome, ReplicaStoppedError
from quorate.apply.program import families_of, mirrored
from quorate.config.sections import LimitsSection
from quorate.consensus.messages import Entry, EntryKind
from quorate.plugin import Fence, Row
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import even_cut
from quorate.shards.routing.routes import route
from quorate.shards.routing.slot_map import SlotMap
from quorate.storage.data.home import MemoryHome
from quorate.testing.batches import refusals_of
from quorate.testing.shard import MemoryShard, ShardState, command_of
from quorate.v1.control_pb2 import AdoptMirror, AdoptSlots, MirroredRow

_REPLICAS: Final = 3
#: The time of wall clocks at the start of a run.
_EPOCH_MS: Final = 1_000_000
#: The time between two steps of a run, on average.
_STEP_S: Final = 0.015
#: An index after every entry.
_ALL: Final = 1 << 62
#: The revision of rows that are copied from another group.
_COPIED: Final = 1


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """A client received the outcome of its command."""

    shard: str
    command: LoggedCommand
    outcome: Outcome
    #: Why it was refused, or each item of a batch; empty if anything was carried out.
    refusals: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Ended:
    """The rows of one replica at the end of a run, after it has applied the whole log."""

    shard: str
    replica: str
    #: Of each family of the group, by key.
    rows: Mapping[str, Mapping[bytes, Row]]


#: Raises `AssertionError` for a violation.
Judge = Callable[[Acknowledged | Ended], None]


class Write(NamedTuple):
    """A command of a client."""

    message: Message
    fence: Fence | None = None


#: Draws the next write of a client; it learns of answers as a judge.
Clients = Callable[[Random], Write]


def simulate(
    catalog: Catalog,
    log: Sequence[Message],
    *,
    seed: int,
    seconds: float = 5.0,
    judges: Sequence[Judge] = (),
    copied: Mapping[str, Mapping[bytes, bytes]] | None = None,
    begun: Sequence[Message] = (),
    passes: int | None = None,
) -> Mapping[str, int]:
    """Propose the commands over and over for a number of virtual seconds, while faults happen.

    Each group with commands in the log is a separate run; its shards start with the `copied` rows
    of the mirrored families that they read, and with the commands of `begun` committed. After so
    many `passes` over the log they are replaced by new ones, which start in the same way: a command
    that names an epoch is right once. Returns the number of events of each kind, among them the
    commands "carried out" and "refused"; raises `AssertionError` when replicas differ, stop, or
    deviate from a replica without faults, and when one of the plugin's own judges finds a fault.
    """
    counts: Counter[str] = Counter()
    before = dict(by_group(catalog, begun))
    for group, commands in by_group(catalog, log):
        rows, now, life = copies_of(catalog, group, copied or {}), 0.0, 0
        while now < seconds:
            repeated = repeat(commands) if passes is None else repeat(commands, passes)
            writes = map(Write, chain.from_iterable(repeated))
            run = _Run(catalog, group, writes, seed, judges, counts, life)
            now = run.run(seconds, rows, before.get(group, ()), now)
            life += 1
    return counts


def simulate_clients(
    catalog: Catalog,
    group: str,
    clients: Clients,
    *,
    seed: int,
    seconds: float = 5.0,
    judges: Sequence[Judge] = (),
) -> Mapping[str, int]:
    """Simulate as `simulate` does, with clients that choose commands by the answers they get."""
    counts: Counter[str] = Counter()
    rng = Random(f"{seed}/{group}/clients")
    run = _Run(catalog, group, (clients(rng) for _ in repeat(None)), seed, judges, counts)
    run.run(seconds, copies_of(catalog, group, {}))
    return counts


def by_group(catalog: Catalog, log: Sequence[Message]) -> list[tuple[str, list[Message]]]:
    """Return the groups of commands in order, each with its commands."""
    found: dict[str, list[Message]] = {}
    for message in log:
        found.setdefault(catalog.commands[message.DESCRIPTOR.full_name].group, []).append(message)
    return sorted(found.items())


def copies_of(
    catalog: Catalog, group: str, rows: Mapping[str, Mapping[bytes, bytes]]
) -> list[AdoptMirror]:
    """Return the commands that copy the rows of mirrored families into the shards of a group."""
    return [
        AdoptMirror(
            family=family,
            revision=_COPIED,
            rows=[
                MirroredRow(key=key, value=value, revision=_COPIED)
                for key, value in rows.get(family, {}).items()
            ],
            reset=True,
        )
        for family in mirrored(catalog, group)
    ]


@dataclass(eq=False)
class _Run:
    """The run of one group: its shards, their commands and their faults."""

    _catalog: Catalog
    _group: str
    _log: Iterator[Write]
    _seed: int
    _judges: Sequence[Judge]
    _counts: Counter[str]
    _life: int = 0
    now: float = 0.0
    _exhausted: bool = False

    def __post_init__(self) -> None:
        self._rng = Random(f"{self._seed}/{self._group}" + (f"/{self._life}" if self._life else ""))
        number = self._rng.choice((1, 2, 3))
        self._slot_map = SlotMap.initial({self._group: number})
        self._shards = [
            _Shard(self._catalog, ShardId(self._group, each), self._rng) for each in range(number)
        ]

    def run(
        self,
        seconds: float,
        copies: Sequence[Message],
        begun: Sequence[Message] = (),
        now: float = 0.0,
    ) -> float:
        """Run to the end of the time or of the log, or to the first violation.

        Returns the virtual time of the end.
        """
        self.now = now
        try:
            self._begin(copies, begun)
            self._run(seconds)
        except (AssertionError, ReplicaStoppedError) as error:
            raise AssertionError(
                f"group {self._group}, seed {self._seed}, at {self.now:.3f} virtual seconds:"
                f" {error}"
            ) from error
        return self.now

    def _begin(self, copies: Sequence[Message], begun: Sequence[Message]) -> None:
        """Commit what an election must not lose: without it all later commands are refused."""
        for shard, slots in zip(self._shards, even_cut(len(self._shards)), strict=True):
            for first in (AdoptSlots(version=1, slots=slots), *copies):
                shard.log([command_of(first)._replace(slots=(), slotless=True)], _EPOCH_MS)
            shard.commit(_ALL)
        for message in begun:
            self._propose([Write(message)])
            for shard in self._shards:
                shard.commit(_ALL)

    def _run(self, seconds: float) -> None:
        rng, steps = self._rng, (self._write, self._commit, self._catch_up, self._look, self._fail)
        weights = (rng.choice((20, 40)), 40, rng.choice((5, 20)), 5, rng.choice((3, 6, 10)))
        while self.now < seconds and not self._exhausted:
            self.now += rng.expovariate(1 / _STEP_S)
            rng.choices(steps, weights)[0]()
        for shard in self._shards:
            self._answer(shard, shard.commit(_ALL))
            for ended in shard.ended(families_of(self._catalog, self._group)):
                self._judge(ended)

    def _write(self) -> None:
        # Now and then several commands share an entry, and several entries are in flight.
        for _ in range(self._rng.choice((1, 1, 1, 6))):
            writes = list(islice(self._log, self._rng.choice((1, 1, 1, 4))))
            self._exhausted = not writes
            self._propose(writes)

    def _commit(self) -> None:
        shard = self._rng.choice(self._shards)
        self._answer(shard, shard.commit(shard.drawn()))

    def _catch_up(self) -> None:
        shard = self._rng.choice(self._shards)
        self._rng.choice(shard.replicas).store(shard.entries[: shard.committed], self._rng)

    def _look(self) -> None:
        """Propose due deadlines, as the nodes that lead do."""
        for shard in self._shards:
            applier = shard.leader.shard.applier
            for timer in self._catalog.timers.values():
                if timer.group == self._group:
                    due = applier.due(timer.name, self._now_ms(shard), timer.batch)
                    if due:
                        self._propose([Write(timer.due([key for key, _ in due]))])

    def _fail(self) -> None:
        shard = self._rng.choice(self._shards)
        faults = {
            "crashes": shard.crash,
            "power losses": shard.lose_power,
            "replaced disks": shard.replace,
            "elections": shard.elect,
            "clock jumps": shard.jump,
        }
        what = self._rng.choice(list(faults))
        self._counts["faults"] += 1
        self._counts[what] += 1
        faults[what]()

    def _propose(self, proposed: Sequence[Write]) -> None:
        writes: dict[int, list[LoggedCommand]] = {}
        for message, fence in proposed:
            command = self._catalog.commands[message.DESCRIPTOR.full_name]
            for part in route(command, message, self._slot_map, LimitsSection()):
                logged = command_of(part.message, fence=fence)._replace(slots=part.slots)
                writes.setdefault(part.shard.number, []).append(logged)
        for number, commands in writes.items():
            shard = self._shards[number]
            self._counts["proposals"] += len(commands)
            shard.log(commands, self._now_ms(shard))

    def _answer(self, shard: _Shard, answers: Sequence[tuple[LoggedCommand, Outcome]]) -> None:
        for command, outcome in answers:
            refusals = shard.refusals_of(command, outcome)
            self._counts["acknowledged"] += 1
            self._counts["refused" if refusals else "carried out"] += 1
            self._judge(Acknowledged(shard.name, command, outcome, tuple(refusals)))

    def _judge(self, fact: Acknowledged | Ended) -> None:
        for judge in self._judges:
            judge(fact)

    def _now_ms(self, shard: _Shard) -> int:
        return _EPOCH_MS + int(self.now * 1_000) + shard.leader.ahead_ms


class _Replica:
    """The rows of one replica on its disk, and its clock."""

    def __init__(self, catalog: Catalog, shard: ShardId, name: str) -> None:
        self.name: Final = name
        self.ahead_ms = 0
        self._catalog: Final = catalog
        self._shard: Final = shard
        self._home = MemoryHome()
        self.open()

    def open(self, state: ShardState | None = None) -> None:
        """Open the replica from its disk, or from a snapshot."""
        group, number = self._shard
        self.shard = MemoryShard(self._catalog, group, number, state=state, home=self._home)

    def crash(self) -> None:
        """Kill the process and restart it: all its writes are kept."""
        self._home.kill()
        self.open()

    def lose_power(self, rng: Random) -> None:
        """Cut the power and restart: unsynced writes may be lost."""
        self._home.lose_power(rng)
        self.open()

    def install(self, donor: _Replica) -> None:
        """Restart with a new disk, and another replica's snapshot."""
        self._home = MemoryHome()
        self.open(donor.shard.export())

    def store(self, entries: Sequence[Entry], rng: Random | None = None) -> None:
        """Apply missing entries of the log: all of them, or with `rng` some, in batches."""
        while lacking := entries[self.shard.applied :]:
            some = lacking if rng is None else lacking[: rng.randint(1, len(lacking))]
            self.shard.applier.apply(some)
            self.shard.evaluator.stored(self.shard.applied)
            if rng is not None and rng.random() < 0.3:
                return


@dataclass(frozen=True, slots=True)
class _Asked:
    """The commands that a leader evaluated for an entry, and their outcomes."""

    writes: Sequence[Sequence[LoggedCommand]]
    now_ms: int
    #: The outcomes of its commands; empty once no client waits for them.
    outcomes: list[Outcome] = field(default_factory=list)


class _Shard:
    """A log, the replicas that store it, and one more replica without faults."""

    def __init__(self, catalog: Catalog, shard: ShardId, rng: Random) -> None:
        self.name: Final = str(shard)
        self._rng: Final = rng
        self.replicas: Final = [
            _Replica(catalog, shard, f"n{number}") for number in range(_REPLICAS)
        ]
        self.leader = self.replicas[0]
        #: The log of the leader; the first `committed` entries are committed.
        self.entries: Final[list[Entry]] = []
        self.committed = 0
        self._term = 1
        self._asked: Final[dict[int, _Asked]] = {}
        self._catalog: Final = catalog
        self._undisturbed: Final = MemoryShard(catalog, shard.group, shard.number)

    def log(self, commands: Sequence[LoggedCommand], now_ms: int) -> None:
        """Have the leader evaluate commands, and log their effects as one entry."""
        index, writes = len(self.entries) + 1, [[each] for each in commands]
        evaluator = self.leader.shard.evaluator
        evaluation = evaluator.evaluate(index, writes, now_ms)
        evaluator.logged(evaluation)
        outcomes = [outcome for each in evaluation.outcomes for outcome in each]
        self._asked[index] = _Asked(writes, now_ms, outcomes)
        self.entries.append(Entry(index, self._term, EntryKind.COMMAND, evaluation.payload))

    def drawn(self) -> int:
        """Draw the index up to which a majority has the log."""
        return self._rng.randint(self.committed, len(self.entries))

    def commit(self, index: int) -> list[tuple[LoggedCommand, Outcome]]:
        """Commit the log up to an index, and return the commands with their answers."""
        answers: list[tuple[LoggedCommand, Outcome]] = []
        before, self.committed = self.committed, min(index, len(self.entries))
        for entry in self.entries[before : self.committed]:
            asked = self._asked.pop(entry.index, None)
            wanted = self._follow(entry, asked)
            if asked is not None:
                commands = [command for write in asked.writes for command in write]
                for command, outcome, known in zip(commands, asked.outcomes, wanted, strict=False):
                    if outcome != known:
                        raise AssertionError(
                            f"{command.type} was answered {outcome}, and comes to {known}"
                        )
                    answers.append((command, outcome))
        self.leader.store(self.entries[: self.committed])
        return answers

    def _follow(self, entry: Entry, asked: _Asked | None) -> list[Outcome]:
        """Evaluate an entry on the replica without faults, and return the outcomes."""
        still = self._undisturbed
        if asked is None:
            still.applier.apply([entry])
            return []
        evaluation = still.evaluator.evaluate(entry.index, asked.writes, asked.now_ms)
        still.evaluator.logged(evaluation)
        still.applier.apply([entry._replace(payload=evaluation.payload)])
        still.evaluator.stored(entry.index)
        return [outcome for each in evaluation.outcomes for outcome in each]

    def refusals_of(self, command: LoggedCommand, outcome: Outcome) -> list[str]:
        """Return why a command was refused; empty if anything of it was carried out."""
        if outcome.refusal is not None:
            return [f"{outcome.refusal.code}: {outcome.refusal.message}"]
        declared = self._catalog.commands.get(command.type)
        answered = self._undisturbed.answered(outcome.revision)
        return [] if declared is None else refusals_of(declared, outcome.reply, answered)

    # Faults.

    def elect(self) -> None:
        """Elect another leader: entries without a majority are lost, the rest is committed."""
        del self.entries[self.drawn() :]
        for index, asked in list(self._asked.items()):
            if index > len(self.entries):
                del self._asked[index]
            else:
                # Clients that wait for an answer of the old leader get none.
                self._asked[index] = _Asked(asked.writes, asked.now_ms)
        self.leader.shard.evaluator.begin()
        self.leader = self._follower()
        self._term += 1
        self.entries.append(Entry(len(self.entries) + 1, self._term, EntryKind.NOOP, b""))
        self.commit(_ALL)
        self.leader.shard.evaluator.begin()

    def crash(self) -> None:
        """Kill a process."""
        self._any().crash()

    def lose_power(self) -> None:
        """Cut one replica's power, or that of all."""
        for each in self._rng.choice(([self._any()], self.replicas)):
            if each is self.leader:
                self.elect()
            each.lose_power(self._rng)

    def replace(self) -> None:
        """Replace a disk: the new one starts from a snapshot of the leader."""
        self._any().install(self.leader)

    def jump(self) -> None:
        """Let a wall clock jump."""
        self._rng.choice(self.replicas).ahead_ms += self._rng.randint(-1_000, 2_000)

    def _any(self) -> _Replica:
        """Draw a replica; if it leads, elect another leader first."""
        drawn = self._rng.choice(self.replicas)
        if drawn is self.leader:
            self.elect()
        return drawn

    def _follower(self) -> _Replica:
        return self._rng.choice([each for each in self.replicas if each is not self.leader])

    # Results.

    def ended(self, families: Sequence[str]) -> Iterator[Ended]:
        """Apply the whole log on every replica, and compare them with each other and with the
        replica without faults.
        """
        for replica in self.replicas:
            replica.store(self.entries)
            if replica.shard.replica_digest() != self.leader.shard.replica_digest():
                raise AssertionError(f"{replica.name} of {self.name} differs from its leader")
            rows = {family: replica.shard.rows(family) for family in families}
            for family, found in rows.items():
                if found != self._undisturbed.rows(family):
                    raise AssertionError(
                        f"{replica.name} of {self.name} ends with other rows of {family}"
                    )
            keyed = {family: {row.key: row for row in found} for family, found in rows.items()}
            yield Ended(self.name, replica.name, keyed)
