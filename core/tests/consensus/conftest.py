"""A group of replicas on a clock that stands still: a test moves its messages and its syncs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import pytest
from quorate.consensus.inherited import LEADER
from quorate.consensus.journal import HardState, Position
from quorate.consensus.log import Stored
from quorate.consensus.membership import Configuration, Member
from quorate.consensus.messages import Body, Entry, EntryKind, Message, Peer, weight
from quorate.consensus.reads import ReadOutcome
from quorate.consensus.replica import Replica
from quorate.consensus.timing import Limits, Timing

ORIGIN = Position(0, 0)
NO_PROMISE = HardState(0, None)


@dataclass(frozen=True)
class Content:
    """What a journal holds after one of its writes."""

    sentinel: Position = ORIGIN
    entries: tuple[Entry, ...] = ()
    hard_state: HardState = NO_PROMISE


class MemoryJournal:
    """A journal that remembers what it held after each write, so that a crash can go back."""

    def __init__(self, content: Content | None = None) -> None:
        self.contents = [content or Content()]
        self.reads: list[tuple[int, int, int]] = []
        #: A power loss takes back what was noted.
        self.applied = 0

    def as_of(self, sequence: int) -> MemoryJournal:
        return MemoryJournal(self.contents[sequence])

    @property
    def now(self) -> Content:
        return self.contents[-1]

    @property
    def written(self) -> int:
        return len(self.contents) - 1

    @property
    def sentinel(self) -> Position:
        return self.now.sentinel

    @property
    def last(self) -> Position:
        if not self.now.entries:
            return self.sentinel
        return Position(self.now.entries[-1].index, self.now.entries[-1].term)

    @property
    def hard_state(self) -> HardState:
        return self.now.hard_state

    def term_of(self, index: int) -> int | None:
        if index == self.sentinel.index:
            return self.sentinel.term
        offset = index - self.sentinel.index - 1
        return self.now.entries[offset].term if 0 <= offset < len(self.now.entries) else None

    def read(self, first: int, last: int, max_bytes: int) -> list[Entry]:
        self.reads.append((first, last, max_bytes))
        offset = first - self.sentinel.index - 1
        assert offset >= 0
        taken: list[Entry] = []
        for entry in self.now.entries[offset : offset + last - first + 1]:
            max_bytes -= weight(entry)
            if max_bytes < 0 and taken:
                break
            taken.append(entry)
        return taken

    def append(self, entries: Sequence[Entry]) -> None:
        for ahead, entry in enumerate(entries, 1):
            assert entry.index == self.last.index + ahead
        self._write(replace(self.now, entries=self.now.entries + tuple(entries)))

    def truncate_from(self, index: int) -> None:
        kept = tuple(entry for entry in self.now.entries if entry.index < index)
        self._write(replace(self.now, entries=kept))

    def compact_to(self, index: int) -> None:
        term = self.term_of(index)
        assert term is not None
        kept = tuple(entry for entry in self.now.entries if entry.index > index)
        self._write(replace(self.now, sentinel=Position(index, term), entries=kept))

    def reset(self, position: Position) -> None:
        self._write(replace(self.now, sentinel=position, entries=()))

    def save_hard_state(self, state: HardState) -> None:
        self._write(replace(self.now, hard_state=state))

    def note_applied(self, index: int) -> None:
        self.applied = index

    def _write(self, content: Content) -> None:
        self.contents.append(content)


def peer(node: str) -> Peer:
    return Peer(node, ord(node))


def configuration(voters: str, learners: str = "") -> Configuration:
    members = [Member(peer(node)) for node in voters]
    return Configuration.of(members + [Member(peer(node), voter=False) for node in learners])


@dataclass
class Store:
    """What a state machine keeps."""

    applied: int = 0
    stored: Stored = field(default_factory=lambda: Stored(0, None))
    payloads: tuple[bytes, ...] = ()


class Group:
    """Replicas named by letters. `settle` moves everything but time until nothing moves."""

    def __init__(
        self,
        voters: str = "abc",
        learners: str = "",
        *,
        timing: Timing | None = None,
        limits: Limits | None = None,
        replica_type: type[Replica] = Replica,
        seed: int = 1,
    ) -> None:
        self.timing = timing or Timing()
        self.limits = limits or Limits()
        self.replica_type = replica_type
        self.now = 100.0
        self.seed = seed
        self.first = configuration(voters, learners)
        self.journals: dict[str, MemoryJournal] = {}
        self.stores: dict[str, Store] = {}
        self.replicas: dict[str, Replica] = {}
        self.wire: list[Message] = []
        self.sent: list[Message] = []
        self.reads: dict[str, list[ReadOutcome]] = {}
        self.snapshots_needed: list[tuple[str, str]] = []
        #: Nodes whose log is not synced by itself.
        self.slow: set[str] = set()
        #: Nodes whose committed entries are not applied by themselves.
        self.idle: set[str] = set()
        #: Links on which everything is lost.
        self.cut: set[tuple[str, str]] = set()
        for node in sorted(voters):
            self.add(node)
            self.replicas[node].bootstrap(self.first)
            self.sync(node)
        for node in learners:
            self.add(node)

    peer = staticmethod(peer)
    configuration = staticmethod(configuration)

    @property
    def leader(self) -> Replica:
        leaders = [replica for replica in self.replicas.values() if replica.role == LEADER]
        return max(leaders, key=lambda replica: replica.term)

    def add(self, node: str, journal: MemoryJournal | None = None) -> Replica:
        """Start a replica with what its journal and its store hold."""
        self.seed += 1
        store = self.stores.setdefault(node, Store())
        self.journals[node] = journal or MemoryJournal()
        self.reads[node] = []
        self.replicas[node] = self.replica_type(
            peer(node),
            self.journals[node],
            applied=store.applied,
            stored=store.stored,
            clock=lambda: self.now,
            rng=random.Random(self.seed),
            timing=self.timing,
            limits=self.limits,
        )
        return self.replicas[node]

    def restart(self, node: str) -> Replica:
        """Crash and start again: writes that were not synced are lost, and so is what was sent."""
        durable = self.journals[node].as_of(self.replicas[node].log.synced_sequence)
        self.wire = [message for message in self.wire if message.target.node != node]
        return self.add(node, durable)

    def sync(self, node: str) -> None:
        self.replicas[node].synced(self.journals[node].written)

    def apply(self, node: str, max_bytes: int = 1 << 20) -> list[Entry]:
        replica, store = self.replicas[node], self.stores[node]
        entries = replica.take_committed(max_bytes)
        if entries:
            commands = [entry for entry in entries if entry.kind is EntryKind.COMMAND]
            store.payloads += tuple(entry.payload for entry in commands)
            store.applied = entries[-1].index
            store.stored = Stored(*replica.log.configuration_at(store.applied))
            replica.applied_to(store.applied)
        return entries

    def turn(self, node: str) -> list[Message]:
        """Take what a replica gives out; messages to cut-off nodes are lost."""
        replica = self.replicas[node]
        messages = replica.take_messages()
        if node not in self.slow:
            self.sync(node)
            messages += replica.take_messages()
        while node not in self.idle and self.apply(node):
            pass
        self.reads[node] += replica.take_reads()
        needed = replica.take_snapshots_needed()
        self.snapshots_needed += [(node, follower.node) for follower in needed]
        self.sent += messages
        self.wire += [m for m in messages if (node, m.target.node) not in self.cut]
        return messages

    def settle(self) -> None:
        for _ in range(10_000):
            for node in sorted(self.replicas):
                self.turn(node)
            if not self.wire:
                return
            message = self.wire.pop(0)
            if message.target.node in self.replicas:
                self.replicas[message.target.node].receive(message)
        raise AssertionError("the group goes on for ever while the clock stands still")

    def advance(self, seconds: float) -> None:
        """Let time pass, from deadline to deadline, with everything else at once."""
        until = self.now + seconds
        self.settle()
        while True:
            due = min(replica.deadline for replica in self.replicas.values())
            if due > until:
                self.now = until
                return
            self.now = max(self.now, due)
            for node in sorted(self.replicas):
                if self.replicas[node].deadline <= self.now:
                    self.replicas[node].tick()
            self.settle()

    def campaign(self, node: str) -> None:
        """Let a replica's election timeout pass, when nobody has heard a leader for a while."""
        self.now += self.timing.election_max_s
        self.replicas[node].election_deadline = self.now
        self.replicas[node].tick()

    def elect(self, node: str) -> Replica:
        self.campaign(node)
        self.settle()
        assert self.replicas[node].role == LEADER
        return self.replicas[node]

    def isolate(self, node: str) -> None:
        for other in self.replicas:
            self.cut |= {(node, other), (other, node)}

    def say(
        self, source: str, target: str, body: Body, *, term: int, config_index: int = 1
    ) -> list[Message]:
        """Hand a message over, and return what its receiver says then."""
        self.turn(target)
        told = Message(peer(source), peer(target), term, config_index, body)
        self.replicas[target].receive(told)
        return self.turn(target)

    def bodies(self, node: str, kind: type[Body]) -> list[Body]:
        """What a node said of one kind so far."""
        return [m.body for m in self.sent if m.source.node == node and isinstance(m.body, kind)]


def entries(first: int, *terms: int, payload: bytes = b"x") -> tuple[Entry, ...]:
    return tuple(
        Entry(first + ahead, term, EntryKind.COMMAND, payload) for ahead, term in enumerate(terms)
    )


@pytest.fixture
def new_group() -> Callable[..., Group]:
    return Group


@pytest.fixture
def group() -> Group:
    """Three voters, formed, without a leader."""
    return Group()


@pytest.fixture
def commands() -> Callable[..., tuple[Entry, ...]]:
    """Commands from an index on, one of each term."""
    return entries


@pytest.fixture
def configured() -> Callable[..., Configuration]:
    return configuration


@pytest.fixture
def new_journal() -> Callable[[Iterable[Entry]], MemoryJournal]:
    def make(held: Iterable[Entry] = ()) -> MemoryJournal:
        return MemoryJournal(Content(entries=tuple(held)))

    return make
