"""A proposal for one term is taken in that term: a leader that slept does not act on old news."""

from typing import Final

from tests.support.sim.facts import Applied, Fact, Fenced
from tests.support.sim.history import Violation
from tests.support.sim.model import identity
from tests.support.sim.replays import Replays


class FencedProposals:
    """What was decided in one term is not proposed in another."""

    name = "proposals are fenced by terms"
    judges = (Fenced, Applied)

    def __init__(self, replays: Replays) -> None:
        self._replays: Final = replays
        self._terms: Final[dict[tuple[str, object], int]] = {}

    def see(self, fact: Fact) -> None:
        """Judge a proposal by the entry that it became part of."""
        if isinstance(fact, Fenced):
            self._terms[fact.shard, identity(fact.command)] = fact.term
        elif isinstance(fact, Applied) and self._terms:
            for command in self._replays.of(fact.shard).commands(fact.entry.index):
                term = self._terms.get((fact.shard, identity(command)), fact.entry.term)
                if term != fact.entry.term:
                    raise Violation(
                        self.name,
                        f"{fact.shard} holds at index {fact.entry.index}, of term"
                        f" {fact.entry.term}, what was meant for term {term}",
                    )
