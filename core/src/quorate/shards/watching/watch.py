"""A watch: current rows of families, then every change, over any shards of a group."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Final

from quorate.plugin.advanced import WatchedEvent
from quorate.plugin.shard_id import ShardId
from quorate.shards.watching.feeds import Feed, Lost, Page, Seen, Start
from quorate.shards.watching.tokens import WatchToken

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Portion:
    """A portion of a watch: rows, whole commands of one shard, or no event.

    Without events it is a bookmark, and the last one of a watch that was lost.
    """

    #: The token after it; empty while rows are listed, and when the watch was lost.
    token: bytes
    events: Sequence[Seen] = ()
    #: That of the events.
    shard: ShardId | None = None
    #: The previous revision of the watch in the shard; None: the events are rows of the list.
    behind: int | None = None
    lost: bool = False


#: Returns the shards that were split off a shard, each with the revision after which it begins.
Offshoots = Callable[[ShardId], Iterable[tuple[ShardId, int]]]
#: Returns what a shard was merged into in the end; itself if it was not.
Heir = Callable[[ShardId], ShardId]


class Watch:
    """Yields rows, then a bookmark, then changes; or, with a token, the changes after it.

    It is read event by event, or in portions. Events of one shard come in the order of their
    revisions, each once. It ends with one that says it was lost (`resync`), and `lost` says why, or
    when it is closed; it never just skips anything. One reader at a time.
    """

    def __init__(
        self,
        cluster: bytes,
        shards: Sequence[ShardId],
        open_feed: Callable[[ShardId, Start | None, Callable[[], None]], Feed],
        token: bytes,
        *,
        loop: asyncio.AbstractEventLoop,
        bookmark_s: float,
        moved: Callable[[ShardId], bool] = lambda _: False,
        until: Mapping[ShardId, int] | None = None,
        offshoots: Offshoots = lambda _: (),
        heir: Heir = lambda shard: shard,
    ) -> None:
        self._cluster: Final = cluster
        self._shards: Final = tuple(sorted(shards))
        self._heir: Final = heir
        self._offshoots: Final = offshoots
        #: The shards that are watched, or will be.
        self._watched: Final = set[ShardId]()
        #: The revision in each shard at which its changes began.
        self._began: Final[dict[ShardId, int]] = {}
        #: Shards to watch once their parents have reached the revision of the split.
        self._awaited: Final[dict[ShardId, tuple[ShardId, int]]] = {}
        self._open_feed: Final = open_feed
        #: Whether a shard has moved to other nodes, where the watch can continue.
        self._moved_away: Final = moved
        self._loop: Final = loop
        self._clock: Final = loop.time
        # An early wake-up need not wait for another round.
        self._bookmark_s: Final = bookmark_s * 0.9
        #: The last revision to read in each shard; None: the watch does not end.
        self._until: Final = until
        self._feeds: Final[dict[ShardId, Feed]] = {}
        #: The shards whose lists have not ended, the current one first.
        self._unlisted: Final = deque[ShardId]()
        #: The revision in each shard.
        self.revisions: Final[dict[ShardId, int]] = {}
        #: The generation of the shards that it has seen.
        self.generation = 0
        self._ready: Final = deque[WatchedEvent]()
        self._woken = False
        #: Whether it was closed or lost.
        self.closed = False
        self._waiter: asyncio.Future[None] | None = None
        #: Whether the reader's token is out of date.
        self._moved = False
        self._reported_at = loop.time()
        #: The last event of a watch that was lost.
        self._ended: Portion | None = None
        #: Called when all before a range of changes was read and the watch needs none of the range.
        self.on_passed: Callable[[], None] | None = None
        #: Called with the watch when it is closed or lost.
        self.on_close: Callable[[Watch], None] | None = None
        #: Why the watch ended in a resync.
        self.lost: str | None = None
        if token:
            self._resume(WatchToken.decode(token))
        else:
            self._watched.update(self._shards)
            self._unlisted.extend(self._shards)
            self._open_next_list()

    @property
    def listed(self) -> bool:
        """Whether every current row was returned."""
        return not self._unlisted

    @property
    def token(self) -> bytes:
        """The token to resume after all portions so far; empty during the list or once lost."""
        return b"" if self._unlisted or self.lost is not None else self._token()

    def token_at(self, shard: ShardId, revision: int) -> bytes:
        """Return the token at a revision of one shard and the current ones of the others."""
        return self._token({shard: revision})

    @property
    def ready(self) -> int:
        """The number of events available without waiting; they end with a whole command."""
        return len(self._ready)

    def age_ms(self) -> int | None:
        """Return the staleness of the returned events, or None if unknown."""
        if not self.listed or self.lost is not None or self.closed:
            return None
        ages = [feed.age_ms() for feed in self._feeds.values()]
        known = [age for age in ages if age is not None]
        return max(known) if len(known) == len(ages) else None

    def __aiter__(self) -> "Watch":
        return self

    async def __anext__(self) -> WatchedEvent:
        while not self._ready:
            portion = await self.portion()
            if portion is None:
                raise StopAsyncIteration
            self._ready.extend(self._events(portion))
        return self._ready.popleft()

    async def portion(
        self, room: Callable[[], Awaitable[None] | None] | None = None
    ) -> Portion | None:
        """Return the next portion; None at the end.

        Nothing is read before there is room: what is awaited until then, if it is not None.
        """
        while not self.closed:
            if self._at_end():
                end = self._bookmark()
                self.close()
                return end
            if room is not None and (waiting := room()) is not None:
                await waiting
            self._woken = False
            portion, moved = self._take()
            if portion is not None:
                return portion
            if moved:
                if self.on_passed is not None and self.listed:
                    self.on_passed()
                if self._bookmark_in_s() == 0:
                    return self._bookmark()
                # It has nothing for this watch: let others run before reading more.
                self._loop.call_soon(self._wake)
                await self._wait(None)
            elif (due_s := self._bookmark_in_s()) == 0:
                return self._bookmark()
            elif not self._woken:
                await self._wait(due_s)
        ended, self._ended = self._ended, None
        return ended

    def grow(self) -> None:
        """Watch the shards that watched ones were split into, each from its split on.

        It is lost if the rows that went there were not in its list, and if a watched shard was
        merged into another one.
        """
        if self.closed:
            return
        reason = self._merged(self._watched)
        for parent, (child, revision) in self._new_offshoots():
            if self._unlisted or self._began.get(parent, 0) > revision:
                reason = reason or f"shard {parent} was split while its rows were listed"
            reason = reason or self._merged((child,))
            self._awaited[child] = parent, revision
        if reason:
            self._lose(reason)
            self._wake()
        else:
            self._open_awaited()

    def close(self) -> None:
        """Stop, and end a wait for an event."""
        self.closed = True
        self._ended = None
        self._ready.clear()
        self._close_feeds()
        self._wake()

    # The start.

    def _resume(self, token: WatchToken) -> None:
        if token.cluster != self._cluster:
            self._lose("the token is of another cluster")
            return
        self.generation = token.generation
        self.revisions.update(token.revisions)
        # It may be of a list at the cut of a shard, which lacks the rows that moved away.
        self._began.update({shard: at + 1 for shard, at in token.revisions.items()})
        self._watched.update(token.revisions)
        self.grow()
        if not self.closed and self._watched != {*self._shards}:
            self._lose("the token is of other shards")
        if not self.closed:
            for shard, revision in token.revisions.items():
                self._follow(shard, revision)

    def _follow(self, shard: ShardId, revision: int) -> None:
        self.revisions[shard] = revision
        self._began.setdefault(shard, revision)
        start = Start(self.generation, revision)
        self._feeds[shard] = self._open_feed(shard, start, self._wake)

    def _merged(self, shards: Iterable[ShardId]) -> str:
        """Say which of some shards was merged into another one, if one was."""
        gone = next((shard for shard in sorted(shards) if self._heir(shard) != shard), None)
        return "" if gone is None else f"shard {gone} was merged into another one"

    def _new_offshoots(self) -> Iterator[tuple[ShardId, tuple[ShardId, int]]]:
        looked = deque(self._watched)
        while looked:
            parent = looked.popleft()
            for child, revision in self._offshoots(parent):
                # A watch of what one was merged into has begun after that.
                if self._heir(child) not in self._watched:
                    self._watched.add(child)
                    looked.append(child)
                    yield parent, (child, revision)

    def _open_awaited(self) -> None:
        """Follow the new shards whose parents have reached their splits."""
        for child, (parent, revision) in list(self._awaited.items()):
            if self.revisions.get(parent, -1) >= revision:
                del self._awaited[child]
                self._follow(child, revision)

    def _open_next_list(self) -> None:
        """List shards one after the other, to hold the rows of one list at a time."""
        shard = self._unlisted[0]
        self._feeds[shard] = self._open_feed(shard, None, self._wake)

    # Pages.

    def _take(self) -> tuple[Portion | None, bool]:
        """Take a page of a shard; the second result is whether any shard had one."""
        for shard in [self._unlisted[0]] if self._unlisted else list(self._feeds):
            page = None if self._has_ended(shard) else self._feeds[shard].take()
            if page is None:
                continue
            if isinstance(page, Lost):
                if not self._goes_on_elsewhere(shard, page):
                    self._lose(page.reason)
                return None, True
            if self._unlisted:
                return self._take_rows(shard, page), True
            # The next page is another shard's, if it has one.
            self._feeds[shard] = self._feeds.pop(shard)
            return self._take_changes(shard, page), True
        return None, False

    def _goes_on_elsewhere(self, shard: ShardId, lost: Lost) -> bool:
        """Continue at the same position on another node, if the shard has moved there."""
        if self._unlisted or not lost.only_here or not self._moved_away(shard):
            return False
        feed = self._feeds[shard]
        start = Start(feed.generation, self.revisions[shard])
        feed.close()
        self._feeds[shard] = self._open_feed(shard, start, self._wake)
        return True

    def _has_ended(self, shard: ShardId) -> bool:
        return self._until is not None and self.revisions[shard] >= self._until[shard]

    def _at_end(self) -> bool:
        return self._until is not None and all(map(self._has_ended, self._shards))

    def _take_rows(self, shard: ShardId, page: Page) -> Portion | None:
        if page.listing:
            return Portion(token=b"", events=page.events, shard=shard)
        # A list at the cut of a shard lacks the rows that moved away.
        self.revisions[shard], self._began[shard] = page.revision, page.revision + 1
        self._unlisted.popleft()
        if not self._unlisted:
            return self._bookmark()
        self._open_next_list()
        return None

    def _take_changes(self, shard: ShardId, page: Page) -> Portion | None:
        behind = self.revisions[shard]
        if self._until is not None and page.revision > (end := self._until[shard]):
            page = Page([seen for seen in page.events if seen.revision <= end], end)
        self.revisions[shard] = page.revision
        if self._awaited:
            self._open_awaited()
        self._moved = not page.events
        if not page.events:
            return None
        self._reported_at = self._clock()
        return Portion(token=self._token(), events=page.events, shard=shard, behind=behind)

    def _events(self, portion: Portion) -> Iterator[WatchedEvent]:
        """Yield the events of a portion, each with its own token."""
        events, shard, behind = portion.events, portion.shard, portion.behind
        if shard is None:
            yield WatchedEvent(
                event=None,
                revision=0 if portion.lost else max(self.revisions.values()),
                token=portion.token,
                resync=portion.lost,
            )
            return
        token = b"" if behind is None else self._token({shard: behind})
        for seen, following in zip_longest(events, events[1:]):
            # A token is after a whole command, so that none of its events is lost.
            if following is None:
                token = portion.token
            elif behind is not None and following.revision != seen.revision:
                token = self._token({shard: seen.revision})
            yield WatchedEvent(
                event=seen.event, revision=seen.revision, token=token, shard=shard.number
            )

    def _bookmark_in_s(self) -> float | None:
        """Return when a bookmark is due; None while the reader's token is up to date."""
        if not self._moved:
            return None
        return max(0.0, self._reported_at + self._bookmark_s - self._clock())

    def _bookmark(self) -> Portion:
        self._moved = False
        self._reported_at = self._clock()
        return Portion(token=self._token())

    def _token(self, at: Mapping[ShardId, int] | None = None) -> bytes:
        # A shard that is younger than a restore has a lower generation than the others.
        generations = (feed.generation for feed in self._feeds.values())
        self.generation = max(self.generation, *generations)
        revisions = {**self.revisions, **at} if at else self.revisions
        return WatchToken(self._cluster, self.generation, revisions).encode()

    def _lose(self, reason: str) -> None:
        _log.info("a watch must list again: %s", reason)
        self.lost = reason
        self._ended = Portion(token=b"", lost=True)
        self.closed = True
        self._close_feeds()

    def _close_feeds(self) -> None:
        if self.on_close is not None:
            self.on_close(self)
        for feed in self._feeds.values():
            feed.close()

    # Waiting.

    def _wake(self) -> None:
        self._woken = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _wait(self, timeout_s: float | None) -> None:
        self._waiter = self._loop.create_future()
        timer = None if timeout_s is None else self._loop.call_later(timeout_s, self._wake)
        try:
            await self._waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()
