"""Which other nodes are alive: each pair of nodes has one heartbeat, whatever its shards.

A replica at rest relies on it instead of on heartbeats of its own (see `resting`).
"""

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol

from quorate.consensus.candidates import Candidates
from quorate.consensus.timing import Timing


class Sleeper(Protocol):
    """A replica at rest."""

    def rouse(self, node: str) -> None:
        """Wake: a node that it watches fell silent, came back, or lost a leader at rest."""


#: A node is silent after this multiple of its longest gap, which each heartbeat makes count for
#: less, and at the latest after that multiple of the usual time.
_PATIENCE: Final = 2.0
_LONGEST: Final = 4.0
_FADES: Final = 0.95


class _Heard(NamedTuple):
    at: float
    epoch: int
    #: False once it was found to be silent.
    alive: bool
    #: The longest time between two of its heartbeats lately: on machines with too much to do nodes
    #: stand still for a while, and waking all shards each time would be more to do.
    gap_s: float = 0.0


class Liveness:
    """Sends this node's heartbeats, hears those of the others, and wakes who relies on them.

    `epoch` tells one life of a node from the next: a number drawn when its process starts. It
    grows when a leader that may be at rest ends here although the process goes on, since its
    followers would hear of that from nobody.
    """

    def __init__(
        self, clock: Callable[[], float], timing: Timing, epoch: int, send: Callable[[int], None]
    ) -> None:
        self.epoch = epoch
        #: The replicas of this node that stand for election.
        self.candidates: Final = Candidates()
        self._clock: Final = clock
        self._silent_s: Final = timing.quorum_window_s
        self._late_s: Final = 2 * timing.heartbeat_s
        self._beat_at = clock()
        #: Whether the last heartbeat was so late that nobody was found silent.
        self._excused = False
        self._send: Final = send
        self._heard: Final[dict[str, _Heard]] = {}
        self._watchers: Final[dict[str, dict[Sleeper, None]]] = {}

    def beat(self) -> None:
        """Send a heartbeat to every node, and wake who relies on a node that fell silent.

        Call it at the interval of heartbeats. If it comes late, this node was the one that stood
        still: it reads first what has come meanwhile.
        """
        self._send(self.epoch)
        now = self._clock()
        late, self._beat_at = now - self._beat_at > self._late_s, now
        self._excused = late and not self._excused
        if self._excused:
            return
        for node, heard in list(self._heard.items()):
            if heard.alive and not self._is_recent(heard):
                self._heard[node] = heard._replace(alive=False)
                self._rouse(node)

    def hear(self, node: str, epoch: int) -> None:
        """Record the heartbeat of a node."""
        known, now = self._heard.get(node), self._clock()
        if known is None or known.epoch != epoch or not known.alive:
            # A waking replica must not mistake this heartbeat for one of the node's former life.
            self._rouse(node)
        gap_s = 0.0
        if known is not None and known.epoch == epoch:
            gap_s = max(now - known.at, _FADES * known.gap_s)
        self._heard[node] = _Heard(now, epoch, alive=True, gap_s=gap_s)

    def renew(self) -> None:
        """Let every replica of other nodes wake that relies on a leader of this one."""
        self.epoch += 1

    def heard_at(self, node: str) -> float:
        """Return when a node was last heard; minus infinity: never."""
        heard = self._heard.get(node)
        return float("-inf") if heard is None else heard.at

    def lives(self, node: str, epoch: int | None = None) -> bool:
        """Whether a node is heard, in this epoch if one is given."""
        heard = self._heard.get(node)
        if heard is None or not self._is_recent(heard):
            return False
        return epoch in (None, heard.epoch)

    def watch(self, sleeper: Sleeper, nodes: Iterable[str]) -> None:
        """Wake a replica when one of these nodes changes, until `forget`."""
        for node in nodes:
            self._watchers.setdefault(node, {})[sleeper] = None

    def forget(self, sleeper: Sleeper) -> None:
        """Watch nothing more for a replica."""
        for watchers in self._watchers.values():
            watchers.pop(sleeper, None)

    def _is_recent(self, heard: _Heard) -> bool:
        patience_s = min(max(self._silent_s, _PATIENCE * heard.gap_s), _LONGEST * self._silent_s)
        return heard.alive and heard.at >= self._clock() - patience_s

    def _rouse(self, node: str) -> None:
        for sleeper in list(self._watchers.get(node, ())):
            sleeper.rouse(node)
