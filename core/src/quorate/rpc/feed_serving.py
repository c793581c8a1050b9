"""Serves pages of a shard's replica here to the watches of a node without a replica."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from contextlib import suppress
from typing import Final

from quorate.plugin import Invalid, RowEvent
from quorate.rpc.forward_serving import parsed_shard
from quorate.shards.refusals import UnreadableError
from quorate.shards.watching.feeds import Feed, Lost, OpenFeed, Page, Seen, Start
from quorate.v1 import node_pb2 as pb

#: The interval at which a reader learns the age and the progress of the replica's state, while
#: there are no events for it.
WORD_S: Final = 1.0


async def serve(
    requests: AsyncIterable[pb.FeedRequest], open_feed: OpenFeed
) -> AsyncGenerator[pb.FeedResponse, None]:
    """Yield a page for each request as soon as it is there, and reports of progress before it.

    A feed that only another replica could carry on ends in `UnreadableError`.
    """
    asked = aiter(requests)
    first = await anext(asked, None)
    if first is None or not first.HasField("start"):
        raise Invalid("start", "must be set in the first request")
    woken = asyncio.Event()
    begin = first.start
    feed = open_feed(
        parsed_shard(begin.shard, "start.shard"),
        {family.name: family.prefix for family in begin.families},
        Start(begin.behind.generation, begin.behind.revision) if begin.HasField("behind") else None,
        begin.not_before,
        woken.set,
    )
    following = begin.HasField("behind")
    try:
        request: pb.FeedRequest | None = first
        while request is not None:
            taken: Page | Lost | None = None
            async for taken in _taken(feed, woken, following):
                yield _response(feed, taken)
            if isinstance(taken, Lost):
                return
            following = following or (taken is not None and not taken.listing)
            request = await anext(asked, None)
    finally:
        feed.close()


async def _taken(
    feed: Feed, woken: asyncio.Event, following: bool
) -> AsyncIterator[Page | Lost | None]:
    """Yield None, or a page without events, at intervals, and at last the next page or loss.

    While it follows, pages without events are held back: the last of them is yielded when due.
    """
    loop = asyncio.get_running_loop()
    due, moved = loop.time() + WORD_S, None
    while True:
        woken.clear()
        taken = feed.take()
        if isinstance(taken, Lost) and taken.only_here:
            raise UnreadableError(taken.reason)
        if isinstance(taken, Page) and following and not taken.events:
            moved = taken
            # Others get their turn before more is read.
            await asyncio.sleep(0)
        elif taken is not None:
            yield taken
            return
        else:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(due):
                    await woken.wait()
        if loop.time() >= due:
            yield moved
            if moved is not None:
                return
            due = loop.time() + WORD_S


def _response(feed: Feed, taken: Page | Lost | None) -> pb.FeedResponse:
    age_ms = feed.age_ms()
    response = pb.FeedResponse(generation=feed.generation, age_ms=-1 if age_ms is None else age_ms)
    if isinstance(taken, Lost):
        response.lost = taken.reason
    elif taken is not None:
        page = response.page
        page.SetInParent()
        page.events.extend(map(_sent, taken.events))
        page.revision = taken.revision
        page.listing = taken.listing
    return response


def _sent(seen: Seen) -> pb.FeedEvent:
    event = seen.event
    if isinstance(event, RowEvent):
        return pb.FeedEvent(
            revision=seen.revision,
            name=event.family,
            key=event.key,
            value=event.value,
            previous=event.previous,
            at_ms=seen.at_ms,
        )
    return pb.FeedEvent(
        revision=seen.revision,
        name=event.message.DESCRIPTOR.full_name,
        value=event.message.SerializeToString(deterministic=True),
        emitted=True,
        at_ms=seen.at_ms,
    )
