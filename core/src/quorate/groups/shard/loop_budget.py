"""How the shards of a node leave the event loop to each other when what they apply is large."""

from collections.abc import Callable
from typing import Final

from quorate.plugin.shard_id import ShardId

#: What is applied in less time needs no rest: the next turn of the loop is soon enough.
_LONG_S: Final = 0.003
_LONGEST_REST_S: Final = 0.05
#: For so long others count as at work after their last turn.
_RECENT_S: Final = 0.25


class LoopBudget:
    """Says how long a shard rests after a turn of applying: as long as the turn took.

    A write of another shard needs several turns of the loop, and would meet a long one at each of
    them. A shard that works alone on its node never rests.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock: Final = clock
        self._worked_at: Final[dict[ShardId, float]] = {}

    def after(self, shard: ShardId, took_s: float) -> float:
        """Record a turn of applying, and return for how long the shard rests now."""
        now = self._clock()
        self._worked_at[shard] = now
        if took_s < _LONG_S:
            return 0.0
        recently = now - _RECENT_S
        others = any(at > recently for other, at in self._worked_at.items() if other != shard)
        return min(took_s, _LONGEST_REST_S) if others else 0.0
