"""No fault of this simulation is a reason for a replica to stop."""

from tests.support.sim.facts import Fact, Stopped
from tests.support.sim.history import Violation


class NeverStops:
    """A replica stops when going on would break a promise: then another one broke it."""

    name = "no replica stops"
    judges = (Stopped,)

    def see(self, fact: Fact) -> None:
        """Judge a stop."""
        if isinstance(fact, Stopped):
            error = f"{type(fact.error).__name__}: {fact.error}"
            raise Violation(self.name, f"{fact.peer} of {fact.shard} stopped: {error}")
