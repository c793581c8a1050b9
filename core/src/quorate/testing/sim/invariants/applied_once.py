"""Each entry is applied once by each replica, in order, and no command at two indexes."""

from typing import Final

from quorate.consensus.messages import EntryKind, Peer
from quorate.testing.sim.facts import Applied, Fact, Installed, Opened
from quorate.testing.sim.history import Violation


class AppliedOnce:
    """A state machine goes from one index to the next, and never sees a command again."""

    name = "applied once, in order"
    judges = (Opened, Applied, Installed)

    def __init__(self) -> None:
        self._applied: Final[dict[tuple[str, Peer], int]] = {}
        self._where: Final[dict[tuple[str, bytes], int]] = {}

    def see(self, fact: Fact) -> None:
        """Judge an application."""
        key = (fact.shard, fact.peer)
        match fact:
            case Opened(applied=applied):
                self._applied[key] = applied
            case Installed(position=position):
                if position.index <= self._applied.get(key, 0):
                    raise Violation(
                        self.name,
                        f"{fact.peer} of {fact.shard} goes from index {self._applied[key]}"
                        f" back to a snapshot at {position.index}",
                    )
                self._applied[key] = position.index
            case Applied(entry=entry):
                last = self._applied.get(key, 0)
                if entry.index != last + 1:
                    raise Violation(
                        self.name,
                        f"{fact.peer} of {fact.shard} applies entry {entry.index} after {last}",
                    )
                self._applied[key] = entry.index
                if entry.kind is EntryKind.COMMAND:
                    first = self._where.setdefault((fact.shard, entry.payload), entry.index)
                    if first != entry.index:
                        raise Violation(
                            self.name,
                            f"{entry.payload!r} is applied at index {first} and at {entry.index}",
                        )
