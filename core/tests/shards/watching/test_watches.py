from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any, cast

import pytest
from google.protobuf.wrappers_pb2 import StringValue
from hypothesis import given, settings, strategies as st
from quorate.apply.entries import whole
from quorate.plugin import RowEvent
from quorate.plugin.advanced import EmittedEvent, WatchedEvent
from quorate.plugin.shard_id import ShardId
from quorate.shards.shard.shard import Shard
from quorate.shards.watching import waking as waking_module
from quorate.shards.watching.feeds import Feed, Lost, PageLimits, Selection, Start
from quorate.shards.watching.tokens import WatchToken
from quorate.shards.watching.waking import Waking
from quorate.shards.watching.watch import Watch
from quorate.shards.watching.watches import Watches, WatchSettings
from quorate.storage import events
from quorate.storage.events import EventLog, StoredEvent

from core.tests.written_replica import Replica
from tests.support.sim.loop import Clock, VirtualLoop
from tests.support.sim.world import World

CLUSTER = b"cluster"
FIRST, SECOND, THIRD = (ShardId("kv", number) for number in range(3))
FAMILY, OTHER = "kv.entries", "kv.leases"


def replica_of(shard: ShardId) -> Replica:
    return Replica(shard, (FAMILY, OTHER))


class Nowhere:
    """There is no other node."""

    def open(
        self,
        shard: ShardId,
        selection: Selection,
        start: Start | None,
        not_before: int,
        wake: Callable[[], None],
    ) -> Feed:
        raise AssertionError(f"{shard} is here")


class Site:
    """Replicas of two shards on one node, its watches, and virtual time."""

    def __init__(self, *, rows: int = 3) -> None:
        self.world = World(1)
        self.clock = Clock(self.world)
        self.loop = VirtualLoop(self.world, self.clock)  # type: ignore[abstract]
        self.first, self.second = replica_of(FIRST), replica_of(SECOND)
        self.limits = PageLimits(rows=rows)
        #: The slot map: what was split off a shard, and what shards were merged into.
        self.offshoots: dict[ShardId, list[tuple[ShardId, int]]] = {}
        self.heirs: dict[ShardId, ShardId] = {}
        self.watches = self.of_cluster(CLUSTER)

    def of_cluster(self, cluster: bytes) -> Watches:
        return Watches(
            cluster,
            cast("dict[ShardId, Shard]", {FIRST: self.first, SECOND: self.second}).get,
            Nowhere().open,
            offshoots=lambda shard: self.offshoots.get(shard, []),
            heir=lambda shard: self.heirs.get(shard, shard),
            loop=self.loop,
            settings=WatchSettings(page=self.limits, bookmark_s=10.0),
        )

    def open(
        self,
        token: bytes = b"",
        *,
        shards: Sequence[ShardId] = (FIRST,),
        selection: Mapping[str, bytes] | None = None,
        not_before: Mapping[ShardId, int] | None = None,
    ) -> Watch:
        return self.watches.open(selection or {FAMILY: b""}, shards, token, not_before=not_before)

    def take(self, watch: Watch, seconds: float = 1.0) -> list[WatchedEvent]:
        """Return what comes within some time."""
        taken: list[WatchedEvent] = []

        async def read() -> None:
            async for seen in watch:
                taken.append(seen)

        task = self.loop.create_task(read())
        self.world.run(self.world.now + seconds)
        if task.done():
            task.result()
        else:
            task.cancel()
            self.world.run(self.world.now + 0.001)
        return taken


@pytest.fixture
def site() -> Site:
    return Site()


def shown(events: Sequence[WatchedEvent]) -> list[tuple[bytes, bytes | None]]:
    return [(e.event.key, e.event.value) for e in events if isinstance(e.event, RowEvent)]


def keys(events: Sequence[WatchedEvent]) -> list[bytes]:
    return [key for key, _ in shown(events)]


# Shards that are split and merged.


def test_a_watch_goes_on_in_what_a_shard_is_split_into(site: Site) -> None:
    watch = site.open()
    site.take(watch)
    site.first.put(b"a")
    for index in range(2):
        site.second.put(b"%d" % index)
    site.offshoots[FIRST] = [(SECOND, whole(1))]
    site.watches.grow()

    assert keys(site.take(watch)) == [b"a", b"1"]


def test_a_watch_of_a_shard_that_is_merged_begins_anew(site: Site) -> None:
    watch = site.open(shards=(FIRST, SECOND))
    [*_, bookmark] = site.take(watch)
    site.heirs[SECOND] = THIRD
    site.watches.grow()

    assert [each.resync for each in site.take(watch)] == [True]
    assert watch.lost == "shard kv/1 was merged into another one"
    # Nor is it known what came of the rows of a part that a token does not name.
    old = site.open(token=bookmark.token, shards=(FIRST, THIRD))
    assert [each.resync for each in site.take(old)] == [True]


def test_a_watch_that_has_not_reached_a_part_that_was_merged_begins_anew(site: Site) -> None:
    watch = site.open()
    [*_, bookmark] = site.take(watch)
    site.offshoots[FIRST] = [(THIRD, whole(1))]
    site.heirs[THIRD] = SECOND

    assert site.open(bookmark.token, shards=(FIRST, SECOND)).lost is not None
    site.watches.grow()
    assert watch.lost == "shard kv/2 was merged into another one"


def test_a_watch_of_what_a_part_was_merged_into_goes_on_whatever_the_map_says(site: Site) -> None:
    site.first.put(b"a")
    site.offshoots[FIRST] = [(THIRD, whole(0))]
    site.heirs[THIRD] = SECOND
    watch = site.open(shards=(FIRST, SECOND))
    [*_, bookmark] = site.take(watch)
    site.watches.grow()
    site.second.put(b"b")

    assert keys(site.take(watch)) == [b"b"]
    assert keys(site.take(site.open(bookmark.token, shards=(FIRST, SECOND)))) == [b"b"]


@pytest.mark.parametrize("merged", [False, True], ids=["split", "merged"])
def test_a_watch_that_was_opened_with_an_earlier_map_begins_anew(site: Site, merged: bool) -> None:
    """It would wait for ever for a shard that is gone, or lack the rows that have moved."""
    site.first.put(b"a")
    barrier = site.first.barrier = site.loop.create_future()
    opening = site.loop.create_task(site.watches.open_fresh({FAMILY: b""}, (FIRST,)))
    site.world.run(site.world.now + 1)
    if merged:
        site.heirs[FIRST] = SECOND
    else:
        site.offshoots[FIRST] = [(SECOND, whole(0))]
    site.watches.grow()
    barrier.set_result(None)
    site.world.run(site.world.now + 1)

    assert [each.resync for each in site.take(opening.result())] == [True]


# From the rows on.


def test_a_watch_begins_with_the_rows_and_a_bookmark(site: Site) -> None:
    for key in (b"b", b"a", b"c", b"d"):
        site.first.put(key, b"of " + key)

    *rows, bookmark = site.take(site.open())

    assert shown(rows) == [(key, b"of " + key) for key in (b"a", b"b", b"c", b"d")]
    assert [row.revision >> 20 for row in rows] == [2, 1, 3, 4]
    assert all(row.token == b"" for row in rows)
    assert bookmark.event is None
    assert bookmark.token


def test_nothing_is_read_before_there_is_room(site: Site) -> None:
    for key in (b"a", b"b"):
        site.first.put(key, b"old")
    watch, room = site.open(), site.loop.create_future()

    task = site.loop.create_task(watch.portion(lambda: None if room.done() else room))
    site.world.run(site.world.now + 1)
    site.first.put(b"a", b"new")
    room.set_result(None)
    site.world.run(site.world.now + 1)

    portion = task.result()
    assert portion is not None
    values = [each.event.value for each in portion.events if isinstance(each.event, RowEvent)]
    assert values == [b"new", b"old"]


def test_it_goes_on_with_every_change(site: Site) -> None:
    watch = site.open()
    site.take(watch)

    site.first.put(b"a", b"1")
    site.first.apply([(FAMILY, b"a", None)], [(FAMILY, b"b", b"2")])

    assert shown(site.take(watch)) == [(b"a", b"1"), (b"a", None), (b"b", b"2")]


def test_only_selected_families_and_prefixes_are_seen(site: Site) -> None:
    watch = site.open(selection={FAMILY: b"x/", OTHER: b""})
    site.first.apply([(FAMILY, b"x/1", b""), (FAMILY, b"y/1", b""), (OTHER, b"o", b"")])
    listed = site.take(watch)
    site.first.apply([(FAMILY, b"y/2", b""), (OTHER, b"p", b""), (FAMILY, b"x/2", b"")])

    assert keys(listed) == [b"x/1", b"o"]
    assert keys(site.take(watch)) == [b"p", b"x/2"]


def test_messages_of_a_plugin_that_is_gone_are_passed_over(site: Site) -> None:
    known = StringValue(value="here")
    name, gone = known.DESCRIPTOR.full_name, "gone.v1.Told"
    watch = site.open(selection={FAMILY: b"", name: b"", gone: b""})
    site.take(watch)

    site.first.emit((name, known.SerializeToString()), (gone, b"\x0a\x01x"))
    site.first.emit((gone, b""))
    site.first.put(b"a")

    told = [seen.event for seen in site.take(watch)]
    assert told == [EmittedEvent(message=known), RowEvent(family=FAMILY, key=b"a", value=b"")]
    assert watch.lost is None


def test_a_prefix_of_the_largest_bytes_has_no_end(site: Site) -> None:
    site.first.apply([(FAMILY, b"\xff\xff\x01", b""), (FAMILY, b"\xfe", b"")])

    assert keys(site.take(site.open(selection={FAMILY: b"\xff"}))) == [b"\xff\xff\x01"]


def test_changes_during_the_list_come_after_it(site: Site) -> None:
    for number in range(8):
        site.first.put(b"%d" % number)
    watch = site.open()
    taken: list[WatchedEvent] = []

    async def read() -> None:
        async for seen in watch:
            taken.append(seen)
            if len(taken) == 4:
                site.first.apply([(FAMILY, b"0", None), (FAMILY, b"7", b"new")])

    task = site.loop.create_task(read())
    site.world.run(1.0)
    task.cancel()
    site.world.run(1.1)

    assert keys(taken[:8]) == [b"%d" % number for number in range(8)]
    assert taken[8].event is None
    assert shown(taken[9:]) == [(b"0", None), (b"7", b"new")]


def test_a_list_may_wait_for_a_revision(site: Site) -> None:
    site.first.put(b"a")
    watch = site.open(not_before={FIRST: 2 << 20})

    assert site.take(watch) == []

    site.first.put(b"b")

    assert keys(site.take(watch)) == [b"a", b"b"]


def test_shards_are_listed_one_after_the_other_under_one_token(site: Site) -> None:
    site.first.put(b"a")
    site.second.put(b"b")
    watch = site.open(shards=(SECOND, FIRST))

    *rows, bookmark = site.take(watch)
    site.second.put(b"c")
    [change] = site.take(watch)

    assert keys(rows) == [b"a", b"b"]
    assert set(WatchToken.decode(bookmark.token).revisions) == {FIRST, SECOND}
    assert keys([change]) == [b"c"]
    before, after = (WatchToken.decode(e.token).revisions for e in (bookmark, change))
    assert after[FIRST] == before[FIRST]
    assert after[SECOND] > before[SECOND]


# From a token on.


def test_every_token_resumes_right_behind_its_event(site: Site) -> None:
    site.first.put(b"a")
    watch = site.open(shards=(FIRST, SECOND))
    *_, bookmark = site.take(watch)
    for number in range(4):
        site.first.apply(
            [(FAMILY, b"%d" % number, b""), (FAMILY, b"%d+" % number, b"")],
            [(FAMILY, b"%d++" % number, b"")],
        )
        site.second.put(b"s%d" % number)
    events = site.take(watch)
    assert len(events) == 16

    for at, event in enumerate([bookmark, *events]):
        again = keys(site.take(site.open(event.token, shards=(FIRST, SECOND))))
        rest = keys(events[at:])
        lacking = set(rest) - set(again)
        assert not lacking
        # Only the first events of a command that was cut by the token come twice.
        twice = [key for key in again if key not in rest]
        assert twice in ([], [rest[0][:1]] if rest else [])


def test_a_token_ahead_of_the_replica_waits(site: Site) -> None:
    site.first.put(b"a")
    token = WatchToken(CLUSTER, 0, {FIRST: (3 << 20) - 1}).encode()
    watch = site.open(token)

    assert site.take(watch) == []

    site.first.put(b"b")
    assert site.take(watch) == []

    site.first.put(b"c")
    assert keys(site.take(watch)) == [b"c"]


def test_an_idle_watch_gets_a_bookmark_when_its_shard_goes_on(site: Site) -> None:
    watch = site.open()
    [first] = site.take(watch)

    assert site.take(watch, 60.0) == []

    site.first.apply([(OTHER, b"o", b"")])
    [bookmark] = site.take(watch, 60.0)

    assert bookmark.event is None
    assert not bookmark.resync
    assert bookmark.token != first.token
    site.first.put(b"a")
    assert keys(site.take(site.open(bookmark.token))) == [b"a"]
    # The token of an event is as new as a bookmark's.
    assert keys(site.take(watch, 60.0)) == [b"a"]
    assert site.take(watch, 60.0) == []


def test_entries_of_others_are_not_read(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    watch = site.open()
    site.take(watch)
    site.first.put(b"a")
    for _ in range(200):
        site.first.apply([(OTHER, b"o", b"")])
    site.first.put(b"b")
    decoded: list[int] = []
    decode = events.decode

    def counted(value: bytes, selection: Mapping[str, bytes] | None) -> Iterator[StoredEvent]:
        decoded.append(len(value))
        return decode(value, selection)

    monkeypatch.setattr(events, "decode", counted)

    assert keys(site.take(watch)) == [b"a", b"b"]
    read = len(decoded)
    for _ in range(200):
        site.first.apply([(OTHER, b"o", b"")])
    site.first.put(b"c")

    assert keys(site.take(watch)) == [b"c"]
    assert len(decoded) == read + 1


def test_watches_of_the_same_at_the_same_place_read_once(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, reads = EventLog.read, 0

    def counted(log: EventLog, *asked: Any, **bounds: Any) -> tuple[list[StoredEvent], int]:
        nonlocal reads
        reads += 1
        return read(log, *asked, **bounds)

    seen: list[list[WatchedEvent]] = [[] for _ in range(5)]

    async def follow(watch: Watch, taken: list[WatchedEvent]) -> None:
        async for each in watch:
            taken.append(each)

    following = [site.loop.create_task(follow(site.open(), taken)) for taken in seen]
    site.world.run(site.world.now + 1.0)
    monkeypatch.setattr(EventLog, "read", counted)
    for key in (b"a", b"b"):
        before = reads
        site.loop.call_soon(site.first.put, key)
        site.world.run(site.world.now + 1.0)
        assert [keys(taken)[-1] for taken in seen] == [key] * len(seen)
        assert reads == before + 1
    for task in following:
        task.cancel()
    site.world.run(site.world.now + 0.001)


def test_a_reader_hears_of_the_entries_of_others_now_and_then(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = site.open()
    site.take(watch)
    waits = 0
    wait = watch._wait

    async def counted(timeout_s: float | None) -> None:
        nonlocal waits
        waits += 1
        await wait(timeout_s)

    monkeypatch.setattr(watch, "_wait", counted)

    def apply(left: int) -> None:
        site.first.apply([(OTHER, b"o", b"")])
        if left:
            site.loop.call_later(0.001, apply, left - 1)

    apply(1_000)

    assert site.take(watch, 2.0) == []
    assert 20 <= waits <= 50


# What is lost is said.


def resync_of(site: Site, watch: Watch) -> str:
    """Return why a watch ends at once in a resync."""
    *_, last = site.take(watch)
    assert last.resync
    assert last.event is None
    assert watch.lost is not None
    assert site.take(watch) == []
    return watch.lost


def test_history_that_is_gone(site: Site) -> None:
    for key in (b"a", b"b", b"c"):
        site.first.put(key)
    kept, gone = (
        WatchToken(CLUSTER, 0, {FIRST: ((index + 1) << 20) - 1}).encode() for index in (2, 1)
    )
    site.first.trim(2)

    assert keys(site.take(site.open(kept))) == [b"c"]
    assert "no longer complete" in resync_of(site, site.open(gone))


def test_a_reader_that_is_too_slow(site: Site) -> None:
    watch = site.open()
    site.take(watch)
    for number in range(20):
        site.first.put(b"%d" % number)
    site.first.trim(10)

    assert "no longer complete" in resync_of(site, watch)


def test_a_list_that_takes_longer_than_history_is_kept(site: Site) -> None:
    for number in range(10):
        site.first.put(b"%d" % number)
    watch = site.open()
    taken: list[WatchedEvent] = []

    async def read() -> None:
        async for seen in watch:
            taken.append(seen)
            if len(taken) == 1:
                site.first.put(b"new")
                site.first.put(b"newer")
                site.first.trim(11)

    site.loop.create_task(read())
    site.world.run(1.0)

    assert taken[-1].resync
    assert len(taken) < 10
    assert watch.lost == "the list took longer than the history is kept"


def test_a_token_of_an_earlier_generation(site: Site) -> None:
    site.first.put(b"a")
    *_, bookmark = site.take(site.open())
    site.first.restore()

    assert "restored or recovered" in resync_of(site, site.open(bookmark.token))
    *_, renewed = site.take(site.open())
    assert WatchToken.decode(renewed.token).generation == 1
    assert site.take(site.open(renewed.token)) == []


def test_a_token_of_another_cluster(site: Site) -> None:
    *_, bookmark = site.take(site.open())
    watch = site.of_cluster(b"another").open({FAMILY: b""}, (FIRST,), bookmark.token)

    assert resync_of(site, watch) == "the token is of another cluster"


def test_a_token_of_other_shards(site: Site) -> None:
    *_, bookmark = site.take(site.open())

    watch = site.open(bookmark.token, shards=(FIRST, SECOND))

    assert resync_of(site, watch) == "the token is of other shards"


@pytest.mark.parametrize("listing", [True, False])
def test_a_database_that_is_replaced(site: Site, listing: bool) -> None:
    for number in range(10):
        site.first.put(b"%d" % number)
    watch = site.open()
    if not listing:
        site.take(watch)
    else:
        task = site.loop.create_task(watch.__anext__())
        site.world.run(site.world.now + 0.1)
        assert keys([task.result()]) == [b"0"]

    site.first.replaced()
    # What it holds already may be given; then it ends.
    assert "closed or replaced" in resync_of(site, watch)


def test_a_waiting_reader_is_told(site: Site) -> None:
    watch = site.open()
    site.take(watch)
    site.world.at(5.0, site.first.replaced)

    [last] = site.take(watch, 10.0)

    assert last.resync


def test_a_closed_watch_ends_and_leaves_nothing_behind(site: Site) -> None:
    watch = site.open(shards=(FIRST, SECOND))
    site.take(watch)
    assert site.first.listeners == site.second.listeners == 3
    site.world.at(5.0, watch.close)

    async def read() -> list[WatchedEvent]:
        return [seen async for seen in watch]

    task = site.loop.create_task(read())
    site.world.run(10.0)

    assert task.result() == []
    assert site.first.listeners == site.second.listeners == 0


def test_open_watches_are_counted(site: Site) -> None:
    opened = [site.open() for _ in range(3)]
    opened[0].close()

    assert site.watches.open_now == 2


def test_the_age_of_a_watch(site: Site) -> None:
    site.second.age_ms = 70
    watch = site.open(shards=(FIRST, SECOND))
    assert watch.age_ms() is None

    site.take(watch)
    assert watch.age_ms() == 70

    site.first.age_ms = -1
    assert watch.age_ms() is None

    watch.close()
    assert watch.age_ms() is None


class Broken:
    """A feed from elsewhere that is lost when it is asked."""

    generation = 0

    def take(self) -> Lost:
        return Lost("the way broke")

    def age_ms(self) -> int | None:
        return None

    def close(self) -> None:
        """Nothing is held."""


@pytest.mark.parametrize("stopped", [True, False])
def test_shards_without_a_replica_here_come_through_the_port(site: Site, stopped: bool) -> None:
    asked: list[tuple[ShardId, Selection, Start | None, int]] = []

    class Elsewhere:
        def open(
            self,
            shard: ShardId,
            selection: Selection,
            start: Start | None,
            not_before: int,
            wake: Callable[[], None],
        ) -> Feed:
            asked.append((shard, selection, start, not_before))
            return Broken()

    site.second.stopped = ValueError("it cannot go on") if stopped else None
    replicas = cast("dict[ShardId, Shard]", {SECOND: site.second} if stopped else {})
    watches = Watches(CLUSTER, replicas.get, Elsewhere().open, loop=site.loop)
    watch = watches.open({FAMILY: b"p"}, (SECOND,), not_before={SECOND: 9})

    assert resync_of(site, watch) == "the way broke"
    assert asked == [(SECOND, {FAMILY: b"p"}, None, 9)]


# No gap, and nothing twice.


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32), rows=st.integers(1, 5))
def test_rows_and_changes_together_are_what_is_stored(seed: int, rows: int) -> None:
    """Readers come and go by tokens, while entries are applied between any two of their steps."""
    rng = Random(seed)
    site = Site(rows=rows)

    def write() -> None:
        replica = rng.choice([site.first, site.second])
        shard = replica.id.number
        replica.apply(
            *(
                [
                    (
                        rng.choice([FAMILY, FAMILY, OTHER]),
                        b"%d/%d" % (shard, rng.randrange(8)),
                        rng.choice([None, b"%d" % rng.randrange(1000)]),
                    )
                    for _ in range(rng.randrange(4))
                ]
                for _ in range(rng.randrange(3))
            )
        )

    for _ in range(rng.randrange(20)):
        write()
    held: dict[bytes, bytes] = {}
    newest: dict[int, int] = {}
    token = b""
    finished = False
    quiet_at = [0.0]
    for _ in range(rng.randrange(1, 4)):
        # Whoever has no token begins anew.
        if not token:
            held.clear()
            newest.clear()
        watch = site.open(token, shards=(FIRST, SECOND))
        listing = not token

        async def read(watch: Watch) -> None:
            nonlocal token, listing
            async for seen in watch:
                event = seen.event
                assert not seen.resync
                if isinstance(event, RowEvent):
                    shard = int(event.key[:1])
                    if listing:
                        assert event.key not in held
                    else:
                        assert seen.revision >= newest.get(shard, 0)
                        newest[shard] = seen.revision
                    if event.value is None:
                        held.pop(event.key, None)
                    else:
                        held[event.key] = event.value
                listing = listing and event is not None
                token = seen.token
                for _ in range(rng.choice([0, 0, 1, 2])):
                    if site.world.now < quiet_at[0]:
                        write()

        until, quiet_at[:] = site.world.now + 2.0, [site.world.now + 1.0]
        task = site.loop.create_task(read(watch))
        for _ in range(rng.randrange(20)):
            site.world.at(rng.random(), write)
        # Cut at any moment, or when all was read.
        site.world.run(until if rng.random() < 0.7 else site.world.now + rng.random() / 1000)
        finished = site.world.now >= until
        if task.done():
            task.result()
        task.cancel()
        site.world.run(until)
        watch.close()

    if finished:
        assert held == {**site.first.rows(), **site.second.rows()}


class Told:
    """A feed that writes down what it is told."""

    def __init__(self, *, prompt: bool = False) -> None:
        self.prompt = prompt
        self.marked: list[int] = []
        self.woken = 0

    def mark(self, index: int) -> None:
        self.marked.append(index)

    def wake(self) -> None:
        self.woken += 1


def test_an_entry_is_told_to_the_feeds_that_it_is_for(site: Site) -> None:
    waking = Waking(cast(Shard, site.first), site.loop, lambda: None)
    whole, mine, others, family = Told(), Told(), Told(), Told()
    waking.add(whole, {FAMILY: b""})
    waking.add(mine, {FAMILY: b"mine/"})
    waking.add(others, {FAMILY: b"other/", OTHER: b"mine/"})
    waking.add(family, {OTHER: b""})

    site.first.put(b"mine/1")
    site.first.put(b"m")
    site.first.apply([(FAMILY, b"other/1", b""), (OTHER, b"x", b"")])
    waking.remove(mine, {FAMILY: b"mine/"})
    site.first.put(b"mine/2")

    assert whole.marked == [1, 2, 3, 4]
    assert mine.marked == [1]
    assert others.marked == [3]
    assert family.marked == [3]


def test_more_than_is_looked_at_is_told_to_all_of_the_family(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waking_module, "_MOST_EVENTS", 2)
    waking = Waking(cast(Shard, site.first), site.loop, lambda: None)
    far, near = Told(), Told()
    waking.add(far, {FAMILY: b"z"})
    waking.add(near, {OTHER: b"z"})
    subscribers = list(site.first._subscribers.values())
    site.first._subscribers.clear()
    for number in range(4):
        site.first.put(b"%d" % number)

    for tell in subscribers:
        tell(4)

    assert far.marked == [3]
    assert near.marked == []


def test_who_is_not_prompt_learns_of_passing_entries_within_a_round(site: Site) -> None:
    waking = Waking(cast(Shard, site.first), site.loop, lambda: None)
    prompt, patient = Told(prompt=True), [Told() for _ in range(200)]
    for feed in (prompt, *patient):
        waking.add(feed, {OTHER: b""})

    def woken_by(seconds: float) -> int:
        site.world.run(seconds)
        return sum(feed.woken for feed in patient)

    site.first.put(b"1")

    soon, later, last = map(woken_by, (0.06, 1.0, 10.0))
    assert prompt.woken == 1
    assert 0 < soon < later < 200
    assert last == 200
