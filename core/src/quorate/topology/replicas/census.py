"""Reports of the nodes of the cluster about themselves: their liveness and their leaderships."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, NamedTuple

from quorate.consensus.messages import Peer
from quorate.plugin.shard_id import ShardId
from quorate.v1.node_pb2 import LedShard

#: A node counts as silent after this time without a message.
SILENT_S: Final = 15.0
#: The part of a new measurement in a load.
_NEW: Final = 0.3


class Led(NamedTuple):
    """A shard that a node leads."""

    term: int
    #: Commands and reads of the node since it began, at its last answer.
    done: int
    #: Commands and reads per second, smoothed.
    load: float = 0.0


class _Answer(NamedTuple):
    at: float
    led: Mapping[ShardId, Led]


class Census:
    """Keeps the last answer of every node; the one that asks the nodes passes it on.

    A node that lost its directory has another replica, and does not answer for the one before.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        #: The nodes whose disks were nearly full at their last answers.
        self.full: Final = set[str]()
        #: Returns the time of its clock.
        self.now: Final = clock
        self._began: Final = clock()
        self._answers: Final[dict[Peer, _Answer]] = {}
        #: Who leads each shard in the latest term that is known.
        self._leaders: Final[dict[ShardId, tuple[int, Peer]]] = {}

    def hear(self, node: Peer, led: Iterable[LedShard], *, full: bool = False) -> None:
        """Record the answer of a node, whose disk may be nearly full."""
        (self.full.add if full else self.full.discard)(node.node)
        now, before = self.now(), self._answers.get(node)
        found: dict[ShardId, Led] = {}
        for each in led:
            try:
                shard = ShardId.parse(each.shard)
            except ValueError:
                continue
            load = 0.0
            known = None if before is None else before.led.get(shard)
            if before is not None and known is not None and now > before.at:
                rate = max(0, each.done - known.done) / (now - before.at)
                load = known.load + _NEW * (rate - known.load)
            found[shard] = Led(each.term, each.done, load)
            if shard not in self._leaders or self._leaders[shard][0] <= each.term:
                self._leaders[shard] = each.term, node
        self._answers[node] = _Answer(now, found)

    def silent_s(self, node: Peer) -> float:
        """Return for how long a node has not answered."""
        answer = self._answers.get(node)
        return self.now() - (self._began if answer is None else answer.at)

    def answers(self, node: Peer) -> bool:
        """Whether a node has answered lately."""
        return node in self._answers and self.silent_s(node) < SILENT_S

    def led(self, node: Peer) -> Mapping[ShardId, Led]:
        """Return the shards that a node said that it leads."""
        answer = self._answers.get(node)
        return {} if answer is None else answer.led

    def leader(self, shard: ShardId) -> tuple[int, str] | None:
        """Return the latest known term in which a shard is led, and the node that leads it."""
        found = self._leaders.get(shard)
        return None if found is None else (found[0], found[1].node)

    def load(self, shard: ShardId) -> float:
        """Return the commands and reads of a shard per second."""
        leader = self._leaders.get(shard)
        found = None if leader is None else self.led(leader[1]).get(shard)
        return 0.0 if found is None else found.load
