"""Who waits for which entry, and how each proposal ends: exactly once, whatever happens."""

from collections.abc import Callable
from enum import Enum
from typing import Final

from quorate.consensus.status import Proposed


class Fate(Enum):
    """How a proposal ended."""

    #: It was applied, once; its result is there.
    APPLIED = "applied"
    #: Another entry stands in its place for ever: it was not applied and never will be.
    DISCARDED = "discarded"
    #: A snapshot overtook it, or this replica stops: it may or may not have been applied.
    UNKNOWN = "unknown"


Waiter = Callable[[Fate, object], None]


class Proposals:
    """The proposals of one replica that are not answered yet. A waiter must not raise."""

    def __init__(self) -> None:
        self._waiting: Final[dict[int, list[tuple[int, Waiter]]]] = {}
        self._applied_term = 0

    def add(self, proposed: Proposed, waiter: Waiter) -> None:
        """Call `waiter` once the fate of the proposal is known."""
        self._waiting.setdefault(proposed.index, []).append((proposed.term, waiter))

    def applied(self, index: int, term: int, result: object) -> None:
        """Answer who waits for `index`: its entry was applied, and the index is stored."""
        for waited_term, waiter in self._waiting.pop(index, ()):
            if waited_term == term:
                waiter(Fate.APPLIED, result)
            else:
                waiter(Fate.DISCARDED, None)
        if term > self._applied_term:
            self._applied_term = term
            self._discard_before(term)

    def _discard_before(self, term: int) -> None:
        """Terms never fall along a log: what follows an entry of `term` is of no earlier one."""
        for index in sorted(self._waiting):
            waited = self._waiting.pop(index)
            left = [waiting for waiting in waited if waiting[0] >= term]
            if left:
                self._waiting[index] = left
            for waited_term, waiter in waited:
                if waited_term < term:
                    waiter(Fate.DISCARDED, None)

    def overtaken(self, index: int) -> None:
        """Answer who waits at or below `index`: a snapshot stands in place of the entries."""
        for waited in sorted(number for number in self._waiting if number <= index):
            for _, waiter in self._waiting.pop(waited):
                waiter(Fate.UNKNOWN, None)

    def abandon(self) -> None:
        """Answer everybody: this replica stops."""
        if self._waiting:
            self.overtaken(max(self._waiting))
