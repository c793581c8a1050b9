"""How many replicas of a node stand for election at the same time.

A node that starts with a thousand shards, or no longer hears the node that led them, would ask for
more votes at once than all nodes can answer before the next attempts begin: no shard would have a
leader for minutes.
"""

from typing import Final, Protocol


class Candidate(Protocol):
    """A replica without a leader."""

    def stand(self) -> None:
        """Ask to be admitted now, or leave."""


#: Enough to share syncs of the log, and few enough to be answered on a busy machine.
_MOST: Final = 64


class Candidates:
    """Admits a limited number of candidates; the others wait in the order in which they came."""

    def __init__(self, most: int = _MOST) -> None:
        self._most: Final = most
        self._standing: Final = set[Candidate]()
        #: Those that stand and were called, but have not asked yet.
        self._called: Final = set[Candidate]()
        self._waiting: Final[dict[Candidate, None]] = {}
        self._calling = False

    def admit(self, candidate: Candidate) -> bool:
        """Return whether a candidate may stand now; otherwise it is called when there is room.

        One whose last attempt failed goes after those that wait.
        """
        if candidate in self._called:
            self._called.discard(candidate)
            return True
        if candidate in self._waiting and len(self._standing) >= self._most:
            # It keeps its place, however often it asks.
            return False
        self.leave(candidate)
        if len(self._standing) >= self._most:
            self._waiting[candidate] = None
            return False
        self._standing.add(candidate)
        return True

    def leave(self, candidate: Candidate) -> None:
        """Let the next one stand: this one was elected, follows a leader, or has ended."""
        self._waiting.pop(candidate, None)
        self._called.discard(candidate)
        self._standing.discard(candidate)
        # A candidate that is called may leave at once.
        if not self._calling:
            self._calling = True
            try:
                self._call()
            finally:
                self._calling = False

    def _call(self) -> None:
        while self._waiting and len(self._standing) < self._most:
            following = next(iter(self._waiting))
            del self._waiting[following]
            self._standing.add(following)
            self._called.add(following)
            following.stand()
