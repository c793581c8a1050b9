"""Who uses a cluster while its shards are split, and who splits them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from random import Random
from typing import Final, TypeVar

from quorate.plugin import Rejected, RowEvent
from quorate.plugin.advanced import SessionRef
from quorate.plugin.shard_id import METADATA
from quorate.shards.refusals import NotProposedError, OutcomeUnknownError, UnreadableError
from quorate.shards.watching.tokens import WatchToken
from quorate.shards.watching.watch import Watch

from tests.support.sim.splits.cluster import SplitCluster
from tests.support.sim.splits.ledger import Ledger
from tests.support.sim.splits.lists import GROUP, LISTS, key_of
from tests.support.sim.splits.process import SplitProcess
from tests.support.sim.v1.lists_pb2 import Append, Appended, List, ReadList, ReadLists

T = TypeVar("T")

_KEYS: Final = 24
#: After this a client takes it that its node is gone.
_PATIENCE_S: Final = 4.0
_SESSION_MS: Final = 10 * 60 * 1_000
#: The most shards of a run.
_MOST: Final = 6
_PASSING: Final = (NotProposedError, OutcomeUnknownError, UnreadableError)


class Load:
    """What all clients share."""

    def __init__(self, cluster: SplitCluster, ledger: Ledger) -> None:
        self.cluster: Final = cluster
        self.ledger: Final = ledger
        self.rng: Final = cluster.world.rng("clients")
        self.silent = False
        self.keys: Final = tuple(f"k{number}" for number in range(_KEYS))

    def any_node(self) -> SplitProcess | None:
        """Return a node that would answer."""
        serving = self.cluster.serving()
        return self.rng.choice(serving) if serving else None

    def again(self, rate: float, act: Callable[[], None]) -> None:
        """Act so many times a second, until all is to be silent."""
        if not self.silent and rate:
            act()
            self.cluster.world.at(self.rng.expovariate(rate), self.again, rate, act)

    def invent(self, key: str | None = None) -> Append:
        """Think of an append unlike any other."""
        ttl_ms = self.rng.randint(50, 4_000) if self.rng.random() < 0.3 else 0
        operation = self.cluster.next_number()
        append = Append(operation=operation, key=key or self.rng.choice(self.keys), ttl_ms=ttl_ms)
        self.ledger.began(append)
        return append

    def ask(self, process: SplitProcess, act: Callable[[], Awaitable[None]]) -> None:
        """Have a node do something."""

        async def guarded() -> None:
            try:
                await act()
            except _PASSING:
                self.cluster.counts["unanswered"] += 1
            except Exception as error:  # noqa: BLE001 - nothing else may come of a call
                self.ledger.fail("calls end as they may", f"{type(error).__name__}: {error}")

        def begin() -> None:
            process.loop.create_task(guarded())

        process.loop.post(0.0, begin)


class Clients:
    """Append and read once each, wherever."""

    def __init__(self, load: Load) -> None:
        self._load: Final = load
        profile = load.cluster.profile
        load.cluster.world.at(0.5, load.again, profile.proposals, self._append)
        load.cluster.world.at(0.5, load.again, profile.reads, self._read)
        load.cluster.world.at(0.5, load.again, profile.reads / 5, self._read_all)

    def _append(self) -> None:
        process, load = self._load.any_node(), self._load
        if process is None:
            return
        append = load.invent()

        async def act() -> None:
            try:
                answer = await process.groups.propose(append)
            except NotProposedError:
                load.ledger.refused(append)
                raise
            load.cluster.counts["acknowledged"] += 1
            load.ledger.answered(append, Appended.FromString(answer.reply))

        load.ask(process, act)

    def _read(self) -> None:
        process, load = self._load.any_node(), self._load
        if process is None:
            return
        key = load.rng.choice(load.keys)
        floor = load.ledger.floors[key]

        async def act() -> None:
            found = await process.groups.reads.read(ReadList(key=key), List)
            load.cluster.counts["reads"] += 1
            operations = found.rows[0].operations if found.rows else ()
            load.ledger.saw(key, operations, f"a reader at {process.disk.peer.node}", floor)

        load.ask(process, act)

    def _read_all(self) -> None:
        process, load = self._load.any_node(), self._load
        if process is None:
            return
        floors = dict(load.ledger.floors)

        async def act() -> None:
            found = await process.groups.reads.read(ReadLists(), List)
            load.cluster.counts["lists"] += 1
            seen = {row.key: row.operations for row in found.rows}
            for key in load.keys:
                who = f"a reader of all at {process.disk.peer.node}"
                load.ledger.saw(key, seen.get(key, ()), who, floors.get(key, 0))

        load.ask(process, act)


class OnceClient:
    """Appends to one list, one after the other, each as often as it takes to know the answer."""

    def __init__(self, load: Load, number: int) -> None:
        self._load: Final = load
        self._world: Final = load.cluster.world
        self._key: Final = load.keys[number]
        self._session = 0
        self._sequence = 0
        self._append: Append | None = None
        #: Whether the last answer got lost on its way.
        self._lost = False
        self._tries = 0
        self._world.at(1.0, self._go_on)

    def _go_on(self) -> None:
        """Try again: nothing came of the last try."""
        if self._load.silent:
            return
        self._tries += 1
        tries, process = self._tries, self._load.any_node()
        self._world.at(_PATIENCE_S, self._give_up, tries)
        if process is None:
            return
        if not self._session:
            self._load.ask(process, lambda: self._open(process, tries))
            return
        if self._append is None:
            self._sequence += 1
            self._append = self._load.invent(self._key)
        append = self._append
        # Some try in two places at once.
        other = self._load.any_node() if self._load.rng.random() < 0.3 else None
        self._load.ask(process, lambda: self._try(process, append, tries))
        if other is not None:
            self._load.ask(other, lambda: self._try(other, append, tries))

    def _give_up(self, tries: int) -> None:
        if tries == self._tries:
            self._go_on()

    async def _open(self, process: SplitProcess, tries: int) -> None:
        key = key_of(self._key)
        session = await process.groups.open_session(GROUP, key, ttl_ms=_SESSION_MS)
        if not self._session:
            self._session = session
            self._next(tries)

    async def _try(self, process: SplitProcess, append: Append, tries: int) -> None:
        ref = SessionRef(
            session=self._session, sequence=self._sequence, lowest_unanswered=self._sequence
        )
        try:
            answer = await process.groups.propose(append, session=ref)
        except _PASSING:
            self._world.at(0.2, self._give_up, tries)
            raise
        except Rejected as refusal:
            # The other try may have been answered, and the next operation begun.
            if self._append is append:
                raise RuntimeError(f"a session is refused: {refusal}") from refusal
            return
        self._load.cluster.counts["session commands"] += 1
        self._load.ledger.answered(append, Appended.FromString(answer.reply))
        if self._append is append:
            self._lost = not self._lost and self._load.rng.random() < 0.6
            if not self._lost:
                self._append = None
            self._next(tries)

    def _next(self, tries: int) -> None:
        if tries == self._tries:
            self._world.at(self._load.rng.expovariate(4.0), self._give_up, tries)


class Watcher:
    """Follows all lists, from node to node, by tokens."""

    def __init__(self, load: Load, number: int) -> None:
        self._load: Final = load
        self._cluster: Final = load.cluster
        self._rng: Final[Random] = load.cluster.world.rng(f"watcher/{number}")
        self._name: Final = f"watcher {number}"
        self._token = b""
        #: What it had seen of each list at its token, and has seen since.
        self._seen: dict[str, tuple[int, ...]] = {}
        self._now: dict[str, tuple[int, ...]] = {}
        self._listed = False
        self._at: SplitProcess | None = None
        self._watch: Watch | None = None
        self._cluster.world.at(self._rng.uniform(0.5, 2.0), self._look)

    def missing(self) -> str | None:
        """Say what it has not seen of what is there at the end."""
        if not self._listed:
            return f"{self._name} has no list of the rows"
        orders = self._load.ledger.orders
        for key, order in orders.items():
            if order and list(self._now.get(key, ())) != order:
                return f"{self._name} saw {self._now.get(key)} of {key}, which is {order}"
        return None

    def _look(self) -> None:
        at, moves = self._at, not self._load.silent and self._rng.random() < 0.15
        if at is None or at.has_ended() or self._watch is None or moves:
            self._leave()
            self._begin()
        self._cluster.world.at(self._rng.uniform(0.1, 1.0), self._look)

    def _leave(self) -> None:
        if self._at is not None and self._watch is not None and not self._at.has_ended():
            self._at.loop.post(0.0, self._watch.close)
        self._at = self._watch = None

    def _begin(self) -> None:
        serving = self._cluster.serving()
        if serving:
            at = self._rng.choice(serving)
            at.loop.post(0.0, self._open, at)

    def _open(self, at: SplitProcess) -> None:
        shards = at.shards.slot_map.shards(GROUP) if GROUP in _groups(at) else ()
        if self._at is not None or not shards:
            return
        self._cluster.counts["watches"] += 1
        self._at, self._now, self._listed = at, dict(self._seen), bool(self._token)
        watch = self._watch = at.watches.open({LISTS: b""}, shards, self._token)
        at.loop.create_task(self._follow(watch))

    async def _follow(self, watch: Watch) -> None:
        async for seen in watch:
            if self._watch is not watch:
                return
            if seen.resync:
                self._cluster.counts["resyncs"] += 1
                self._token, self._seen, self._now, self._listed = b"", {}, {}, False
                self._at = self._watch = None
                return
            if isinstance(seen.event, RowEvent):
                row = List.FromString(seen.event.value or b"")
                self._take(row.key, tuple(row.operations))
            if seen.token:
                self._listed = True
                self._token, self._seen = seen.token, dict(self._now)
                WatchToken.decode(seen.token)

    def _take(self, key: str, operations: tuple[int, ...]) -> None:
        self._load.ledger.saw(key, operations, self._name)
        if self._listed:
            self._cluster.counts["watched events"] += 1
            if operations[:-1] != self._now.get(key, ()):
                self._load.ledger.fail(
                    "watches are complete",
                    f"{self._name} is told of {operations} in {key} after {self._now.get(key)}",
                )
        self._now[key] = operations


class Splitter:
    """Splits shards at random, and takes some splits back."""

    def __init__(self, load: Load) -> None:
        self._load: Final = load
        self._cluster: Final = load.cluster
        self._rng: Final = load.cluster.world.rng("splits")
        self._cluster.world.at(self._rng.uniform(1.0, 3.0), self._go_on)

    def _go_on(self) -> None:
        if self._load.silent:
            return
        process = self._load.any_node()
        groups = self._cluster.slot_map
        shards = [each for each in groups.all() if each != METADATA]
        if process is not None and shards and len(shards) < _MOST:
            shard = self._rng.choice(shards)
            into = self._rng.randint(2, 4)

            async def act() -> None:
                try:
                    await process.splitting.split(shard, into, check_only=False)
                except Rejected:
                    self._cluster.counts["splits refused"] += 1
                else:
                    self._cluster.counts["splits begun"] += 1

            async def cancel() -> None:
                try:
                    await process.splitting.cancel(shard)
                except Rejected:
                    self._cluster.counts["cancels refused"] += 1
                else:
                    self._cluster.counts["splits cancelled"] += 1

            self._load.ask(process, act)
            if self._rng.random() < 0.3:
                later = self._rng.uniform(0.0, 0.2)
                self._cluster.world.at(later, self._load.ask, process, cancel)
        self._cluster.world.at(self._rng.uniform(0.3, 2.0), self._go_on)


class Merger:
    """Merges shards at random, and takes some merges back."""

    def __init__(self, load: Load) -> None:
        self._load: Final = load
        self._cluster: Final = load.cluster
        self._rng: Final = load.cluster.world.rng("merges")
        self._cluster.world.at(self._rng.uniform(2.0, 4.0), self._go_on)

    def _go_on(self) -> None:
        if self._load.silent:
            return
        process = self._load.any_node()
        shards = [each for each in self._cluster.slot_map.all() if each != METADATA]
        if process is not None and len(shards) > 1:
            one, other = self._rng.sample(shards, 2)

            async def act() -> None:
                try:
                    await process.splitting.merge(one, other)
                except Rejected:
                    self._cluster.counts["merges refused"] += 1
                else:
                    self._cluster.counts["merges begun"] += 1

            async def cancel() -> None:
                try:
                    await process.splitting.cancel_merge(one)
                except Rejected:
                    self._cluster.counts["merge cancels refused"] += 1
                else:
                    self._cluster.counts["merges cancelled"] += 1

            self._load.ask(process, act)
            if self._rng.random() < 0.3:
                later = self._rng.uniform(0.0, 0.2)
                self._cluster.world.at(later, self._load.ask, process, cancel)
        self._cluster.world.at(self._rng.uniform(0.3, 1.5), self._go_on)


def _groups(process: SplitProcess) -> set[str]:
    return {each.group for each in process.shards.slot_map.all()}
