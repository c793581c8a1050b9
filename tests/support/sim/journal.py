"""A shard's journal, with everything that is written to it made known."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from quorate.consensus.journal import HardState, Position
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import Entry, EntryKind, Peer
from quorate.shards.shard.log_keeper import TailJournal
from quorate.storage.data.shard_data import ShardData

from tests.support.sim import facts

Tell = Callable[[facts.Fact], None]


class ObservedJournal:
    """Implements `TailJournal` over another one."""

    def __init__(
        self,
        shard: str,
        peer: Peer,
        journal: TailJournal,
        data: ShardData,
        position: Callable[[], int],
        tell: Tell,
    ) -> None:
        self.shard: Final = shard
        self._peer: Final = peer
        self._journal: Final = journal
        self._data: Final = data
        #: Says which batch of the node's disk was written last.
        self._position: Final = position
        self._tell: Final = tell
        self._unsynced: Final[deque[int]] = deque()
        self.last = journal.last
        self._opened()

    @property
    def sentinel(self) -> Position:
        """The position right before the first entry."""
        return self._journal.sentinel

    @property
    def hard_state(self) -> HardState:
        """The newest hard state that was saved."""
        return self._journal.hard_state

    @property
    def written(self) -> int:
        """The number of the newest write."""
        return self._journal.written

    @property
    def applied(self) -> int:
        """An index up to which entries were applied before it was opened."""
        return self._journal.applied

    def note_applied(self, index: int) -> None:
        """Note that entries were applied."""
        self._journal.note_applied(index)

    def term_of(self, index: int) -> int | None:
        """Return the term at an index."""
        return self._journal.term_of(index)

    def read(self, first: int, last: int, max_bytes: int) -> list[Entry]:
        """Return entries."""
        return self._journal.read(first, last, max_bytes)

    @property
    def weight(self) -> int:
        """The bytes of all entries."""
        return self._journal.weight

    def tail_from(self, max_entries: int, max_bytes: int) -> int:
        """Return the index to cut at for the entries behind it to be within both bounds."""
        return self._journal.tail_from(max_entries, max_bytes)

    def _opened(self) -> None:
        first, last = self.sentinel.index + 1, self.last.index
        entries = self.read(first, last, 1 << 30) if first <= last else []
        self._tell(
            facts.Opened(
                self.shard,
                self._peer,
                self.sentinel,
                tuple(entry.term for entry in entries),
                tuple(
                    (entry.index, Configuration.decode(entry.payload))
                    for entry in entries
                    if entry.kind is EntryKind.CONFIG
                ),
                self.hard_state,
                self._data.applied,
                _configuration(self._data),
                self._data.installed,
            )
        )

    def append(self, entries: Sequence[Entry]) -> None:
        """Write entries."""
        previous = self.last
        self._journal.append(entries)
        self._wrote(facts.Appended(self.shard, self._peer, previous, tuple(entries)))

    def truncate_from(self, index: int) -> None:
        """Drop the end."""
        self._journal.truncate_from(index)
        self._wrote(facts.Truncated(self.shard, self._peer, index))

    def compact_to(self, index: int) -> None:
        """Drop the beginning."""
        if index > self.sentinel.index:
            self._journal.compact_to(index)
            self._wrote(facts.Compacted(self.shard, self._peer, index))

    def reset(self, position: Position) -> None:
        """Drop everything."""
        self._journal.reset(position)
        self._wrote(facts.Reset(self.shard, self._peer, position, _configuration(self._data)))

    def save_hard_state(self, state: HardState) -> None:
        """Write the hard state."""
        self._journal.save_hard_state(state)
        self._wrote(facts.StateSaved(self.shard, self._peer, state))

    def synced(self, position: int) -> None:
        """Report which writes the disk made durable."""
        writes = 0
        while self._unsynced and self._unsynced[0] <= position:
            self._unsynced.popleft()
            writes += 1
        if writes:
            self._tell(facts.Synced(self.shard, self._peer, writes))

    def _wrote(self, fact: facts.Fact) -> None:
        self.last = self._journal.last
        self._unsynced.append(self._position())
        self._tell(fact)


def _configuration(data: ShardData) -> Configuration | None:
    stored = data.record.configuration
    return Configuration.decode(stored) if stored else None
