"""Each entry is applied once by each replica, in order, and no command at two indexes."""

from typing import Final

from quorate.consensus.messages import Peer

from tests.support.sim.facts import Applied, Fact, Installed, Opened
from tests.support.sim.history import Violation
from tests.support.sim.model import identity, is_unique
from tests.support.sim.replays import Replays


class AppliedOnce:
    """A state machine goes from one index to the next, and never sees a command again.

    Only a command of a session may be logged again, which `ExactlyOnce` judges.
    """

    name = "applied once, in order"
    judges = (Opened, Applied, Installed)

    def __init__(self, replays: Replays) -> None:
        self._replays: Final = replays
        self._applied: Final[dict[tuple[str, Peer], int]] = {}
        self._newest: Final[dict[str, int]] = {}
        self._where: Final[dict[tuple[str, object], int]] = {}

    def see(self, fact: Fact) -> None:
        """Judge an application."""
        key = (fact.shard, fact.peer)
        match fact:
            case Opened(applied=applied):
                self._applied[key] = applied
            case Installed(position=position):
                if position.index <= self._applied.get(key, 0):
                    raise Violation(
                        self.name,
                        f"{fact.peer} of {fact.shard} goes from index {self._applied[key]}"
                        f" back to a snapshot at {position.index}",
                    )
                self._applied[key] = position.index
            case Applied(entry=entry):
                last = self._applied.get(key, 0)
                if entry.index != last + 1:
                    raise Violation(
                        self.name,
                        f"{fact.peer} of {fact.shard} applies entry {entry.index} after {last}",
                    )
                self._applied[key] = entry.index
                if entry.index > self._newest.get(fact.shard, 0):
                    self._newest[fact.shard] = entry.index
                    self._judge_commands(fact.shard, entry.index)

    def _judge_commands(self, shard: str, index: int) -> None:
        for command in self._replays.of(shard).commands(index):
            if is_unique(command):
                first = self._where.setdefault((shard, identity(command)), index)
                if first != index:
                    raise Violation(
                        self.name, f"{command} is applied at index {first} and at {index}"
                    )
