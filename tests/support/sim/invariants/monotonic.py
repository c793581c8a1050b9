"""Terms, commit and applied indexes only grow (Raft, Figure 2: "increases monotonically")."""

from typing import Final

from quorate.consensus.messages import Peer

from tests.support.sim.facts import Fact, Opened, Seen
from tests.support.sim.history import Violation


class Monotonic:
    """Within a life; what a power loss may take back is for `DurablePromises` to judge."""

    name = "monotonic state (Figure 2)"
    judges = (Opened, Seen)

    def __init__(self) -> None:
        self._newest: Final[dict[tuple[str, Peer], tuple[int, int, int]]] = {}

    def see(self, fact: Fact) -> None:
        """Judge a replica's state."""
        key = (fact.shard, fact.peer)
        if isinstance(fact, Opened):
            self._newest[key] = (fact.hard_state.term, fact.applied, fact.applied)
        elif isinstance(fact, Seen):
            now = (fact.term, fact.commit, fact.applied)
            before = self._newest.get(key, now)
            for what, older, newer in zip(
                ("term", "commit index", "applied index"), before, now, strict=True
            ):
                if newer < older:
                    raise Violation(
                        self.name,
                        f"the {what} of {fact.peer} of {fact.shard} goes from {older} to {newer}",
                    )
            self._newest[key] = now
            if fact.applied > fact.commit:
                raise Violation(
                    self.name,
                    f"{fact.peer} of {fact.shard} applied {fact.applied}, committed {fact.commit}",
                )
