"""Promotes the learners of a recovered shard once they have caught up."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final

from quorate.consensus.messages import Peer
from quorate.consensus.refusals import RefusedError
from quorate.groups.members import Goal, next_step, patience_s
from quorate.groups.shard.shard import Shard
from quorate.plugin import Rejected

_AGAIN_S: Final = 0.2


class Promotion:
    """Promotes learners of recovered shards that this node leads.

    A recovered shard begins with one voter, whose state the other replicas install.
    """

    def __init__(
        self, shards: Callable[[], Iterable[Shard]], loop: asyncio.AbstractEventLoop
    ) -> None:
        self._shards: Final = shards
        self._loop: Final = loop
        self._timer: asyncio.TimerHandle | None = None
        self._stopped = False

    def look_at(self, shard: Shard) -> None:
        """Promote learners that have caught up, and check again while there are others."""
        learners = _learners(shard) if shard.epoch and shard.leads else []
        if learners and self._timer is None and not self._stopped:
            self._timer = self._loop.call_later(_AGAIN_S, self._again)
        self._promote(shard, learners)

    def stop(self) -> None:
        """Stop."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()

    def _again(self) -> None:
        self._timer = None
        for shard in self._shards():
            self.look_at(shard)

    def _promote(self, shard: Shard, learners: Iterable[Peer]) -> None:
        for learner in learners:
            try:
                step = next_step(
                    shard.id,
                    Goal(learner.node, learner.replica),
                    shard.replica.status(),
                    patience_s=patience_s(shard.settings.timing),
                )
                if step.configuration is not None:
                    changed = shard.change_membership(step.configuration)
                    changed.add_done_callback(lambda done: done.cancelled() or done.exception())
                    return
            except (Rejected, RefusedError):
                # There is no contact, or another change is in progress.
                continue


def _learners(shard: Shard) -> list[Peer]:
    configuration = shard.configuration
    if configuration is None:
        return []
    return [each.peer for each in configuration.members if not each.voter]
