"""A proposal for one term is taken in that term: a leader that slept does not act on old news."""

from quorate.testing.sim.facts import Fact, Fenced
from quorate.testing.sim.history import Violation


class FencedProposals:
    """What was decided in one term is not proposed in another."""

    name = "proposals are fenced by terms"
    judges = (Fenced,)

    def see(self, fact: Fact) -> None:
        """Judge a proposal that was taken."""
        if isinstance(fact, Fenced) and fact.term != fact.asked_term:
            raise Violation(
                self.name,
                f"{fact.peer} of {fact.shard} takes a proposal for term {fact.asked_term}"
                f" in term {fact.term}",
            )
