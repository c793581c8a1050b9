"""Opens the watches of a node: on its own replicas, and on those of other nodes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple
from weakref import WeakSet

from quorate.apply.entries import whole
from quorate.plugin.shard_id import ShardId
from quorate.shards.refusals import UnreadableError
from quorate.shards.shard.shard import Shard
from quorate.shards.watching.feeds import Feed, LocalFeed, OpenFeed, PageLimits, Selection, Start
from quorate.shards.watching.tokens import WatchToken
from quorate.shards.watching.waking import Waking
from quorate.shards.watching.watch import Heir, Offshoots, Watch


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchSettings:
    """Settings of a node's watches."""

    page: PageLimits = field(default_factory=PageLimits)
    #: How long a reader's token may be out of date while there are no events for its watch.
    bookmark_s: float = 10.0


class ReadPoint(NamedTuple):
    """A revision of a shard that covers every write answered before the request."""

    revision: int
    generation: int


#: Asks another node within some seconds for the read point of a shard; raises `UnreadableError`.
AskReadPoint = Callable[[ShardId, float], Awaitable[ReadPoint]]


class Watches:
    """Opens watches on the replicas of this node, and of shards without one elsewhere."""

    def __init__(
        self,
        cluster: bytes,
        replica: Callable[[ShardId], Shard | None],
        open_elsewhere: OpenFeed,
        ask_read_point: AskReadPoint | None = None,
        *,
        moved: Callable[[ShardId], bool] = lambda _: False,
        offshoots: Offshoots = lambda _: (),
        heir: Heir = lambda shard: shard,
        loop: asyncio.AbstractEventLoop,
        settings: WatchSettings | None = None,
        timeout_s: float = 30.0,
    ) -> None:
        #: The id of the cluster in tokens.
        self.cluster: Final = cluster
        self._replica: Final = replica
        self._open_elsewhere: Final = open_elsewhere
        self._ask_read_point: Final = ask_read_point
        self._moved: Final = moved
        self._offshoots: Final = offshoots
        self._heir: Final = heir
        #: The number of slot maps so far.
        self._maps = 0
        self._loop: Final = loop
        self._settings: Final = settings or WatchSettings()
        self._timeout_s: Final = timeout_s
        #: Those that are open.
        self._made: Final = WeakSet[Watch]()
        #: Of the replicas here that are watched.
        self._wakings: Final[dict[Shard, Waking]] = {}

    def grow(self) -> None:
        """Watch new shards: the slot map has changed."""
        self._maps += 1
        for watch in list(self._made):
            watch.grow()

    @property
    def open_now(self) -> int:
        """The number of open watches."""
        return len(self._made)

    def open(
        self,
        selection: Selection,
        shards: Sequence[ShardId],
        token: bytes = b"",
        *,
        not_before: Mapping[ShardId, int] | None = None,
        prompt: bool = True,
        until: Mapping[ShardId, int] | None = None,
        grows: bool = True,
    ) -> Watch:
        """Watch families in these shards, after a token or from their current rows on.

        Rows are this node's, at the given revisions or later. A reader that is not `prompt` learns
        seconds later how far it has come without events. With a token and `until`, it ends after
        these revisions. With `grows` the shards that these are split into are watched, too. Raises
        `InvalidTokenError`.
        """
        at_least = not_before or {}

        def open_feed(shard: ShardId, start: Start | None, wake: Callable[[], None]) -> Feed:
            where = shard, selection, start, at_least.get(shard, 0), wake
            if self._here(shard) is None:
                return self._open_elsewhere(*where)
            return self.feed_here(*where, prompt=prompt)

        watch = Watch(
            self.cluster,
            shards,
            open_feed,
            token,
            loop=self._loop,
            bookmark_s=self._settings.bookmark_s,
            moved=self._moved,
            until=until,
            offshoots=self._offshoots if grows else lambda _: (),
            heir=self._heir,
        )
        if not watch.closed:
            self._made.add(watch)
            watch.on_close = self._made.discard
        return watch

    async def open_fresh(
        self,
        selection: Selection,
        shards: Sequence[ShardId],
        token: bytes = b"",
        *,
        changes_only: bool = False,
        timeout_s: float | None = None,
        prompt: bool = True,
        until: Mapping[ShardId, int] | None = None,
    ) -> Watch:
        """Watch after a token, or from current rows on, with every write answered before.

        `changes_only` omits the rows and begins after those writes. Raises `UnreadableError` if a
        shard does not answer in time, and `InvalidTokenError`.
        """
        if token:
            return self.open(selection, shards, token, prompt=prompt, until=until)
        wait_s = self._timeout_s if timeout_s is None else min(timeout_s, self._timeout_s)
        maps = self._maps
        found = await asyncio.gather(*(self.read_point(shard, wait_s) for shard in shards))
        revisions = {shard: point.revision for shard, point in zip(shards, found, strict=True)}
        if not changes_only:
            watch = self.open(selection, shards, not_before=revisions, prompt=prompt)
            if maps != self._maps:
                # They were those of an earlier map.
                watch.grow()
            return watch
        generation = max(point.generation for point in found)
        token = WatchToken(self.cluster, generation, revisions).encode()
        return self.open(selection, shards, token, prompt=prompt)

    async def read_point(self, shard: ShardId, timeout_s: float) -> ReadPoint:
        """Return a read point of a shard, wherever it is; raises `UnreadableError`."""
        if self._ask_read_point is not None and self._replica(shard) is None:
            return await self._ask_read_point(shard, timeout_s)
        return await self.read_point_here(shard, timeout_s)

    async def read_point_here(self, shard: ShardId, timeout_s: float) -> ReadPoint:
        """Return a read point of this node's replica; raises `UnreadableError`."""
        replica = self._demand(shard)
        index = await replica.read_barrier(min(timeout_s, self._timeout_s))
        return ReadPoint(whole(index), replica.data.record.generation)

    def feed_here(
        self,
        shard: ShardId,
        selection: Selection,
        start: Start | None,
        not_before: int,
        wake: Callable[[], None],
        *,
        prompt: bool = True,
    ) -> Feed:
        """Open the feed of this node's replica; raises `UnreadableError`."""
        replica = self._demand(shard)
        waking = self._wakings.get(replica)
        if waking is None:
            forget = partial(self._wakings.pop, replica, None)
            waking = self._wakings[replica] = Waking(
                replica, self._loop, forget, self._settings.bookmark_s
            )
        return LocalFeed(
            replica, selection, start, not_before, wake, self._settings.page, waking, prompt
        )

    def _here(self, shard: ShardId) -> Shard | None:
        replica = self._replica(shard)
        return replica if replica is not None and replica.stopped is None else None

    def _demand(self, shard: ShardId) -> Shard:
        if (replica := self._here(shard)) is None:
            raise UnreadableError(
                f"this node has no replica of shard {shard}; ask a node that has one"
            )
        return replica
