"""Single-server changes (thesis, 4.1): majorities of one configuration and the next overlap."""

from typing import Final

from quorate.consensus.membership import Configuration
from quorate.consensus.messages import EntryKind

from tests.support.sim.facts import Appended, Committed, Fact
from tests.support.sim.history import Violation


class OneChangeAtATime:
    """A new configuration is written only behind a committed one that differs by one voter."""

    name = "one change at a time (thesis, 4.1)"
    judges = (Appended, Committed)

    def __init__(self) -> None:
        #: The newest committed configuration, and the index up to which that is known.
        self._committed: Final[dict[str, tuple[int, Configuration]]] = {}
        self._judged: Final[set[tuple[str, int, int]]] = set()

    def see(self, fact: Fact) -> None:
        """Judge a configuration when it is first written."""
        if isinstance(fact, Committed):
            for entry in fact.entries:
                if entry.kind is EntryKind.CONFIG:
                    newest = self._committed.get(fact.shard)
                    if newest is None or newest[0] < entry.index:
                        configuration = Configuration.decode(entry.payload)
                        self._committed[fact.shard] = (entry.index, configuration)
        elif isinstance(fact, Appended):
            for entry in fact.entries:
                key = (fact.shard, entry.index, entry.term)
                if entry.kind is EntryKind.CONFIG and key not in self._judged:
                    self._judged.add(key)
                    self._judge(fact, entry.index, Configuration.decode(entry.payload))

    def _judge(self, fact: Appended, index: int, configuration: Configuration) -> None:
        committed = self._committed.get(fact.shard)
        if committed is None or index <= committed[0]:
            return
        if not committed[1].changes_one_voter(configuration):
            raise Violation(
                self.name,
                f"{fact.peer} of {fact.shard} writes {configuration} at index {index}, and the"
                f" committed one is {committed[1]} at {committed[0]}",
            )
