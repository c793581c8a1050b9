"""Commitment (Raft, 5.3 and 5.4.2): an entry of the leader's term, durable on most voters."""

from typing import Final

from tests.support.sim.durable import DurableLogs
from tests.support.sim.facts import Committed, Fact
from tests.support.sim.history import Violation


class QuorumCommit:
    """Judges each step of a leader's commit index by what the disks of its voters hold."""

    name = "commitment (5.4.2)"
    judges = (Committed,)

    def __init__(self, logs: DurableLogs) -> None:
        self._logs: Final = logs

    def see(self, fact: Fact) -> None:
        """Judge a step of a leader."""
        if not isinstance(fact, Committed) or not fact.leads:
            return
        newest = fact.entries[-1]
        where = f"{fact.peer} of {fact.shard} commits entry {newest.index} in term {fact.term}"
        if newest.term != fact.term:
            raise Violation(self.name, f"{where}, which is of term {newest.term}")
        holders = []
        for voter in fact.configuration.voters:
            log = self._logs.of(fact.shard, voter)
            if log is not None and (
                log.sentinel.index > newest.index or log.term_of(newest.index) == newest.term
            ):
                holders.append(voter.node)
        if len(holders) < fact.configuration.majority:
            raise Violation(
                self.name,
                f"{where}, which is durable on {holders} of {len(fact.configuration.voters)}",
            )
