"""One shard's part of the node's log."""

# What a method does is documented at its port, `Journal`.
# ruff: noqa: D102

from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final, NamedTuple

from quorate.consensus.journal import HardState, Position
from quorate.consensus.messages import Entry, weight
from quorate.storage.engine.port import Batch, DamagedError, Engine
from quorate.storage.log.records import Records, SavedState
from quorate.storage.log.witness import Durable, Witnesses

#: All shards share one family: an idle family would retain old files.
FAMILY: Final = "log"


class _Run(NamedTuple):
    """The entries from `first` to the next run are of one term."""

    first: int
    term: int


class ShardJournal:
    """Implements `quorate.consensus.journal.Journal`; holds no entries in memory."""

    def __init__(
        self,
        shard: str,
        engine: Engine,
        witnesses: Witnesses,
        write: Callable[["ShardJournal", Batch], int],
        applied: int,
    ) -> None:
        self.shard: Final = shard
        self._engine: Final = engine
        self._witnesses: Final = witnesses
        self._write: Final = write
        self._records: Final = Records(shard)
        self.sentinel = Position(0, 0)
        self._last_index = 0
        self._runs: list[_Run] = []
        #: The weight of each entry, in order.
        self._weights: Final[deque[int]] = deque()
        #: The weight of all entries.
        self.weight = 0
        self._saved = SavedState(0, HardState(0, None))
        #: The number of this shard's newest write since the log was opened; 0 before it.
        self.written = 0
        #: Writes that may not be durable: (sequence, the state to record once it is).
        self._unsynced: Final[deque[tuple[int, Durable]]] = deque()
        self.applied = witnesses.applied(shard)
        self._load()
        self._durable = witnesses.read(shard) or Durable(0, 0)
        self._check_end(applied)

    @property
    def last(self) -> Position:
        if not self._runs:
            return self.sentinel
        return Position(self._last_index, self._runs[-1].term)

    @property
    def hard_state(self) -> HardState:
        return self._saved.state

    def term_of(self, index: int) -> int | None:
        if index == self.sentinel.index:
            return self.sentinel.term
        if not self.sentinel.index < index <= self._last_index:
            return None
        return self._runs[bisect_right(self._runs, index, key=_first_of) - 1].term

    def read(self, first: int, last: int, max_bytes: int) -> list[Entry]:
        if not self.sentinel.index < first <= last <= self._last_index:
            raise ValueError(
                f"shard {self.shard} was asked for entries {first} to {last} and holds"
                f" {self.sentinel.index + 1} to {self._last_index}"
            )
        records, room = self._records, max_bytes
        taken: list[Entry] = []
        rows = self._engine.iterate(FAMILY, records.entry_key(first), records.entry_key(last + 1))
        try:
            for key, value in rows:
                entry = records.decode_entry(key, value)
                if entry.index != first + len(taken):
                    raise records.damaged(f"lacks entry {first + len(taken)}")
                room -= weight(entry)
                if room < 0 and taken:
                    return taken
                taken.append(entry)
        except DamagedError as error:
            raise records.damaged(f"cannot be read after index {first + len(taken) - 1}") from error
        if len(taken) <= last - first:
            raise records.damaged(f"lacks entry {first + len(taken)}")
        return taken

    def tail_from(self, max_entries: int, max_bytes: int) -> int:
        """Return the index to compact to, so that the entries after it are within both bounds."""
        kept = 0
        for size in islice(reversed(self._weights), max_entries):
            max_bytes -= size
            if max_bytes < 0:
                break
            kept += 1
        return self._last_index - kept

    def append(self, entries: Sequence[Entry]) -> None:
        records, batch, last = self._records, Batch(), self.last
        runs: list[_Run] = []
        for entry in entries:
            if entry.index != last.index + 1 or entry.term < last.term:
                raise ValueError(f"{entry.index, entry.term} does not follow {last}")
            if entry.term != last.term or (not self._runs and not runs):
                runs.append(_Run(entry.index, entry.term))
            last = Position(entry.index, entry.term)
            key = records.entry_key(entry.index)
            batch.put(FAMILY, key, records.encode_entry(key, entry))
        self._change(batch)
        self._runs += runs
        self._last_index = last.index
        for entry in entries:
            self._weigh(entry)
        self._record_write()

    def truncate_from(self, index: int) -> None:
        if not self.sentinel.index < index <= self._last_index:
            raise ValueError(f"shard {self.shard} holds no entry {index} to drop")
        self._lower_to(index - 1)
        batch = Batch()
        self._drop(batch, index, self._last_index)
        self._change(batch)
        for _ in range(index, self._last_index + 1):
            self.weight -= self._weights.pop()
        self._last_index = index - 1
        while self._runs and self._runs[-1].first >= index:
            self._runs.pop()
        self._record_write()

    def compact_to(self, index: int) -> None:
        term = self.term_of(index)
        if term is None:
            raise ValueError(f"shard {self.shard} holds no entry {index} to cut at")
        if index == self.sentinel.index:
            return
        sentinel, batch = Position(index, term), Batch()
        batch.put(FAMILY, self._records.sentinel_key, self._records.encode_sentinel(sentinel))
        self._drop(batch, self.sentinel.index + 1, index)
        self._change(batch)
        for _ in range(self.sentinel.index, index):
            self.weight -= self._weights.popleft()
        self.sentinel = sentinel
        # The run of the sentinel stays, so that the last one is always that of the last position.
        del self._runs[: bisect_right(self._runs, index, key=_first_of) - 1]
        self._record_write()

    def reset(self, position: Position) -> None:
        self._lower_to(position.index)
        batch = Batch()
        if self._last_index > self.sentinel.index:
            self._drop(batch, self.sentinel.index + 1, self._last_index)
        batch.put(FAMILY, self._records.sentinel_key, self._records.encode_sentinel(position))
        self._change(batch)
        self.sentinel, self._last_index = position, position.index
        self._runs.clear()
        self._weights.clear()
        self.weight = 0
        self._record_write()

    def save_hard_state(self, state: HardState) -> None:
        saved, batch = SavedState(self._saved.number + 1, state), Batch()
        batch.put(FAMILY, self._records.hard_state_key, self._records.encode_hard_state(saved))
        self._change(batch)
        self._saved = saved
        self._record_write()

    def note_applied(self, index: int) -> None:
        self._witnesses.note_applied(self.shard, index)

    def synced(self, sequence: int) -> bool:
        """Record at the witness that writes up to `sequence` are durable; True if all are."""
        durable = None
        while self._unsynced and self._unsynced[0][0] <= sequence:
            durable = self._unsynced.popleft()[1]
        if durable is not None and durable != self._durable:
            self._witnesses.write(self.shard, durable)
            self._durable = durable
        return not self._unsynced

    def _weigh(self, entry: Entry) -> None:
        self._weights.append(weight(entry))
        self.weight += self._weights[-1]

    def _change(self, batch: Batch) -> None:
        self.written = self._write(self, batch)

    def _record_write(self) -> None:
        self._unsynced.append((self.written, Durable(self._last_index, self._saved.number)))

    def _drop(self, batch: Batch, first: int, last: int) -> None:
        batch.delete_range(
            FAMILY, self._records.entry_key(first), self._records.entry_key(last + 1)
        )

    def _lower_to(self, index: int) -> None:
        """Lower the witness to `index`, now and after a running sync.

        The log may lose its end as soon as that is written, synced or not; the witness must be
        lower before, for good.
        """
        for place, (sequence, durable) in enumerate(self._unsynced):
            self._unsynced[place] = (
                sequence,
                durable._replace(last_index=min(durable.last_index, index)),
            )
        if self._durable.last_index > index:
            self._durable = self._durable._replace(last_index=index)
            self._witnesses.write(self.shard, self._durable)
            self._witnesses.sync(self.shard)

    def _load(self) -> None:
        records = self._records
        try:
            for key, value in self._engine.iterate(FAMILY, records.start, records.end):
                if key == records.hard_state_key:
                    self._saved = records.decode_hard_state(value)
                elif key == records.sentinel_key:
                    self.sentinel = records.decode_sentinel(value)
                    self._last_index = self.sentinel.index
                else:
                    self._take(records.decode_entry(key, value))
        except DamagedError as error:
            raise records.damaged(f"cannot be read after index {self._last_index}") from error

    def _take(self, entry: Entry) -> None:
        last = self.last
        if entry.index != last.index + 1:
            raise self._records.damaged(f"lacks entry {last.index + 1}")
        if entry.term < last.term:
            raise self._records.damaged(f"goes back to term {entry.term} at entry {entry.index}")
        if not self._runs or entry.term != last.term:
            self._runs.append(_Run(entry.index, entry.term))
        self._last_index = entry.index
        self._weigh(entry)

    def _check_end(self, applied: int) -> None:
        needed = max(self._durable.last_index, applied)
        if self._last_index < needed:
            raise self._records.damaged(
                f"ends at index {self._last_index} and was durable up to index {needed}"
            )
        if self._saved.number < self._durable.states:
            raise self._records.damaged(
                f"holds term and vote number {self._saved.number} (its last index is"
                f" {self._last_index}) and number {self._durable.states} was durable"
            )


def _first_of(run: _Run) -> int:
    return run.first
