"""Leader Completeness (Raft, 5.4): a leader's log holds all that was committed in earlier terms."""

from collections import defaultdict
from typing import Final

from tests.support.sim.facts import Committed, Elected, Fact
from tests.support.sim.history import Violation


class LeaderCompleteness:
    """Judged by the last such entry: with log matching it speaks for those before it."""

    name = "leader completeness (5.4)"
    judges = (Committed, Elected)

    def __init__(self) -> None:
        #: Per shard: index, term, and the term in which it was known to be committed, in order.
        self._committed: Final[defaultdict[str, list[tuple[int, int, int]]]] = defaultdict(list)

    def see(self, fact: Fact) -> None:
        """Judge an election by what was committed before."""
        if isinstance(fact, Committed):
            known = self._committed[fact.shard]
            last = known[-1][0] if known else 0
            known += [
                (entry.index, entry.term, fact.term) for entry in fact.entries if entry.index > last
            ]
        elif isinstance(fact, Elected):
            for index, term, committed_in in reversed(self._committed[fact.shard]):
                if committed_in < fact.term:
                    self._judge(fact, index, term)
                    return

    def _judge(self, elected: Elected, index: int, term: int) -> None:
        held = elected.term_of(index)
        if held != term:
            raise Violation(
                self.name,
                f"{elected.peer} leads {elected.shard} in term {elected.term} and holds term {held}"
                f" at index {index}, where an entry of term {term} was committed",
            )
