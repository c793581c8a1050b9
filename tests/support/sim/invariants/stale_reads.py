"""Stale reads never go back: not behind the revision that a reader asks for."""

from tests.support.sim.facts import Fact, StaleRead
from tests.support.sim.history import Violation


class StaleReads:
    """A reader that names what it saw last sees that, or something newer, on any replica."""

    name = "min_revision is kept"
    judges = (StaleRead,)

    def see(self, fact: Fact) -> None:
        """Judge a read."""
        if isinstance(fact, StaleRead) and fact.revision < fact.at_least:
            raise Violation(
                self.name,
                f"{fact.peer} of {fact.shard} serves revision {fact.revision} to who has seen"
                f" {fact.at_least}",
            )
