"""Election Safety (Raft, 5.2): at most one leader in a term."""

from typing import Final

from quorate.consensus.messages import Peer

from tests.support.sim.facts import Elected, Fact
from tests.support.sim.history import Violation


class ElectionSafety:
    """At most one leader in a term."""

    name = "election safety (5.2)"
    judges = (Elected,)

    def __init__(self) -> None:
        self._leaders: Final[dict[tuple[str, int], Peer]] = {}

    def see(self, fact: Fact) -> None:
        """Judge an election."""
        if not isinstance(fact, Elected):
            return
        first = self._leaders.setdefault((fact.shard, fact.term), fact.peer)
        if first != fact.peer:
            raise Violation(
                self.name, f"{first} and {fact.peer} both lead {fact.shard} in term {fact.term}"
            )
