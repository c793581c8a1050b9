"""What is durable of each log, known from the writes and syncs of the disks alone."""

from collections import deque
from typing import Final

from quorate.consensus.journal import HardState, Position
from quorate.consensus.messages import Peer

from tests.support.sim.facts import (
    Appended,
    Compacted,
    Fact,
    Opened,
    Reset,
    StateSaved,
    Synced,
    Truncated,
)


class DurableLog:
    """The part of one replica's log that a power loss leaves."""

    def __init__(self, sentinel: Position, terms: tuple[int, ...], hard_state: HardState) -> None:
        self.sentinel = sentinel
        self.hard_state = hard_state
        self._terms: Final = list(terms)
        self._unsynced: Final[deque[Fact]] = deque()

    @property
    def last(self) -> int:
        """The index of the last entry."""
        return self.sentinel.index + len(self._terms)

    def term_of(self, index: int) -> int | None:
        """Return the term at an index."""
        if index == self.sentinel.index:
            return self.sentinel.term
        offset = index - self.sentinel.index - 1
        return self._terms[offset] if 0 <= offset < len(self._terms) else None

    def wrote(self, write: Fact) -> None:
        """Take note of a write."""
        self._unsynced.append(write)

    def synced(self, writes: int) -> None:
        """Take note that the oldest writes are durable."""
        for _ in range(writes):
            self._keep(self._unsynced.popleft())

    def _keep(self, write: Fact) -> None:
        match write:
            case Appended(entries=entries):
                self._terms.extend(entry.term for entry in entries)
            case Truncated(index=index):
                del self._terms[index - self.sentinel.index - 1 :]
            case Compacted(index=index):
                term = self.term_of(index)
                del self._terms[: index - self.sentinel.index]
                self.sentinel = Position(index, term or 0)
            case Reset(position=position):
                self._terms.clear()
                self.sentinel = position
            case StateSaved(state=state):
                self.hard_state = state


class DurableLogs:
    """All of them, those of lost disks too: what was durable once counted once."""

    name = "the record of durable logs"
    judges = (Opened, Appended, Truncated, Compacted, Reset, StateSaved, Synced)

    def __init__(self) -> None:
        self._logs: Final[dict[tuple[str, Peer], DurableLog]] = {}

    def of(self, shard: str, peer: Peer) -> DurableLog | None:
        """Return what is durable of a replica's log."""
        return self._logs.get((shard, peer))

    def see(self, fact: Fact) -> None:
        """Follow the disks."""
        key = (fact.shard, fact.peer)
        if isinstance(fact, Opened):
            opened = DurableLog(fact.position, fact.terms, fact.hard_state)
            installed = fact.installed
            if installed is not None and installed.index > opened.last:
                # The snapshot is durable, and stands for all of the log that it lacks.
                opened = DurableLog(installed, (), fact.hard_state)
            self._logs[key] = opened
        elif isinstance(fact, Synced):
            self._logs[key].synced(fact.writes)
        else:
            self._logs[key].wrote(fact)
