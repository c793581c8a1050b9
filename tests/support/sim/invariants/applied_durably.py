"""Applied, therefore synced: a replica applies only what its own log holds durably."""

from typing import Final

from tests.support.sim.durable import DurableLogs
from tests.support.sim.facts import Applied, Fact
from tests.support.sim.history import Violation


class AppliedDurably:
    """Others may commit an entry before the own disk has it: it must wait for the disk."""

    name = "applied <= synced"
    judges = (Applied,)

    def __init__(self, logs: DurableLogs) -> None:
        self._logs: Final = logs

    def see(self, fact: Fact) -> None:
        """Judge an application."""
        if not isinstance(fact, Applied):
            return
        log, entry = self._logs.of(fact.shard, fact.peer), fact.entry
        if log is None or (
            log.sentinel.index <= entry.index and log.term_of(entry.index) != entry.term
        ):
            last = None if log is None else log.last
            raise Violation(
                self.name,
                f"{fact.peer} of {fact.shard} applies entry {entry.index} of term {entry.term},"
                f" and its log is durable up to {last}",
            )
