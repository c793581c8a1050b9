"""ReadIndex: which reads a numbered round of heartbeats confirms."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from quorate.consensus.messages import Peer


class Asker(NamedTuple):
    """Who wants to read: a follower, or this replica itself (`peer` is None)."""

    peer: Peer | None
    token: int


@dataclass(frozen=True, slots=True)
class ReadOutcome:
    """A read that was asked for here; `index` None: ask again, a leader may be there then."""

    token: int
    index: int | None


@dataclass(frozen=True, slots=True)
class Round:
    """Reads that one round of heartbeats confirms; all of them came before it began."""

    number: int
    index: int
    askers: tuple[Asker, ...]


class ReadRounds:
    """The reads that wait at a leader: one round runs, what comes meanwhile waits for the next."""

    def __init__(self) -> None:
        self.number: int = 0
        self.running: Round | None = None
        self._waiting: Final[list[Asker]] = []

    @property
    def waiting(self) -> bool:
        """Whether a round is wanted."""
        return bool(self._waiting)

    def ask(self, asker: Asker) -> None:
        """Let a read wait for the next round."""
        self._waiting.append(asker)

    def begin(self, commit: int) -> Round:
        """Begin a round for every read that waits: they read at this commit index or later."""
        self.number += 1
        self.running = Round(self.number, commit, tuple(self._waiting))
        self._waiting.clear()
        return self.running

    def end(self) -> Round:
        """End the round that runs: it was confirmed."""
        if self.running is None:
            raise RuntimeError("no read round runs")
        ended, self.running = self.running, None
        return ended

    def abandon(self) -> list[Asker]:
        """Return all reads that wait or were in the round, none of them confirmed."""
        left = [*(self.running.askers if self.running else ()), *self._waiting]
        self.running = None
        self._waiting.clear()
        return left
