"""State Machine Safety (Raft, 5.4.3): one entry an index, on every replica."""

from typing import Final

from quorate.consensus.messages import Entry

from tests.support.sim.facts import Applied, Committed, Ended, Fact, StateAt
from tests.support.sim.history import Violation


class StateMachineSafety:
    """One entry per index, and the same rows after it, on every replica, in every life."""

    name = "state-machine safety (5.4.3)"
    judges = (Committed, Applied, StateAt, Ended)

    def __init__(self) -> None:
        self._entries: Final[dict[tuple[str, int], Entry]] = {}
        self._digests: Final[dict[tuple[str, int], int]] = {}
        self._checksums: Final[dict[tuple[str, int], int]] = {}

    def see(self, fact: Fact) -> None:
        """Judge what is committed and applied, and what came of it."""
        match fact:
            case Committed(entries=entries):
                for entry in entries:
                    self._judge_entry(fact, entry)
            case Applied(entry=entry):
                self._judge_entry(fact, entry)
            case StateAt(index=index, digest=digest, checksum=checksum):
                self._judge(fact, self._digests, "digest", index, digest)
                self._judge(fact, self._checksums, "apply checksum", index, checksum)
            case Ended(applied=applied, digest=digest):
                self._judge(fact, self._digests, "digest", applied, digest)

    def _judge_entry(self, fact: Fact, entry: Entry) -> None:
        first = self._entries.setdefault((fact.shard, entry.index), entry)
        if first != entry:
            raise Violation(
                self.name,
                f"{fact.peer} of {fact.shard} takes {entry} where {first} was committed",
            )

    def _judge(
        self, fact: Fact, known: dict[tuple[str, int], int], what: str, index: int, found: int
    ) -> None:
        first = known.setdefault((fact.shard, index), found)
        if first != found:
            raise Violation(
                self.name,
                f"{fact.peer} of {fact.shard} has {what} {found:08x} after entry {index}, and"
                f" others have {first:08x}",
            )
