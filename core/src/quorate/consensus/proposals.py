"""Waiters for the outcomes of proposals; each is called exactly once."""

from collections.abc import Callable
from enum import Enum
from typing import Final

from quorate.consensus.status import Proposed


class Fate(Enum):
    """How a proposal ended."""

    #: It was applied.
    APPLIED = "applied"
    #: Another entry has its index: it was not and will not be applied.
    DISCARDED = "discarded"
    #: A snapshot replaced it, or the replica stopped: it may have been applied.
    UNKNOWN = "unknown"


Waiter = Callable[[Fate], None]


class Proposals:
    """The pending proposals of a replica. A waiter must not raise."""

    def __init__(self) -> None:
        self._waiting: Final[dict[int, list[tuple[int, Waiter]]]] = {}
        self._applied_term = 0

    def add(self, proposed: Proposed, waiter: Waiter) -> None:
        """Call `waiter` with the outcome of the proposal."""
        self._waiting.setdefault(proposed.index, []).append((proposed.term, waiter))

    def applied(self, index: int, term: int) -> None:
        """Complete the proposal at `index`: its entry was applied, and the index is stored."""
        for waited_term, waiter in self._waiting.pop(index, ()):
            if waited_term == term:
                waiter(Fate.APPLIED)
            else:
                waiter(Fate.DISCARDED)
        if term > self._applied_term:
            self._applied_term = term
            self._discard_before(term)

    def _discard_before(self, term: int) -> None:
        """Discard proposals of earlier terms: terms never decrease along a log."""
        for index in sorted(self._waiting):
            waited = self._waiting.pop(index)
            left = [waiting for waiting in waited if waiting[0] >= term]
            if left:
                self._waiting[index] = left
            for waited_term, waiter in waited:
                if waited_term < term:
                    waiter(Fate.DISCARDED)

    def overtaken(self, index: int) -> None:
        """Complete the proposals up to `index`: a snapshot replaced their entries."""
        for waited in sorted(number for number in self._waiting if number <= index):
            for _, waiter in self._waiting.pop(waited):
                waiter(Fate.UNKNOWN)

    def abandon(self) -> None:
        """Complete all proposals: this replica stops."""
        if self._waiting:
            self.overtaken(max(self._waiting))
