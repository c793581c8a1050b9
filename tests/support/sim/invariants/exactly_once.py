"""Exactly once: however often a client proposes an operation of a session, it happens once."""

from typing import Final

from tests.support.sim import domain
from tests.support.sim.facts import Acknowledged, Ended, Fact
from tests.support.sim.history import Violation
from tests.support.sim.model import operation_of


class ExactlyOnce:
    """Every operation leaves a mark where it is applied, and the mark counts.

    This looks at the rows alone: it is true whatever is thought of sessions.
    """

    name = "exactly once"
    judges = (Acknowledged, Ended)

    def __init__(self) -> None:
        #: What was acknowledged as done, by shard.
        self._done: Final[dict[str, set[int]]] = {}

    def see(self, fact: Fact) -> None:
        """Judge the marks."""
        match fact:
            case Acknowledged(command=command, outcome=outcome) if outcome.refusal is None:
                operation = operation_of(command)
                if operation is not None:
                    self._done.setdefault(fact.shard, set()).add(operation)
            case Ended(rows=rows):
                counts = {
                    int.from_bytes(key, "big"): int.from_bytes(row.value, "big")
                    for key, row in rows[domain.MARKS].items()
                }
                twice = sorted(number for number, count in counts.items() if count != 1)
                lost = sorted(self._done.get(fact.shard, set()) - counts.keys())
                if twice or lost:
                    raise Violation(
                        self.name,
                        f"{fact.peer} of {fact.shard} ends with operations {twice} applied more"
                        f" than once, and without {lost}, which were acknowledged",
                    )
