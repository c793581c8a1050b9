"""Watches of shards without a replica here: there is no way to them, and each is told so."""

from collections.abc import Callable
from typing import Final

from quorate.groups.watching.feeds import Lost, Selection, Start
from quorate.storage.shard_id import ShardId


class NoFeeds:
    """Implements `FeedPort`: each watch of a shard elsewhere ends at once, in a resync."""

    def open(
        self,
        shard: ShardId,
        selection: Selection,
        start: Start | None,
        not_before: int,
        wake: Callable[[], None],
    ) -> "LostFeed":
        """Return a feed that is lost from its beginning."""
        return LostFeed(f"this node has no replica of shard {shard}; watch it on a node that has")


class LostFeed:
    """Implements `Feed` where there is nothing to read."""

    generation: Final = 0

    def __init__(self, reason: str) -> None:
        self._reason: Final = reason

    def take(self) -> Lost:
        """Say why there is nothing."""
        return Lost(self._reason)

    def age_ms(self) -> None:
        """Return None: nothing was seen."""

    def close(self) -> None:
        """Do nothing."""
