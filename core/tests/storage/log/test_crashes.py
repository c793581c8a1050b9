"""A journal on a disk that crashes, against a list of what was written."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from quorate.consensus.journal import HardState, Journal, Position
from quorate.consensus.messages import Entry, EntryKind, Peer
from quorate.storage.engine.memory import MemoryDisk, MemoryEngine
from quorate.storage.log.node_log import FAMILY, NodeLog
from quorate.storage.log.witness import MemoryWitnesses

SHARDS = ("a", "b")
SHARD = st.sampled_from(SHARDS)
SIZE = st.integers(1, 4)
NOWHERE = Position(0, 0)
NO_PROMISE = HardState(0, None)
PART = st.floats(0, 1, exclude_max=True)


@dataclass(frozen=True)
class Model:
    """What one shard's journal should hold."""

    sentinel: Position = NOWHERE
    entries: tuple[Entry, ...] = ()
    hard_state: HardState = NO_PROMISE

    @property
    def last(self) -> Position:
        return (
            Position(self.entries[-1].index, self.entries[-1].term)
            if self.entries
            else (self.sentinel)
        )


def held(journal: Journal) -> Model:
    first, last = journal.sentinel.index + 1, journal.last.index
    entries = journal.read(first, last, 1 << 30) if first <= last else []
    return Model(journal.sentinel, tuple(entries), journal.hard_state)


class Crashes(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.disk = MemoryDisk(of_log=True)
        self.witnesses = MemoryWitnesses()
        #: The models after each write; the place in the list is the number of the write.
        self.history: list[dict[str, Model]] = [dict.fromkeys(SHARDS, Model())]
        self.synced = 0
        self.term = 1
        self.running: tuple[int, int] | None = None
        self.open()

    def open(self) -> None:
        self.log = NodeLog(MemoryEngine(self.disk, [FAMILY]), self.witnesses)
        self.journals = {shard: self.log.journal(shard) for shard in SHARDS}
        self.offset = len(self.history) - 1
        self.synced = self.offset
        self.running = None

    def wrote(self, shard: str, model: Model) -> None:
        self.history.append({**self.history[-1], shard: model})
        assert self.journals[shard].written + self.offset == len(self.history) - 1

    def model(self, shard: str) -> Model:
        return self.history[-1][shard]

    @rule(shard=SHARD, count=SIZE, newer=st.booleans())
    def append(self, shard: str, count: int, newer: bool) -> None:
        self.term += newer
        model = self.model(shard)
        entries = [
            Entry(model.last.index + 1 + step, self.term, EntryKind.COMMAND, b"%d" % self.term)
            for step in range(count)
        ]
        self.journals[shard].append(entries)
        self.wrote(shard, replace(model, entries=(*model.entries, *entries)))

    @rule(shard=SHARD, part=PART)
    def truncate(self, shard: str, part: float) -> None:
        model = self.model(shard)
        if model.entries:
            place = int(part * len(model.entries))
            self.journals[shard].truncate_from(model.entries[place].index)
            self.wrote(shard, replace(model, entries=model.entries[:place]))

    @rule(shard=SHARD, part=PART)
    def compact(self, shard: str, part: float) -> None:
        model = self.model(shard)
        if model.entries:
            place = int(part * len(model.entries))
            cut = model.entries[place]
            self.journals[shard].compact_to(cut.index)
            sentinel = Position(cut.index, cut.term)
            self.wrote(shard, replace(model, sentinel=sentinel, entries=model.entries[place + 1 :]))

    @rule(shard=SHARD, step=st.integers(-3, 3))
    def reset(self, shard: str, step: int) -> None:
        model = self.model(shard)
        position = Position(max(0, model.last.index + step), self.term)
        self.journals[shard].reset(position)
        self.wrote(shard, replace(model, sentinel=position, entries=()))

    @rule(shard=SHARD, replica=st.integers(0, 2))
    def vote(self, shard: str, replica: int) -> None:
        state = HardState(self.term, Peer("n", replica) if replica else None)
        self.journals[shard].save_hard_state(state)
        self.wrote(shard, replace(self.model(shard), hard_state=state))

    @precondition(lambda self: self.running is None)
    @rule()
    def begin_sync(self) -> None:
        self.running = (self.log.begin_sync(), self.disk.position)

    @precondition(lambda self: self.running is not None)
    @rule()
    def end_sync(self) -> None:
        assert self.running is not None
        sequence, position = self.running
        self.running = None
        self.disk.sync(position)
        self.log.synced(sequence)
        self.synced = sequence + self.offset

    @rule()
    def kill(self) -> None:
        self.disk.kill()
        self.open()

    @rule(seed=st.integers(0, 1 << 16))
    def lose_power(self, seed: int) -> None:
        rng = Random(seed)
        kept = rng.randint(self.synced, len(self.history) - 1)
        self.disk.keep(self.disk.position - (len(self.history) - 1 - kept))
        self.witnesses.lose_power(rng)
        del self.history[kept + 1 :]
        self.open()

    @invariant()
    def each_journal_holds_what_was_written(self) -> None:
        for shard, journal in self.journals.items():
            model = self.model(shard)
            assert held(journal) == model
            assert journal.last == model.last
            terms = {entry.index: entry.term for entry in model.entries}
            terms[model.sentinel.index] = model.sentinel.term
            for index in range(model.last.index + 2):
                assert journal.term_of(index) == terms.get(index)

    @invariant()
    def no_witness_asks_for_more_than_any_crash_leaves(self) -> None:
        for shard in SHARDS:
            durable = self.witnesses.read(shard)
            if durable is not None:
                least = min(each[shard].last.index for each in self.history[self.synced :])
                assert durable.last_index <= least


TestCrashes = Crashes.TestCase
TestCrashes.settings = settings(max_examples=60, stateful_step_count=40)
