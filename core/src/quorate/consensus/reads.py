"""ReadIndex: numbered rounds of heartbeats confirm reads."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from quorate.consensus.messages import Peer


class Asker(NamedTuple):
    """The origin of a read: a follower, or this replica (`peer` is None)."""

    peer: Peer | None
    token: int


@dataclass(frozen=True, slots=True)
class ReadOutcome:
    """The result of a local read; `index` None: retry, a leader may be known then."""

    token: int
    index: int | None


@dataclass(frozen=True, slots=True)
class Round:
    """The reads that one round of heartbeats confirms; all arrived before it began."""

    number: int
    index: int
    askers: tuple[Asker, ...]


class ReadRounds:
    """The pending reads of a leader: one round runs at a time, later reads wait for the next."""

    def __init__(self) -> None:
        self.number: int = 0
        self.running: Round | None = None
        self._waiting: Final[list[Asker]] = []

    @property
    def waiting(self) -> bool:
        """Whether reads wait for a round."""
        return bool(self._waiting)

    def ask(self, asker: Asker) -> None:
        """Add a read to the next round."""
        self._waiting.append(asker)

    def begin(self, commit: int) -> Round:
        """Begin a round for all waiting reads, at this commit index or a later one."""
        self.number += 1
        self.running = Round(self.number, commit, tuple(self._waiting))
        self._waiting.clear()
        return self.running

    def end(self) -> Round:
        """End the running round as confirmed."""
        if self.running is None:
            raise RuntimeError("no read round is running")
        ended, self.running = self.running, None
        return ended

    def abandon(self) -> list[Asker]:
        """Drop and return all unconfirmed reads."""
        left = [*(self.running.askers if self.running else ()), *self._waiting]
        self.running = None
        self._waiting.clear()
        return left
