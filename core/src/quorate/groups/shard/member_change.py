"""A pending change of a shard's configuration."""

import asyncio
from typing import Final

from quorate.consensus.proposals import Fate
from quorate.groups.refusals import NotProposedError, OutcomeUnknownError, UnansweredInTimeError
from quorate.plugin.shard_id import ShardId


class MemberChange:
    """Ends with the outcome, or as unknown at the timeout."""

    def __init__(self, shard: ShardId, loop: asyncio.AbstractEventLoop) -> None:
        self._shard: Final = shard
        self._loop: Final = loop
        self._index = 0
        #: The index of the configuration, once it is committed and applied here.
        self.changed: Final[asyncio.Future[int]] = loop.create_future()

    def proposed(self, index: int, timeout_s: float) -> None:
        """Record its position in the log."""
        self._index = index
        timer = self._loop.call_later(timeout_s, self._expire)
        self.changed.add_done_callback(lambda _: timer.cancel())

    def settle(self, fate: Fate, _: object) -> None:
        """Handle the outcome of the entry."""
        if self.changed.done():
            return
        if fate is Fate.APPLIED:
            self.changed.set_result(self._index)
        elif fate is Fate.DISCARDED:
            self.changed.set_exception(
                NotProposedError(
                    f"the members of shard {self._shard} did not change: its leader was lost"
                )
            )
        else:
            self.lose()

    def lose(self) -> None:
        """End as unknown."""
        self.changed.set_exception(
            OutcomeUnknownError(
                f"whether the members of shard {self._shard} changed is not known here: look at"
                " them on another node"
            )
        )

    def _expire(self) -> None:
        if not self.changed.done():
            self.changed.set_exception(
                UnansweredInTimeError(
                    f"the members of shard {self._shard} were about to change when the time was"
                    " over, and may change yet: look at them"
                )
            )
