"""Every acknowledged proposal survives, and what was refused never happens."""

from typing import Final

from quorate.consensus.messages import EntryKind
from quorate.testing.sim.facts import Acknowledged, Applied, Ended, Fact, Refused
from quorate.testing.sim.history import Violation


class AcknowledgedSurvives:
    """What a client was told stays true."""

    name = "acknowledged proposals survive"
    judges = (Applied, Acknowledged, Refused, Ended)

    def __init__(self) -> None:
        self._commands: Final[dict[tuple[str, int], bytes]] = {}
        self._acknowledged: Final[dict[tuple[str, int], bytes]] = {}
        self._newest: Final[dict[str, int]] = {}
        self._applied: Final[set[tuple[str, bytes]]] = set()
        self._refused: Final[set[tuple[str, bytes]]] = set()

    def see(self, fact: Fact) -> None:
        """Judge what clients hear, and what becomes of it."""
        match fact:
            case Applied(entry=entry) if entry.kind is EntryKind.COMMAND:
                self._commands[fact.shard, entry.index] = entry.payload
                self._applied.add((fact.shard, entry.payload))
                if (fact.shard, entry.payload) in self._refused:
                    raise Violation(self.name, f"{entry.payload!r} was refused and is applied")
                told = self._acknowledged.get((fact.shard, entry.index), entry.payload)
                if told != entry.payload:
                    raise Violation(
                        self.name, f"{told!r} was acknowledged at index {entry.index} and is gone"
                    )
            case Acknowledged(index=index, payload=payload):
                if (fact.shard, payload) not in self._applied:
                    raise Violation(self.name, f"{payload!r} is acknowledged and not applied")
                self._acknowledged[fact.shard, index] = payload
                self._newest[fact.shard] = max(index, self._newest.get(fact.shard, 0))
            case Refused(payload=payload):
                self._refused.add((fact.shard, payload))
                if (fact.shard, payload) in self._applied:
                    raise Violation(self.name, f"{payload!r} was applied and is refused")
            case Ended(applied=applied):
                if applied < self._newest.get(fact.shard, 0):
                    raise Violation(
                        self.name,
                        f"{fact.peer} of {fact.shard} ends at index {applied}, and"
                        f" {self._newest[fact.shard]} was acknowledged",
                    )
