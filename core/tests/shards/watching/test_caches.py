from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Sequence

import pytest
from quorate.plugin import RowEvent
from quorate.plugin.shard_id import ShardId
from quorate.shards.watching.caches import CacheKeeper
from quorate.shards.watching.feeds import Lost, Page, Seen, Start
from quorate.shards.watching.watch import Watch

from tests.support.sim.loop import Clock, VirtualLoop
from tests.support.sim.world import World

FAMILY = "kv.entries"


class View:
    """Implements `CacheView`."""

    def __init__(self) -> None:
        self.rows: dict[bytes, bytes] = {}
        self.resets = 0
        #: A key that it cannot take.
        self.poison: bytes | None = None

    def reset(self) -> None:
        self.rows.clear()
        self.resets += 1

    def put(self, family: str, key: bytes, row: bytes) -> None:
        if key == self.poison:
            raise ZeroDivisionError(key)
        self.rows[key] = row

    def delete(self, family: str, key: bytes) -> None:
        del self.rows[key]


class Feed:
    """Gives the pages that a test puts into it."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self.generation = 0
        self.age: int | None = 5
        self.closed = False
        self._wake = wake
        self._pages: deque[Page | Lost] = deque()

    def give(self, *pages: Page | Lost) -> None:
        self._pages.extend(pages)
        self._wake()

    def take(self) -> Page | Lost | None:
        return self._pages.popleft() if self._pages else None

    def age_ms(self) -> int | None:
        return self.age

    def close(self) -> None:
        self.closed = True


class Site:
    def __init__(self) -> None:
        self.world = World(1)
        self.clock = Clock(self.world)
        self.loop = VirtualLoop(self.world, self.clock)  # type: ignore[abstract]
        self.feeds: list[Feed] = []
        self.opened_at: list[float] = []
        self.view = View()
        self.keeper = CacheKeeper("kv.hot", self.view, self._open, loop=self.loop)

    def _open(self) -> Watch:
        self.opened_at.append(self.world.now)
        return Watch(
            b"",
            (ShardId("kv", 0),),
            self._open_feed,
            b"",
            loop=self.loop,
            bookmark_s=10.0,
        )

    def _open_feed(self, shard: ShardId, start: Start | None, wake: Callable[[], None]) -> Feed:
        self.feeds.append(Feed(wake))
        return self.feeds[-1]

    def give(self, *pages: Page | Lost) -> None:
        """Let the newest feed have these, and time pass."""
        self.feeds[-1].give(*pages)
        self.pass_time(0.05)

    def pass_time(self, seconds: float) -> None:
        self.world.run(self.world.now + seconds)


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    made.loop.post(0.0, made.keeper.start)
    made.pass_time(0.01)
    yield made
    made.world.dispose()


def page(revision: int, *rows: tuple[bytes, bytes | None], listing: bool = False) -> Page:
    events: Sequence[Seen] = [
        Seen(revision, RowEvent(family=FAMILY, key=key, value=value)) for key, value in rows
    ]
    return Page(events, revision, listing)


def test_it_holds_the_rows_and_every_change(site: Site) -> None:
    site.give(page(3, (b"a", b"1"), (b"b", b"2"), listing=True), page(3))
    assert site.view.rows == {b"a": b"1", b"b": b"2"}

    site.give(page(4, (b"a", None)), page(5, (b"c", b"3"), (b"b", b"4")))
    assert site.view.rows == {b"b": b"4", b"c": b"3"}
    assert site.view.resets == 1


def test_its_age_is_known_once_it_holds_every_row(site: Site) -> None:
    site.give(page(3, (b"a", b"1"), listing=True))
    assert site.keeper.age_ms() is None
    assert not site.keeper.filled.done()

    site.give(page(3))
    assert site.keeper.age_ms() == 5
    assert site.keeper.filled.done()


def test_it_is_built_anew_after_a_resync(site: Site) -> None:
    site.give(page(3, (b"a", b"1"), listing=True), page(3))
    site.give(Lost("history is gone"))

    assert site.keeper.age_ms() is None
    assert site.feeds[0].closed
    site.pass_time(0.2)
    site.give(page(9, (b"b", b"2"), listing=True), page(9))
    assert site.view.rows == {b"b": b"2"}
    assert (site.view.resets, site.keeper.builds) == (2, 2)
    assert site.keeper.age_ms() == 5


def test_a_view_that_raises_is_named_and_built_anew(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    site.view.poison = b"bad"
    with caplog.at_level(logging.ERROR):
        site.give(page(3, (b"bad", b"1"), listing=True), page(3))
    assert "cache kv.hot failed and is rebuilt" in caplog.text

    site.view.poison = None
    site.pass_time(0.5)
    site.give(page(3, (b"bad", b"1"), listing=True), page(3))
    assert site.view.rows == {b"bad": b"1"}


def test_a_list_that_never_ends_is_asked_for_ever_less_often(site: Site) -> None:
    for _ in range(10):
        count = len(site.feeds)
        site.give(Lost("it is slow"))
        while len(site.feeds) == count:
            site.pass_time(0.05)
    pauses = [b - a for a, b in zip(site.opened_at, site.opened_at[1:], strict=False)]

    assert pauses[0] < 0.5
    assert pauses[-1] == pytest.approx(5.0, abs=0.2)


def test_it_stops(site: Site) -> None:
    site.give(page(3))
    stopping = site.loop.create_task(site.keeper.stop())
    site.pass_time(0.1)

    assert stopping.done()
    assert site.feeds[0].closed


def test_a_cache_that_is_stopped_lets_nobody_wait_for_its_rows(site: Site) -> None:
    site.loop.create_task(site.keeper.stop())
    site.pass_time(0.01)

    assert site.keeper.filled.cancelled()
