"""Opens a shard's log together with its data, and compacts it."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from quorate.consensus.journal import Journal
from quorate.storage.data.opening import check, log_needs_reset, needed_of_log
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import FullError, StalledError

#: The time between two syncs in turn, in times of what the first one took.
_REST: Final = 2.0


class TailJournal(Journal, Protocol):
    """A journal that knows the size of its entries."""

    @property
    def weight(self) -> int:
        """The bytes of all entries."""

    def tail_from(self, max_entries: int, max_bytes: int) -> int:
        """Return the index to compact to, so that the entries after it are within both bounds."""


class JournalOpener(Protocol):
    """The node's log."""

    def journal(self, shard: str, applied: int = 0) -> TailJournal:
        """Open a shard's journal, which must reach the applied index."""


def open_journal(log: JournalOpener, shard: str, data: ShardData) -> TailJournal:
    """Open the journal of a shard's data.

    If a crash came right after the install of a snapshot, the log is reset to it. Raises
    `JournalDamagedError` if log and data do not match.
    """
    position = data.record.position
    journal = log.journal(shard, needed_of_log(data.installed, position))
    if data.installed is not None and log_needs_reset(data.installed, journal):
        journal.reset(data.installed)
    check(shard, position, journal)
    return journal


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPolicy:
    """How many applied entries a log keeps for lagging followers, and when it is compacted."""

    tail_entries: int = 10_000
    tail_bytes: int = 256 << 20
    #: Maximum time until applied entries become durable. After a crash those that are not are
    #: applied again.
    flush_s: float = 600.0
    #: Limit of the entries retained for snapshots in transfer.
    held_bytes: int = 1 << 30
    held_s: float = 1_800.0
    retry_s: float = 1.0


class LogHold:
    """Retains the entries above an index, until it is released or retains too much."""

    def __init__(self, index: int, until: float, released: Callable[["LogHold"], None]) -> None:
        self.index: Final = index
        self.until: Final = until
        #: Whether the entries were dropped before the release.
        self.broken = False
        self._released: Final = released

    def release(self) -> None:
        """Release the entries; may be called again."""
        self._released(self)


class SyncTurns:
    """Runs the background flushes of a node's shards one after the other.

    Hundreds of shards that were written to in the same seconds are due in the same seconds too:
    their syncs at once would keep the disk from the writes that somebody waits for.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._waiting: Final = deque[Callable[[], asyncio.Future[None] | None]]()
        self._busy = False

    def take(self, begin: Callable[[], asyncio.Future[None] | None]) -> None:
        """Begin a sync when it is its turn; `begin` returns None if there is nothing to do."""
        self._waiting.append(begin)
        if not self._busy:
            self._next()

    def _next(self) -> None:
        self._busy = False
        while self._waiting:
            began = self._loop.time()
            sync = self._waiting.popleft()()
            if sync is not None:
                self._busy = True
                sync.add_done_callback(partial(self._rest, began))
                return

    def _rest(self, began: float, _: object) -> None:
        self._loop.call_later(_REST * (self._loop.time() - began), self._next)


class LogKeeper:
    """Makes applied entries durable in the data, off the loop, and then compacts the log.

    A compaction keeps three quarters of the entries that the policy wants, and the next one comes
    after half as many more: the rows of fewer ones make files that are too small.
    """

    def __init__(
        self,
        data: ShardData,
        journal: TailJournal,
        loop: asyncio.AbstractEventLoop,
        policy: LogPolicy,
        turns: SyncTurns | None = None,
        *,
        cut: Callable[[int], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._data: Final = data
        self._journal: Final = journal
        self._loop: Final = loop
        self._clock: Final = loop.time
        self._policy: Final = policy
        self._turns: Final = turns or SyncTurns(loop)
        self._cut: Final = cut
        self._failed: Final = failed
        self._entries = 0
        self._bytes = 0
        self._holds: Final[set[LogHold]] = set()
        self._timer: asyncio.TimerHandle | None = None
        #: Whether it waits for its turn.
        self._waits = False
        #: The task off the loop, if any.
        self.flushing: asyncio.Future[None] | None = None
        self._stopped = False

    def applied(self, entries: int, size: int) -> None:
        """Record applied entries; flush if there are many."""
        self._entries += entries
        self._bytes += size
        policy = self._policy
        if self._entries >= policy.tail_entries / 2 or self._bytes >= policy.tail_bytes / 8:
            self.flush()
        else:
            self._plan()

    def hold(self, index: int) -> LogHold:
        """Retain the entries above an index."""
        hold = LogHold(index, self._clock() + self._policy.held_s, self._holds.discard)
        self._holds.add(hold)
        return hold

    def flush(self) -> None:
        """Make applied entries durable, then compact; one at a time."""
        if self.flushing is not None or self._stopped:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._entries = self._bytes = 0
        index = self._data.begin_sync()
        self.flushing = self._loop.run_in_executor(None, self._data.sync)
        self.flushing.add_done_callback(lambda done: self._flushed(index, done))

    def flush_in_turn(self) -> None:
        """Make applied entries durable as soon as it is this shard's turn."""
        if self._waits or self._stopped:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._wait_for_turn()

    def stop(self) -> None:
        """Stop."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _plan(self) -> None:
        if self._timer is None and not self._waits and not self._stopped:
            self._timer = self._loop.call_later(self._policy.flush_s, self._wait_for_turn)

    def _wait_for_turn(self) -> None:
        self._timer, self._waits = None, True
        self._turns.take(self._take_turn)

    def _take_turn(self) -> asyncio.Future[None] | None:
        self._waits = False
        self.flush()
        return self.flushing

    def _flushed(self, index: int, done: asyncio.Future[None]) -> None:
        self.flushing = None
        error = None if done.cancelled() else done.exception()
        if done.cancelled() or self._stopped:
            return
        if isinstance(error, FullError | StalledError):
            self._timer = self._loop.call_later(self._policy.retry_s, self._wait_for_turn)
        elif isinstance(error, Exception):
            self._failed(error)
        else:
            self._data.synced(index)
            self._cut_behind()
            # Entries applied meanwhile are not covered, and may be the last for a long time.
            if self._entries:
                self._plan()

    def _cut_behind(self) -> None:
        policy = self._policy
        wanted = self._journal.tail_from(policy.tail_entries * 3 // 4, policy.tail_bytes * 3 // 4)
        self._break_holds()
        index = min([wanted, self._data.durable_index, *(hold.index for hold in self._holds)])
        if index > self._journal.sentinel.index:
            self._cut(index)

    def _break_holds(self) -> None:
        now, over = self._clock(), self._journal.weight > self._policy.held_bytes
        for hold in [hold for hold in self._holds if over or hold.until <= now]:
            hold.broken = True
            self._holds.discard(hold)
