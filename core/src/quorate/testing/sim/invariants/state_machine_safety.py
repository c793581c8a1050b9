"""State Machine Safety (Raft, 5.4.3): one entry an index, on every replica."""

from typing import Final

from quorate.consensus.messages import Entry
from quorate.testing.sim.facts import Applied, Committed, Ended, Fact, Installed
from quorate.testing.sim.history import Violation


class StateMachineSafety:
    """One entry an index, and one state behind it, on every replica, in every life."""

    name = "state-machine safety (5.4.3)"
    judges = (Committed, Applied, Installed, Ended)

    def __init__(self) -> None:
        self._entries: Final[dict[tuple[str, int], Entry]] = {}
        self._digests: Final[dict[tuple[str, int], int]] = {}

    def see(self, fact: Fact) -> None:
        """Judge what is committed, applied and installed."""
        match fact:
            case Committed(entries=entries):
                for entry in entries:
                    self._judge_entry(fact, entry)
            case Applied(entry=entry, digest=digest):
                self._judge_entry(fact, entry)
                self._judge_digest(fact, entry.index, digest)
            case Installed(position=position, digest=digest):
                self._judge_digest(fact, position.index, digest)
            case Ended(applied=applied, digest=digest):
                self._judge_digest(fact, applied, digest)

    def _judge_entry(self, fact: Fact, entry: Entry) -> None:
        first = self._entries.setdefault((fact.shard, entry.index), entry)
        if first != entry:
            raise Violation(
                self.name,
                f"{fact.peer} of {fact.shard} takes {entry} where {first} was committed",
            )

    def _judge_digest(self, fact: Fact, index: int, digest: int) -> None:
        first = self._digests.setdefault((fact.shard, index), digest)
        if first != digest:
            raise Violation(
                self.name,
                f"{fact.peer} of {fact.shard} has digest {digest:08x} after entry {index}, and"
                f" others have {first:08x}",
            )
