"""The shards of a node in memory, as the router of a node sees its replicas."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final, cast

from google.protobuf.message import Message

from quorate.apply import slot_set
from quorate.apply.entries import Copies, LoggedCommand
from quorate.apply.levels import CORE_LEVEL
from quorate.apply.outcomes import Outcome as Answer, Refusal
from quorate.apply.sessions import number_at
from quorate.apply.slot_set import SlotSet
from quorate.apply.txn import ShardReader
from quorate.consensus.messages import Peer
from quorate.plugin import Rejected
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import even_cut
from quorate.shards.refusals import FencedError, LeaderlessError
from quorate.shards.routing.slot_map import SlotMap
from quorate.shards.shard.callbacks import StoreReaders
from quorate.shards.shard.reads import Staleness
from quorate.storage.families import SLOTS
from quorate.testing.shard import MemoryShard, Outcome

#: Applies a command on a shard.
Commit = Callable[[MemoryShard, LoggedCommand], Outcome]


class MemoryReplica:
    """A shard that its node leads alone: commands are applied as they are proposed."""

    leads = True
    leader: Peer | None = None
    leaderless_from = float("inf")
    is_publishing = False
    published = 0
    stopped: Exception | None = None

    def __init__(
        self,
        shard: MemoryShard,
        commit: Commit,
        now_ms: Callable[[], int],
        unreadable: Collection[tuple[str, int]],
    ) -> None:
        self.id: Final = ShardId(shard.group, shard.number)
        self.shard: Final = shard
        self.applier: Final = shard.applier
        self.data: Final = shard.data
        self.own_rows: Final = shard.applier.own_rows
        #: The term of its leader, and the logical time at which that began.
        self.term = 1
        self.led_since_ms = now_ms()
        #: By command: the type of the newest answer of its handler; None: it had none.
        self.answered: Final[dict[str, type[Message] | None]] = {}
        #: Returns the logical time of a command proposed now.
        self.now_ms: Final = now_ms
        #: Called after each entry, and when its history is lost.
        self.followers: Final = StoreReaders(cast("Any", RunningLoop()))
        self.readers: Final = StoreReaders(cast("Any", RunningLoop()))
        self._commit: Final = commit
        self._unreadable: Final = unreadable

    def propose(
        self,
        commands: Sequence[LoggedCommand],
        *,
        term: int | None = None,
        timeout_s: float | None = None,
    ) -> asyncio.Future[tuple[Answer, ...]]:
        """Apply commands, each as an entry of its own; raises the error of a handler."""
        if term is not None and term != self.term:
            raise FencedError(self.id, term=self.term, made_in=term)
        return _done(tuple(map(self._applied, commands)))

    def _applied(self, command: LoggedCommand) -> Answer:
        stamp = command.stamp
        if stamp is not None:
            # Each shard has a number of its own for the session.
            stamp = stamp._replace(session=number_at(stamp.session, self.id.number))
        # Copies lag by the test's own wish: no command waits for them.
        command = command._replace(stamp=stamp, copies=Copies.FRESH)
        outcome = self._commit(self.shard, command)
        self.answered[command.type] = outcome.answered
        refusal: Refusal | None = None
        if isinstance(outcome.failure, Rejected):
            refusal = Refusal(outcome.failure.code, outcome.failure.message)
        elif outcome.failure is not None:
            raise outcome.failure
        return Answer(outcome.revision, outcome.reply, refusal, outcome.forgotten)

    def read_barrier(
        self, timeout_s: float | None = None, *, patient: bool = True
    ) -> asyncio.Future[int]:
        """Return at once: all that was proposed is applied."""
        return _done(self.shard.applied)

    def wait_for(self, revision: int, timeout_s: float | None = None) -> asyncio.Future[int]:
        """Return at once; raises `TimeoutError` for a later revision: no write is in flight."""
        if revision > self.shard.revision:
            raise TimeoutError(f"shard {self.id} has not reached revision {revision}")
        return _done(self.shard.revision)

    def subscribe(self, callback: Callable[[int], None]) -> Callable[[], None]:
        """Call back after each entry; return what ends that."""
        return self.followers.add(lambda: callback(self.shard.applied))

    def on_replace(self, callback: Callable[[], None]) -> Callable[[], None]:
        """Call back when the history is lost, as when the database is replaced."""
        return self.readers.add(callback)

    def staleness(self) -> Staleness:
        """Return no age."""
        return Staleness(self.shard.revision, 0)

    def store_reader(self, reads: frozenset[str], copies: Copies = Copies.FRESH) -> ShardReader:
        """Return a reader of the shard; raises `LeaderlessError` if a test says so."""
        if (self.id.group, self.id.number) in self._unreadable:
            raise LeaderlessError(self.id)
        return self.shard.reader(reads)


def _done(result: Any) -> asyncio.Future[Any]:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.set_result(result)
    return future


class MemoryReplicas(dict[ShardId, MemoryReplica]):
    """All shards of the cluster, which has one node."""

    def __init__(
        self,
        catalog: Catalog,
        counts: Mapping[str, int],
        commit: Commit,
        now_ms: Callable[[], int],
        unreadable: Collection[tuple[str, int]],
    ) -> None:
        strangers = sorted(set(counts) - set(catalog.groups))
        if strangers:
            raise LookupError(
                f"shards are given for {', '.join(strangers)}, which no plugin declares"
            )
        numbers = {name: counts.get(name, group.shards) for name, group in catalog.groups.items()}
        #: The only slot map.
        self.slot_map: Final = SlotMap.initial(numbers)
        super().__init__()
        for group, number in numbers.items():
            for each, slots in enumerate(even_cut(number)):
                shard = MemoryShard(catalog, group, each)
                shard.load([(SLOTS, slot_set.KEY, SlotSet(1, slots).encode())])
                shard.evaluator.begin()
                self[ShardId(group, each)] = MemoryReplica(shard, commit, now_ms, unreadable)

    def of(self, group: str) -> list[MemoryShard]:
        """Return the shards of a group, in their order."""
        return [each.shard for id, each in self.items() if id.group == group]

    def level(self, feature: str) -> int:
        """Return the newest level: there is one release."""
        return CORE_LEVEL

    def knowing(self, command: str) -> Sequence[str]:
        """Return no other nodes."""
        return ()

    def is_unopened(self, shard: ShardId) -> bool:
        """Return False: all are open."""
        return False

    async def opened(self, shard: ShardId, until: float) -> None:
        """Return: all are open."""


class RunningLoop:
    """The loop that runs right now: a node in memory outlives the loops of a test."""

    def time(self) -> float:
        """Return the time of the running loop; others keep this method while none runs."""
        return asyncio.get_running_loop().time()

    def __getattr__(self, name: str) -> Any:
        return getattr(asyncio.get_running_loop(), name)
