"""How long a shard's log is kept: opened beside the data, and cut behind what is durable there."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from quorate.consensus.journal import Journal
from quorate.storage.data.opening import check, log_needs_reset, needed_of_log
from quorate.storage.data.shard_data import ShardData
from quorate.storage.engine.port import FullError


class TailJournal(Journal, Protocol):
    """A journal that knows what its entries weigh."""

    @property
    def weight(self) -> int:
        """The bytes of all entries."""

    def tail_from(self, max_entries: int, max_bytes: int) -> int:
        """Return the index to cut at for the entries behind it to be within both bounds."""


class JournalOpener(Protocol):
    """The node's log."""

    def journal(self, shard: str, applied: int = 0) -> TailJournal:
        """Open a shard's journal, which must reach the index that is applied."""


def open_journal(log: JournalOpener, shard: str, data: ShardData) -> TailJournal:
    """Open the journal that belongs to a shard's data.

    A snapshot that was installed right before a crash may be unknown to the log, which is then
    reset to it. Raises `JournalDamagedError` when the two do not belong together.
    """
    position = data.record.position
    journal = log.journal(shard, needed_of_log(data.installed, position))
    if data.installed is not None and log_needs_reset(data.installed, journal):
        journal.reset(data.installed)
    check(shard, position, journal)
    return journal


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPolicy:
    """What a log keeps behind the applied index for followers that lag, and when it is cut."""

    tail_entries: int = 10_000
    tail_bytes: int = 256 << 20
    #: Applied entries become durable no later than this after they were applied.
    flush_s: float = 5.0
    #: What a snapshot on its way may hold back.
    held_bytes: int = 1 << 30
    held_s: float = 1_800.0
    retry_s: float = 1.0


class LogHold:
    """Keeps the entries above an index, until it is released or costs too much."""

    def __init__(self, index: int, until: float, released: Callable[["LogHold"], None]) -> None:
        self.index: Final = index
        self.until: Final = until
        #: The entries are not kept any more, though nobody released them.
        self.broken = False
        self._released: Final = released

    def release(self) -> None:
        """Keep nothing any more; once is enough, twice does no harm."""
        self._released(self)


class LogKeeper:
    """Makes applied entries durable in the data, off the loop, and cuts the log behind them.

    A cut keeps three quarters of what the policy allows, so that what comes until the next one
    stays within it.
    """

    def __init__(
        self,
        data: ShardData,
        journal: TailJournal,
        loop: asyncio.AbstractEventLoop,
        clock: Callable[[], float],
        policy: LogPolicy,
        *,
        cut: Callable[[int], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._data: Final = data
        self._journal: Final = journal
        self._loop: Final = loop
        self._clock: Final = clock
        self._policy: Final = policy
        self._cut: Final = cut
        self._failed: Final = failed
        self._entries = 0
        self._bytes = 0
        self._holds: Final[set[LogHold]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._running: asyncio.Future[None] | None = None
        #: A sync found the disk full: what it covered is in doubt until it is in files.
        self._in_doubt = False
        self._stopped = False

    @property
    def flushing(self) -> asyncio.Future[None] | None:
        """What runs beside the loop right now."""
        return self._running

    def applied(self, entries: int, size: int) -> None:
        """Record entries that were applied; flush when there are many of them."""
        self._entries += entries
        self._bytes += size
        policy = self._policy
        if self._entries >= policy.tail_entries / 8 or self._bytes >= policy.tail_bytes / 8:
            self.flush()
        elif self._timer is None and not self._stopped:
            self._timer = self._loop.call_later(policy.flush_s, self._flush_in_time)

    def hold(self, index: int) -> LogHold:
        """Keep the entries above an index."""
        hold = LogHold(index, self._clock() + self._policy.held_s, self._holds.discard)
        self._holds.add(hold)
        return hold

    def flush(self) -> None:
        """Make durable what is applied, then cut; one at a time."""
        if self._running is not None or self._stopped:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._entries = self._bytes = 0
        index = self._data.begin_sync()
        work = self._write_files if self._in_doubt else self._data.sync
        self._running = self._loop.run_in_executor(None, work)
        self._running.add_done_callback(lambda done: self._flushed(index, done))

    def stop(self) -> None:
        """Begin nothing any more."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _flush_in_time(self) -> None:
        self._timer = None
        self.flush()

    def _write_files(self) -> None:
        self._data.flush()
        self._data.sync()

    def _flushed(self, index: int, done: asyncio.Future[None]) -> None:
        self._running = None
        error = None if done.cancelled() else done.exception()
        if done.cancelled() or self._stopped:
            return
        if isinstance(error, FullError):
            self._in_doubt = True
            self._timer = self._loop.call_later(self._policy.retry_s, self._flush_in_time)
        elif isinstance(error, Exception):
            self._failed(error)
        else:
            self._in_doubt = False
            self._data.synced(index)
            self._cut_behind()
            # What was applied meanwhile is not covered, and may be the last for long.
            if self._entries and self._timer is None and not self._stopped:
                self._timer = self._loop.call_later(self._policy.flush_s, self._flush_in_time)

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


class LogWaits:
    """Ends each wait with the sync that its writes are within."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop: Final = loop
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def until(self, sequence: int) -> asyncio.Future[None]:
        """Return when the log's writes up to this number are durable."""
        told: asyncio.Future[None] = self._loop.create_future()
        self._waiting.append((sequence, told))
        return told

    def synced(self, sequence: int) -> None:
        """Record that the log's writes up to this number are durable."""
        if not self._waiting:
            return
        waiting, self._waiting = self._waiting, []
        for needs, told in waiting:
            if needs > sequence:
                self._waiting.append((needs, told))
            elif not told.done():
                told.set_result(None)

    def end(self, error: Exception) -> None:
        """End every wait in vain."""
        for _, told in self._waiting:
            if not told.done():
                told.set_exception(error)
        self._waiting.clear()
