"""Shares the event loop between the shards of a node while they apply much."""

from collections.abc import Callable
from typing import Final

from quorate.plugin.shard_id import ShardId

#: A shorter turn of applying needs no pause.
_LONG_S: Final = 0.003
_LONGEST_REST_S: Final = 0.05
#: How long other shards count as busy after their last turn.
_RECENT_S: Final = 0.25


class LoopBudget:
    """Returns the pause of a shard after a turn of applying, which is as long as the turn.

    A write of another shard needs several turns of the loop, each of which could be a long one. The
    only busy shard of a node never pauses.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock: Final = clock
        self._worked_at: Final[dict[ShardId, float]] = {}

    def after(self, shard: ShardId, took_s: float) -> float:
        """Record a turn of applying, and return the pause after it."""
        now = self._clock()
        self._worked_at[shard] = now
        if took_s < _LONG_S:
            return 0.0
        recently = now - _RECENT_S
        others = any(at > recently for other, at in self._worked_at.items() if other != shard)
        return min(took_s, _LONGEST_REST_S) if others else 0.0
