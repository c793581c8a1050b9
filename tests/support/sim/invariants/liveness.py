"""Liveness: a healed cluster serves again within the stated time."""

from tests.support.sim.facts import Fact, Healed
from tests.support.sim.history import Violation


class Liveness:
    """Every shard acknowledges a new proposal once nothing is wrong any more."""

    name = "serves after healing"
    judges = (Healed,)

    def see(self, fact: Fact) -> None:
        """Judge what a shard did since it was healed."""
        if isinstance(fact, Healed) and not fact.served:
            raise Violation(
                self.name,
                f"{fact.shard} acknowledged nothing within {fact.after_s} s, nor has every member"
                " caught up",
            )
