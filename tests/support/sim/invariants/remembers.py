"""A replica keeps what it acknowledged, or takes no part (Raft, Figure 2: "persistent state")."""

from tests.support.sim.facts import Fact, Forgotten
from tests.support.sim.history import Violation


class Remembers:
    """An older copy of a disk is found: its votes and acknowledgements cannot be believed."""

    name = "what was acknowledged is remembered"
    judges = (Forgotten,)

    def see(self, fact: Fact) -> None:
        """Judge a replica that goes on."""
        if isinstance(fact, Forgotten):
            raise Violation(
                self.name,
                f"{fact.peer} of {fact.shard} acknowledged {fact.match} to its leader, came back"
                f" with a log that ends at {fact.last}, and goes on",
            )
