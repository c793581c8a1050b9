"""A node whose one shard is here has no way to shards elsewhere."""

from collections.abc import Callable
from typing import NoReturn

from quorate.groups.watching.feeds import Selection, Start
from quorate.plugin.shard_id import ShardId


class Nowhere:
    """Implements `FeedPort` for nobody."""

    def open(
        self,
        shard: ShardId,
        selection: Selection,
        start: Start | None,
        not_before: int,
        wake: Callable[[], None],
    ) -> NoReturn:
        """Raise `LookupError`."""
        raise LookupError(f"shard {shard} is not served by these processes")
