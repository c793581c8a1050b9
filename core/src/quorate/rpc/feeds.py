"""Feeds and read points of shards that have no replica here yet, from the nodes that have one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from quorate.http2.grpc.call_errors import CallError
from quorate.http2.grpc.codes import Code
from quorate.plugin import RowEvent
from quorate.plugin.shard_id import ShardId
from quorate.rpc.channels import NodeChannels, UnreachableError
from quorate.shards.refusals import ReadTimeoutError, UnreadableError
from quorate.shards.timing import Pause, end
from quorate.shards.watching.feeds import Feed, Lost, Page, Seen, Selection, Start, emitted
from quorate.shards.watching.watches import ReadPoint, Watches
from quorate.v1 import node_pb2, watch_pb2

_log = logging.getLogger(__name__)

_CONNECT_S: Final = 2.0
_FOREVER: Final = float("inf")
#: Failed attempts, over some seconds, after which an error is not transient.
_LASTS: Final = 20


@dataclass(eq=False)
class NodeFeeds:
    """Opens feeds and asks for read points over the channels to the nodes.

    `replicas` says which nodes to ask for a shard, the best one first. `here` returns the watches
    of this node once it has a replica of a shard itself: perhaps no other node ever has one. Nobody
    has a shard for long that is `merged`.
    """

    channels: NodeChannels
    replicas: Callable[[ShardId], Sequence[str]]
    here: Callable[[ShardId], Watches | None]
    merged: Callable[[ShardId], bool]
    loop: asyncio.AbstractEventLoop
    _running: set[asyncio.Task[None]] = field(default_factory=set, init=False)

    def open(
        self,
        shard: ShardId,
        selection: Selection,
        start: Start | None,
        not_before: int,
        wake: Callable[[], None],
    ) -> RemoteFeed:
        """Start after `start`, or with all rows if it is absent, at `not_before` or later."""
        feed = RemoteFeed(self, shard, selection, start, not_before, wake)
        self._running.add(feed.running)
        feed.running.add_done_callback(self._running.discard)
        return feed

    async def read_point(self, shard: ShardId, timeout_s: float) -> ReadPoint:
        """Return a read point of a shard; raises `UnreadableError`."""
        deadline = self.loop.time() + timeout_s
        pause = Pause(self.loop)
        reason = ""
        while True:
            if self.merged(shard):
                raise UnreadableError(f"shard {shard} was merged into another one; try again")
            if (here := self.here(shard)) is not None:
                try:
                    return await here.read_point_here(shard, deadline - self.loop.time())
                except UnreadableError as error:
                    reason = str(error)
            for node in self.replicas(shard):
                try:
                    left_s = max(0.0, deadline - self.loop.time())
                    return await self._read_point_on(node, shard, left_s)
                except UnreachableError as error:
                    reason = str(error)
                except CallError as error:
                    # A timeout says less than the error before it.
                    if not reason or error.code() is not Code.DEADLINE_EXCEEDED:
                        reason = f"{node} gave no answer: {error.details()}"
            if not await pause.until(deadline):
                raise ReadTimeoutError(
                    f"the deadline passed before the newest revision of shard {shard} was known; "
                    "the last reason was: "
                    + (reason or f"no node is known to have a replica of shard {shard}")
                )

    async def stop(self) -> None:
        """End every feed."""
        await end(*self._running)

    async def _read_point_on(self, node: str, shard: ShardId, timeout_s: float) -> ReadPoint:
        route = await self.channels.route(node, timeout_s)
        asked = node_pb2.MarkRequest(shard=str(shard), timeout_ms=round(timeout_s * 1_000))
        answer = await route.stub.Mark(asked, timeout=timeout_s, metadata=route.metadata)
        return ReadPoint(answer.revision, answer.generation)


@dataclass(eq=False)
class RemoteFeed:
    """Implements `Feed` over another node's replica, one page ahead of its reader.

    When the way breaks it goes on from where it was, on whatever node it finds, or here when there
    is a replica by then; only a list that was begun is lost with its node.
    """

    _feeds: NodeFeeds
    _shard: ShardId
    _selection: Selection
    #: The position after the last page; None until the list is complete.
    _start: Start | None
    _not_before: int
    _wake: Callable[[], None]
    _listing: bool = False
    _page: Page | None = None
    _lost: Lost | None = None
    #: Set while the page that comes next may be asked for.
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)
    #: How old the replica's state was, and when it was reported.
    _age_ms: int | None = None
    _heard_at: float = 0.0
    _generation: int = 0
    #: What continues it on this node.
    _here: Feed | None = None

    def __post_init__(self) -> None:
        #: What keeps it going, until it is lost or closed.
        self.running = self._feeds.loop.create_task(self._run())

    @property
    def generation(self) -> int:
        """The generation of the shard; 0 before the first page."""
        return self._generation if self._here is None else self._here.generation

    def take(self) -> Page | Lost | None:
        """Return the next page, or the loss of the feed; None if neither has come."""
        if self._lost is not None:
            return self._lost
        page, self._page = self._page, None
        if page is not None:
            self._wanted.set()
            return page
        return None if self._here is None else self._here.take()

    def age_ms(self) -> int | None:
        """Return how stale the last state of this feed may be; None if unknown."""
        if self._here is not None:
            return self._here.age_ms()
        if self._age_ms is None:
            return None
        return self._age_ms + round((self._feeds.loop.time() - self._heard_at) * 1_000)

    def close(self) -> None:
        """Give nothing any more, and hold nothing."""
        self._lost = self._lost or Lost("the watch was closed")
        self._page = None
        self.running.cancel()
        if self._here is not None:
            self._here.close()

    def _ended(self) -> bool:
        return self._lost is not None

    async def _run(self) -> None:
        try:
            await self._follow()
        except Exception:  # noqa: BLE001 - whatever it is, its reader is not left in silence
            _log.exception("the feed of shard %s broke", self._shard)
            self._lose(f"the feed of shard {self._shard} broke")

    async def _follow(self) -> None:
        """Go from node to node until nothing more can come, or this one has a replica."""
        pause = Pause(self._feeds.loop)
        while not self._ended():
            if (here := self._feeds.here(self._shard)) is not None:
                self._here = here.feed_here(
                    self._shard, self._selection, self._start, self._not_before, self._wake
                )
                self._wake()
                return
            heard_at, reason = self._heard_at, "no node is known to have a replica"
            for node in self._feeds.replicas(self._shard):
                reason = f"{node} ended it"
                try:
                    await self._read(node)
                except UnreachableError as error:
                    reason = str(error)
                except CallError as error:
                    reason = f"{node} ended it: {error.details()}"
                except asyncio.CancelledError:
                    # A connection that is closed cancels its calls, and this goes on.
                    if self.running.cancelling():
                        raise
                if self._ended():
                    return
                if self._listing:
                    self._lose(f"the list of shard {self._shard} broke off: {reason}")
                    return
            if self._heard_at != heard_at:
                pause = Pause(self._feeds.loop)
            if pause.count in (0, _LASTS):
                level = logging.WARNING if pause.count else logging.INFO
                _log.log(level, "shard %s cannot be followed for now: %s", self._shard, reason)
            await pause.until(_FOREVER)

    async def _read(self, node: str) -> None:
        """Read on from a node until it ends."""
        route = await self._feeds.channels.route(node, _CONNECT_S)
        call = route.stub.Feed(metadata=route.metadata)
        try:
            await call.write(node_pb2.FeedRequest(start=self._beginning()))
            while (response := await call.read()) is not None:
                self._hear(response)
                if self._ended():
                    return
                if self._page is not None:
                    await self._wanted.wait()
                    # If it has ended meanwhile, reading raises the reason.
                    if not call.done():
                        await call.write(node_pb2.FeedRequest())
        finally:
            call.cancel()

    def _beginning(self) -> node_pb2.FeedStart:
        start = self._start
        return node_pb2.FeedStart(
            shard=str(self._shard),
            families=[
                watch_pb2.WatchedFamily(name=name, prefix=prefix)
                for name, prefix in self._selection.items()
            ],
            behind=None
            if start is None
            else node_pb2.FeedPosition(generation=start.generation, revision=start.revision),
            not_before=self._not_before,
        )

    def _hear(self, response: node_pb2.FeedResponse) -> None:
        self._generation = response.generation
        self._age_ms = None if response.age_ms < 0 else response.age_ms
        self._heard_at = self._feeds.loop.time()
        if response.lost:
            self._lose(response.lost)
        elif response.HasField("page"):
            page = response.page
            self._listing = page.listing
            if not page.listing:
                self._start = Start(response.generation, page.revision)
            events = [seen for event in page.events if (seen := _seen(event)) is not None]
            self._wanted.clear()
            self._page = Page(events, page.revision, page.listing)
            self._wake()

    def _lose(self, reason: str) -> None:
        self._lost = self._lost or Lost(reason)
        self._page = None
        self._wake()


def _seen(event: node_pb2.FeedEvent) -> Seen | None:
    """Return an event as watchers see it; None for a message of a plugin that this node lacks."""
    if event.emitted:
        seen = emitted(event.name, event.value)
        return None if seen is None else Seen(event.revision, seen, event.at_ms)
    row = RowEvent(
        family=event.name,
        key=event.key,
        value=event.value if event.HasField("value") else None,
        previous=event.previous if event.HasField("previous") else None,
    )
    return Seen(event.revision, row, event.at_ms)
