"""Every acknowledged command survives with its result, and what was refused never happens."""

from typing import Final

from tests.support.sim.facts import Acknowledged, Applied, Ended, Fact, Refused
from tests.support.sim.history import Violation
from tests.support.sim.model import identity, told
from tests.support.sim.replays import Replays


class AcknowledgedSurvives:
    """What a client was told is what the log comes to, and stays so."""

    name = "acknowledged commands survive"
    judges = (Applied, Acknowledged, Refused, Ended)

    def __init__(self, replays: Replays) -> None:
        self._replays: Final = replays
        self._newest: Final[dict[str, int]] = {}
        self._refused: Final[set[tuple[str, object]]] = set()

    def see(self, fact: Fact) -> None:
        """Judge what clients hear, and what becomes of it."""
        model = self._replays.of(fact.shard)
        match fact:
            case Applied(entry=entry) if self._refused:
                for command in model.commands(entry.index):
                    if (fact.shard, identity(command)) in self._refused:
                        raise Violation(self.name, f"{command} was refused and is applied")
            case Acknowledged(command=command, outcome=outcome):
                results = model.results.get(identity(command), [])
                if told(outcome) not in results:
                    raise Violation(
                        self.name,
                        f"{command} is acknowledged by {fact.peer} of {fact.shard} with {outcome},"
                        f" and the log comes to {results}",
                    )
                index = outcome.revision >> 20
                self._newest[fact.shard] = max(index, self._newest.get(fact.shard, 0))
            case Refused(command=command):
                self._refused.add((fact.shard, identity(command)))
                if identity(command) in model.results:
                    raise Violation(self.name, f"{command} was applied and is refused")
            case Ended(applied=applied):
                if applied < self._newest.get(fact.shard, 0):
                    raise Violation(
                        self.name,
                        f"{fact.peer} of {fact.shard} ends at index {applied}, and"
                        f" {self._newest[fact.shard]} was acknowledged",
                    )
