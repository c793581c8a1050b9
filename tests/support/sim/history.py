"""Hands every fact to the invariants that judge it, and keeps the first violation."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Final, Protocol

from quorate.observe.failpoints import disarmed

from tests.support.sim import facts
from tests.support.sim.facts import Fact


class Violation(Exception):
    """An invariant does not hold: which one, and what was seen."""

    def __init__(self, invariant: str, what: str) -> None:
        # Exceptions travel between processes by their arguments.
        super().__init__(invariant, what)
        self.invariant: Final = invariant

    def __str__(self) -> str:
        return ": ".join(self.args)


class Invariant(Protocol):
    """One property of a history; `see` raises `Violation` at the fact that breaks it."""

    @property
    def name(self) -> str:
        """What the paper calls it, and where."""

    @property
    def judges(self) -> tuple[type[Fact], ...]:
        """The kinds of facts that it wants to see."""

    def see(self, fact: Fact) -> None:
        """Judge one fact, in the order in which they happen."""


class History:
    """The facts of one run."""

    def __init__(self, invariants: Iterable[Invariant], violated: Callable[[], None]) -> None:
        self._judges: Final[dict[type[Fact], list[Callable[[Fact], None]]]] = defaultdict(list)
        for invariant in invariants:
            for kind in invariant.judges:
                self._judges[kind].append(invariant.see)
        self._violated: Final = violated
        self.violation: Violation | None = None
        self.elections = 0

    def tell(self, fact: Fact) -> None:
        """Let every invariant that wants it judge a fact."""
        if self.violation is not None:
            return
        if type(fact) is facts.Elected:
            self.elections += 1
        judges = self._judges[type(fact)]
        if not judges:
            return
        try:
            # Judges are of no process: what they come to ends none.
            with disarmed():
                for see in judges:
                    see(fact)
        except Violation as violation:
            self.violation = violation
            self._violated()
