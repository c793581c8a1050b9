"""Watches that begin after all writes answered before, on shards of any node."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, Protocol

from quorate.apply.entries import whole
from quorate.groups.refusals import UnreadableError
from quorate.groups.shard.shard import Shard
from quorate.groups.watching.feeds import Feed, Selection, Start
from quorate.groups.watching.tokens import WatchToken
from quorate.groups.watching.watches import Watch, Watches
from quorate.plugin.shard_id import ShardId


class ReadPoint(NamedTuple):
    """A revision of a shard that covers every write answered before the request."""

    revision: int
    generation: int


class ReadPointPort(Protocol):
    """Asks other nodes for the read points of shards that have no replica here."""

    async def read_point(self, shard: ShardId, timeout_s: float) -> ReadPoint:
        """Return a read point of a shard; raises `UnreadableError`."""


class FreshWatches:
    """Opens watches after a token, or after a read barrier of each of their shards."""

    def __init__(
        self,
        cluster: bytes,
        watches: Watches,
        replica: Callable[[ShardId], Shard | None],
        elsewhere: ReadPointPort,
        *,
        timeout_s: float,
    ) -> None:
        #: The id of the cluster in tokens.
        self.cluster: Final = cluster
        self._watches: Final = watches
        self._replica: Final = replica
        self._elsewhere: Final = elsewhere
        self._timeout_s: Final = timeout_s

    async def open(
        self,
        selection: Selection,
        shards: Sequence[ShardId],
        token: bytes = b"",
        *,
        changes_only: bool = False,
        timeout_s: float | None = None,
    ) -> Watch:
        """Watch after a token, or from current rows on, with every write answered before.

        `changes_only` omits the rows and begins after those writes. Raises `UnreadableError` if a
        shard does not answer in time, and `InvalidTokenError`.
        """
        if token:
            return self._watches.open(selection, shards, token)
        wait_s = self._timeout_s if timeout_s is None else min(timeout_s, self._timeout_s)
        found = await asyncio.gather(*(self.read_point(shard, wait_s) for shard in shards))
        revisions = {shard: point.revision for shard, point in zip(shards, found, strict=True)}
        if not changes_only:
            return self._watches.open(selection, shards, not_before=revisions)
        generation = max(point.generation for point in found)
        token = WatchToken(self.cluster, generation, revisions).encode()
        return self._watches.open(selection, shards, token)

    def feed_here(
        self,
        shard: ShardId,
        selection: Selection,
        start: Start | None,
        not_before: int,
        wake: Callable[[], None],
    ) -> Feed:
        """Open the feed of this node's replica for another node; raises `UnreadableError`."""
        feed = self._watches.feed_here(shard, selection, start, not_before, wake)
        if feed is None:
            raise _absent(shard)
        return feed

    async def read_point_here(self, shard: ShardId, timeout_s: float) -> ReadPoint:
        """Return a read point of this node's replica for another node; raises `UnreadableError`."""
        replica = self._replica(shard)
        if replica is None:
            raise _absent(shard)
        index = await replica.read_barrier(min(timeout_s, self._timeout_s))
        return ReadPoint(whole(index), replica.data.record.generation)

    async def read_point(self, shard: ShardId, timeout_s: float) -> ReadPoint:
        """Return a read point of a shard, wherever it is; raises `UnreadableError`."""
        if self._replica(shard) is None:
            return await self._elsewhere.read_point(shard, timeout_s)
        return await self.read_point_here(shard, timeout_s)


def _absent(shard: ShardId) -> UnreadableError:
    return UnreadableError(f"this node has no replica of shard {shard}; ask a node that has one")
