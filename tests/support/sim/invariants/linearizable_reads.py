"""Linearizable reads (Raft, 8; thesis, 6.4): a read sees all that was known when it began."""

from typing import Final

from quorate.apply.entries import index_of

from tests.support.sim.facts import Acknowledged, Fact, ReadBegan, ReadEnded
from tests.support.sim.history import Violation


class LinearizableReads:
    """No read is older than an acknowledgement or a read that ended before it began."""

    name = "linearizable reads (8)"
    judges = (Acknowledged, ReadBegan, ReadEnded)

    def __init__(self) -> None:
        self._known: Final[dict[str, int]] = {}
        self._needs: Final[dict[int, int]] = {}

    def see(self, fact: Fact) -> None:
        """Judge a read by what ended before it began."""
        known = self._known.get(fact.shard, 0)
        match fact:
            case Acknowledged(outcome=outcome):
                self._known[fact.shard] = max(known, index_of(outcome.revision))
            case ReadBegan(read=read):
                self._needs[read] = known
            case ReadEnded(read=read, index=index):
                needs = self._needs.pop(read)
                if index < needs:
                    raise Violation(
                        self.name,
                        f"{fact.peer} of {fact.shard} serves read {read} at index {index}; it"
                        f" began when {needs} had been seen",
                    )
                self._known[fact.shard] = max(known, index)
