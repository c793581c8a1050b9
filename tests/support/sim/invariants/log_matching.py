"""Log Matching (Raft, 5.3): what has the same index and term is equal, and so is all before it."""

from typing import Final

from quorate.consensus.messages import EntryKind

from tests.support.sim.facts import Appended, Fact
from tests.support.sim.history import Violation


class LogMatching:
    """Holds by induction when index and term settle the entry and the term in front of it."""

    name = "log matching (5.3)"
    judges = (Appended,)

    def __init__(self) -> None:
        self._entries: Final[dict[tuple[str, int, int], tuple[int, EntryKind, bytes]]] = {}

    def see(self, fact: Fact) -> None:
        """Judge entries that are written."""
        if not isinstance(fact, Appended):
            return
        before = fact.previous
        last_index, last_term = before.index, before.term
        for entry in fact.entries:
            if entry.index != last_index + 1 or entry.term < last_term:
                raise Violation(
                    self.name,
                    f"{fact.peer} of {fact.shard} writes entry {entry.index} of term {entry.term}"
                    f" behind entry {last_index} of term {last_term}",
                )
            content = (last_term, entry.kind, entry.payload)
            key = (fact.shard, entry.index, entry.term)
            if self._entries.setdefault(key, content) != content:
                raise Violation(
                    self.name,
                    f"{fact.peer} of {fact.shard} has another entry {entry.index} of term"
                    f" {entry.term}, or another term in front of it, than was written elsewhere",
                )
            last_index, last_term = entry.index, entry.term
