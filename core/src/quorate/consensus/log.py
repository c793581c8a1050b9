"""A replica's log over its journal: cached entries, durability and configurations."""

from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

import pysyncobj.journal

from quorate.consensus.journal import HardState, Journal, Position
from quorate.consensus.membership import Configuration
from quorate.consensus.messages import CONFIG, Entry, Peer, weight


class Stored(NamedTuple):
    """The configuration stored with the applied index in the state machine's store."""

    index: int  # type: ignore[assignment]  # it hides the method of tuples
    configuration: Configuration | None


class RaftLog(pysyncobj.journal.Journal):
    """The journal, the entries at its end in memory, its durable part, and its configurations."""

    def __init__(self, journal: Journal, stored: Stored, tail_bytes: int) -> None:
        self.journal: Final = journal
        self._tail_bytes: Final = tail_bytes
        self._tail: list[Entry] = []
        self._tail_weight = 0
        #: Entry writes that may not be durable yet: (sequence, last index that it covers).
        self._unsynced: deque[tuple[int, int]] = deque()
        #: The number of the newest write that is durable.
        self.synced_sequence = journal.written
        self.synced_index = journal.last.index
        self._state_sequence = journal.written
        #: The position of the last entry.
        self.last = journal.last
        #: The configurations of the log in order, after the stored one.
        self._configurations: list[tuple[int, Configuration | None]] = [stored]
        self._find_configurations(stored.index)

    # What the log holds.

    @property
    def first_index(self) -> int:
        """The index of the first entry that is there, or would be."""
        return self.journal.sentinel.index + 1

    @property
    def sentinel(self) -> Position:
        """The position right before the first entry."""
        return self.journal.sentinel

    def term_of(self, index: int) -> int | None:
        """Return the term at an index; None where the log holds nothing."""
        if index == self.last.index:
            return self.last.term
        if self._tail and index >= self._tail[0].index:
            offset = index - self._tail[0].index
            return self._tail[offset].term if offset < len(self._tail) else None
        return self.journal.term_of(index)

    def slice(self, first: int, last: int, max_bytes: int) -> list[Entry]:
        """Return entries from `first` to `last`: at least one, at most `max_bytes` of them."""
        if not self._tail or first < self._tail[0].index:
            return self.journal.read(first, last, max_bytes)
        offset = first - self._tail[0].index
        if first == last:
            return self._tail[offset : offset + 1]
        taken: list[Entry] = []
        room = max_bytes
        for position in range(offset, min(offset + last - first + 1, len(self._tail))):
            entry = self._tail[position]
            room -= weight(entry)
            if room < 0 and taken:
                break
            taken.append(entry)
        return taken

    # What is durable.

    @property
    def state_sequence(self) -> int:
        """The number of the newest write of the hard state: what any message depends on."""
        return self._state_sequence

    def sequence_of(self, index: int) -> int:
        """Return the sequence of the write that must be durable to acknowledge `index`."""
        for sequence, covered in self._unsynced:
            if covered >= index:
                return max(sequence, self._state_sequence)
        return self._state_sequence

    def synced(self, sequence: int) -> None:
        """Record that every write up to this number is durable."""
        self.synced_sequence = max(self.synced_sequence, sequence)
        while self._unsynced and self._unsynced[0][0] <= self.synced_sequence:
            self.synced_index = self._unsynced.popleft()[1]

    # How it changes.

    def append(self, entries: Sequence[Entry]) -> None:
        """Append entries."""
        # First: an invalid configuration must not reach the disk.
        configurations = _configurations(entries)
        self.journal.append(entries)
        last = entries[-1]
        self.last = Position(last.index, last.term)
        self._tail.extend(entries)
        self._tail_weight += sum(map(weight, entries))
        self._unsynced.append((self.journal.written, last.index))
        self._configurations += configurations
        if self._tail_weight > self._tail_bytes:
            self._bound_tail()

    def truncate_from(self, index: int) -> None:
        """Drop the entries at and above an index, and the configurations among them."""
        self.journal.truncate_from(index)
        self.last = self.journal.last
        if self._tail:
            del self._tail[max(0, index - self._tail[0].index) :]
            self._tail_weight = sum(map(weight, self._tail))
        self.synced_index = min(self.synced_index, index - 1)
        self._unsynced = deque((seq, min(covered, index - 1)) for seq, covered in self._unsynced)
        while self._configurations[-1][0] >= index and len(self._configurations) > 1:
            self._configurations.pop()

    def compact_to(self, index: int) -> None:
        """Drop the entries at and below an index."""
        self.journal.compact_to(index)
        if self._tail:
            del self._tail[: max(0, index + 1 - self._tail[0].index)]
            self._tail_weight = sum(map(weight, self._tail))
        self.forget_configurations(index)

    def reset(self, position: Position, configuration: Configuration) -> None:
        """Drop every entry: a snapshot moved the state machine to `position`."""
        self.journal.reset(position)
        self.last = position
        self._tail.clear()
        self._tail_weight = 0
        self._unsynced = deque([(self.journal.written, position.index)])
        self.synced_index = 0
        self._configurations = [(position.index, configuration)]

    # Who is a member.

    @property
    def configuration(self) -> Configuration | None:
        """The last configuration of the log, committed or not; None before there is one."""
        return self._configurations[-1][1]

    @property
    def configuration_index(self) -> int:
        """The index of that configuration."""
        return self._configurations[-1][0]

    def known(self, peer: Peer, commit: int) -> bool:
        """Return whether a replica is a member of the committed configuration or of a later one."""
        for index, configuration in reversed(self._configurations):
            if configuration is not None and peer in configuration.peers:
                return True
            if index <= commit:
                break
        return False

    def configuration_at(self, index: int) -> tuple[int, Configuration | None]:
        """Return the configuration in force at an index, with the index of its entry."""
        return next(found for found in reversed(self._configurations) if found[0] <= index)

    def forget_configurations(self, index: int) -> None:
        """Drop configurations that a later one at or below `index` has replaced."""
        while len(self._configurations) > 1 and self._configurations[1][0] <= index:
            del self._configurations[0]

    def _find_configurations(self, after: int) -> None:
        first, last = max(self.first_index, after + 1), self.last.index
        while first <= last:
            entries = self.journal.read(first, last, self._tail_bytes)
            self._configurations += _configurations(entries)
            first = entries[-1].index + 1

    def _bound_tail(self) -> None:
        # Half at a time, so that cutting the list costs little per entry.
        drop = 0
        while self._tail_weight > self._tail_bytes // 2 and drop < len(self._tail) - 1:
            self._tail_weight -= weight(self._tail[drop])
            drop += 1
        del self._tail[:drop]

    # PySyncObj's seam: what its inherited accessors ask of a journal.

    def __len__(self) -> int:
        return self.last.index - self.sentinel.index + 1

    def __getitem__(self, item: int) -> tuple[bytes, int, int]:
        position = self.last if item == -1 else self.sentinel
        if item not in (-1, 0):
            raise IndexError("only the ends of the log are asked for by inherited methods")
        return b"", position.index, position.term

    def setCurrentTerm(self, term: int, votedForNodeId: Peer | None) -> None:  # noqa: D102
        self.journal.save_hard_state(HardState(term, votedForNodeId))
        self._state_sequence = self.journal.written

    def getCurrentTerm(self) -> int:  # noqa: D102
        return self.journal.hard_state.term

    def getVotedForNodeId(self) -> Peer | None:  # noqa: D102
        return self.journal.hard_state.voted_for

    def _destroy(self) -> None:
        """The node's log belongs to the node."""


def _configurations(entries: Sequence[Entry]) -> list[tuple[int, Configuration]]:
    return [
        (entry.index, Configuration.decode(entry.payload))
        for entry in entries
        if entry.kind is CONFIG
    ]
