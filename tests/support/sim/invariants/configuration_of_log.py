"""Configuration (Raft, 6): a replica uses the latest one in its log, committed or not."""

from typing import Final

from quorate.consensus.membership import Configuration
from quorate.consensus.messages import EntryKind, Peer

from tests.support.sim.facts import Appended, Fact, Opened, Reset, Seen, Truncated
from tests.support.sim.history import Violation


class ConfigurationOfLog:
    """Follows the CONFIG entries of each log; before the first one, what the store holds."""

    name = "configuration is the log's (6)"
    judges = (Opened, Appended, Truncated, Reset, Seen)

    def __init__(self) -> None:
        self._found: Final[dict[tuple[str, Peer], list[tuple[int, Configuration | None]]]] = {}

    def see(self, fact: Fact) -> None:
        """Judge the configuration that a replica acts under."""
        key = (fact.shard, fact.peer)
        match fact:
            case Opened(configurations=configurations, stored=stored):
                self._found[key] = [(0, stored), *configurations]
            case Appended(entries=entries):
                self._found[key] += [
                    (entry.index, Configuration.decode(entry.payload))
                    for entry in entries
                    if entry.kind is EntryKind.CONFIG
                ]
            case Truncated(index=index):
                self._found[key] = [each for each in self._found[key] if each[0] < index]
            case Reset(configuration=configuration):
                self._found[key] = [(0, configuration)]
            case Seen(configuration=configuration):
                index, wanted = self._found[key][-1]
                if configuration != wanted:
                    raise Violation(
                        self.name,
                        f"{fact.peer} of {fact.shard} acts under {configuration}, and its log has"
                        f" {wanted} at index {index}",
                    )
