"""What a node tells its controllers of the changes of a family."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

from quorate.node.watching import Watching
from quorate.plugin import RowEvent
from quorate.plugin.advanced import WatchedEvent
from quorate.shards.routing.quotas import Quotas

PUT = WatchedEvent(event=RowEvent(family="toy.rows", key=b"k", value=b"v"), revision=2, token=b"2")
BOOKMARK = WatchedEvent(event=None, revision=3, token=b"3")
LOST = WatchedEvent(event=None, revision=0, token=b"", resync=True)


class Watch:
    def __init__(self) -> None:
        self.closed = False

    async def __aiter__(self) -> AsyncIterator[WatchedEvent]:
        for event in (BOOKMARK, PUT, BOOKMARK, LOST):
            yield event

    def close(self) -> None:
        self.closed = True


async def test_a_bookmark_is_no_change() -> None:
    watch = Watch()

    async def open_fresh(*_: object, **__: object) -> Watch:
        return watch

    catalog: Any = SimpleNamespace(caches={}, families={"toy.rows": SimpleNamespace(group="toy")})
    shards: Any = SimpleNamespace(slot_map=SimpleNamespace(shards=lambda group: []))
    channels: Any = None
    watching = Watching(
        catalog,
        shards,
        channels,
        quotas=Quotas(lambda: 0.0),
        loop=asyncio.get_running_loop(),
        read_timeout_s=1.0,
    )
    watches: Any = SimpleNamespace(open_fresh=open_fresh)
    watching._watches = watches

    assert [each async for each in watching.changes("toy.rows")] == [None, PUT, LOST]
    assert watch.closed
