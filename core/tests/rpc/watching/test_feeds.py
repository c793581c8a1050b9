"""What a node without a replica gets of a shard, through real connections."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

import pytest
from google.protobuf.wrappers_pb2 import StringValue
from quorate.http2.grpc.call_errors import CallError
from quorate.http2.grpc.codes import Code
from quorate.plugin import RowEvent
from quorate.plugin.advanced import EmittedEvent
from quorate.plugin.shard_id import ShardId
from quorate.rpc import feed_serving, feeds
from quorate.rpc.channels import UnreachableError
from quorate.shards.refusals import ReadTimeoutError, UnreadableError
from quorate.shards.watching.feeds import Lost, Page, Seen, Start

if TYPE_CHECKING:
    from core.tests.rpc.watching.conftest import Node
    from core.tests.written_replica import Replica

    NewReplica = Callable[[ShardId], Replica]

    Nodes = dict[str, Node]

SHARD = ShardId("toy", 0)
ROWS, KEPT = "toy.rows", "toy.kept"
EMITTED = StringValue.DESCRIPTOR.full_name
#: As many rows as a page of these nodes holds.
PAGE_ROWS = 3


class Reader:
    """Opens a feed on a node that has no replica, and takes its pages."""

    def __init__(
        self,
        node: Node,
        *,
        start: Start | None = None,
        not_before: int = 0,
        families: dict[str, bytes] | None = None,
    ) -> None:
        self._woken = asyncio.Event()
        self.wakes = 0
        selection = {ROWS: b""} if families is None else families
        self.feed = node.feeds.open(SHARD, selection, start, not_before, self._wake)

    def _wake(self) -> None:
        self.wakes += 1
        self._woken.set()

    async def page(self) -> Page | Lost:
        async with asyncio.timeout(10):
            while (page := self.feed.take()) is None:
                self._woken.clear()
                await self._woken.wait()
        return page

    async def keys(self, count: int) -> list[bytes]:
        """Return the keys of so many events."""
        found: list[bytes] = []
        while len(found) < count:
            page = await self.page()
            assert isinstance(page, Page), page
            found += [each.event.key for each in page.events if isinstance(each.event, RowEvent)]
        return found

    async def listed(self) -> list[bytes]:
        """Return the keys of the list, once it is complete."""
        found: list[bytes] = []
        while True:
            page = await self.page()
            assert isinstance(page, Page), page
            found += [each.event.key for each in page.events if isinstance(each.event, RowEvent)]
            if not page.listing:
                return found


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0.001)


@pytest.fixture
async def replica(nodes: Nodes, new_replica: NewReplica) -> AsyncIterator[Replica]:
    """The shard's replica on node a; at the end nobody reads it any more."""
    held = nodes["a"].replicas[SHARD] = new_replica(SHARD)
    yield held
    for node in nodes.values():
        await node.feeds.stop()
    await until(lambda: held.watchers == 0)


async def test_rows_come_first_and_then_every_change(nodes: Nodes, replica: Replica) -> None:
    for number in range(PAGE_ROWS + 2):
        replica.put(b"%d" % number)
    reader = Reader(nodes["b"])

    assert await reader.listed() == [b"%d" % number for number in range(PAGE_ROWS + 2)]

    replica.apply([(ROWS, b"0", None), (ROWS, b"x", b"new")])
    page = await reader.page()
    assert isinstance(page, Page)
    assert [each.event for each in page.events] == [
        RowEvent(family=ROWS, key=b"0", value=None),
        RowEvent(family=ROWS, key=b"x", value=b"new"),
    ]
    assert page.revision == (PAGE_ROWS + 4 << 20) - 1


async def test_every_kind_of_event_is_told_as_it_is(nodes: Nodes, replica: Replica) -> None:
    reader = Reader(nodes["b"], start=Start(0, 0), families={KEPT: b"k", EMITTED: b""})
    replica.put(b"k", b"", KEPT)
    replica.put(b"k", b"2", KEPT)
    replica.put(b"other", b"2", KEPT)
    replica.apply([(KEPT, b"k", None)])
    replica.emit(StringValue(value="told"))

    seen: list[Seen] = []
    while len(seen) < 4:
        page = await reader.page()
        assert isinstance(page, Page)
        seen += page.events
    assert [each.event for each in seen] == [
        RowEvent(family=KEPT, key=b"k", value=b""),
        RowEvent(family=KEPT, key=b"k", value=b"2", previous=b""),
        RowEvent(family=KEPT, key=b"k", value=None, previous=b"2"),
        EmittedEvent(message=StringValue(value="told")),
    ]
    assert [each.revision >> 20 for each in seen] == [1, 2, 4, 5]


async def test_a_reader_that_takes_nothing_holds_one_page_and_no_more_is_read(
    nodes: Nodes, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    told = feed_serving._response

    def response(*arguments: object) -> object:
        taken.append(arguments)
        return told(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(feed_serving, "_response", response)
    for number in range(10 * PAGE_ROWS):
        replica.put(b"%02d" % number)
    reader = Reader(nodes["b"])
    await until(lambda: reader.wakes == 1)
    # Whatever was on its way has come.
    other = Reader(nodes["c"])
    assert len(await other.listed()) == 10 * PAGE_ROWS
    seen = len([feed for feed, _ in taken if feed is taken[0][0]])

    assert seen == 1
    assert len(await reader.listed()) == 10 * PAGE_ROWS


async def test_it_goes_on_with_another_node_from_where_it_was(
    nodes: Nodes, replica: Replica, new_replica: NewReplica
) -> None:
    twin = nodes["c"].replicas[SHARD] = new_replica(SHARD)
    for each in (replica, twin):
        each.put(b"1")
    reader = Reader(nodes["b"])
    assert await reader.listed() == [b"1"]
    for each in (replica, twin):
        each.put(b"2")
    assert await reader.keys(1) == [b"2"]

    await nodes["a"].kill()
    for number in range(3, 9):
        twin.put(b"%d" % number)

    assert await reader.keys(6) == [b"%d" % number for number in range(3, 9)]


async def test_it_goes_on_when_the_node_comes_back(nodes: Nodes, replica: Replica) -> None:
    reader = Reader(nodes["b"])
    assert await reader.listed() == []
    await nodes["a"].kill()
    replica.put(b"meanwhile")
    await nodes["a"].revive()

    assert await reader.keys(1) == [b"meanwhile"]


async def test_who_cannot_follow_a_shard_warns_of_it_only_when_that_lasts(
    nodes: Nodes,
    replica: Replica,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(feeds, "_LASTS", 3)
    reader = Reader(nodes["b"])
    assert await reader.listed() == []

    with caplog.at_level(logging.INFO, feeds.__name__):
        await nodes["a"].kill()
        await until(lambda: "WARNING" in [each.levelname for each in caplog.records])

    told = [each for each in caplog.records if each.name == feeds.__name__]
    assert [each.levelname for each in told] == ["INFO", "WARNING"]
    assert "shard toy/0 cannot be followed for now: " in told[1].getMessage()


async def test_it_goes_on_when_the_node_gets_another_address(
    nodes: Nodes, replica: Replica
) -> None:
    reader = Reader(nodes["b"])
    assert await reader.listed() == []

    nodes["b"].network.know({"a": nodes["a"].address.replace("127.0.0.1", "localhost")})
    await nodes["b"].channels.route("a", 5.0)
    await until(lambda: replica.watchers == 1)
    replica.put(b"1")

    assert await reader.keys(1) == [b"1"]


async def test_a_page_that_was_not_taken_survives_its_node(
    nodes: Nodes, replica: Replica, new_replica: NewReplica
) -> None:
    twin = nodes["c"].replicas[SHARD] = new_replica(SHARD)
    reader = Reader(nodes["b"])
    assert await reader.listed() == []
    wakes = reader.wakes
    for each in (replica, twin):
        each.put(b"1")
        each.put(b"2")
    await until(lambda: reader.wakes > wakes)
    await nodes["a"].kill()
    twin.put(b"3")

    assert await reader.keys(3) == [b"1", b"2", b"3"]


async def test_a_replica_that_is_replaced_is_left_for_another(
    nodes: Nodes, replica: Replica, new_replica: NewReplica
) -> None:
    twin = nodes["c"].replicas[SHARD] = new_replica(SHARD)
    reader = Reader(nodes["b"])
    assert await reader.listed() == []

    del nodes["a"].replicas[SHARD]
    replica.replaced()
    twin.put(b"1")

    assert await reader.keys(1) == [b"1"]


async def test_a_list_that_breaks_off_is_lost(nodes: Nodes, replica: Replica) -> None:
    for number in range(10 * PAGE_ROWS):
        replica.put(b"%02d" % number)
    reader = Reader(nodes["b"])
    assert isinstance(await reader.page(), Page)

    await nodes["a"].kill()
    page: Page | Lost = Page((), 0)
    while isinstance(page, Page):
        page = await reader.page()

    assert page.reason.startswith("the list of shard toy/0 broke off")
    assert reader.feed.take() == page


async def test_a_list_that_was_not_begun_begins_elsewhere(
    nodes: Nodes, replica: Replica, new_replica: NewReplica
) -> None:
    await nodes["a"].kill()
    nodes["c"].replicas[SHARD] = twin = new_replica(SHARD)
    twin.put(b"1")

    assert await Reader(nodes["b"]).listed() == [b"1"]


async def test_a_list_begins_here_once_there_is_a_replica(
    nodes: Nodes, new_replica: NewReplica
) -> None:
    """It may be the only one that there ever is."""
    node = nodes["b"]
    node.others = []
    reader = Reader(node)
    await asyncio.sleep(0)
    made = node.replicas[SHARD] = new_replica(SHARD)
    made.put(b"1")

    assert await reader.listed() == [b"1"]
    made.put(b"2")
    assert await reader.keys(1) == [b"2"]
    reader.feed.close()
    assert made.watchers == 0


async def test_it_goes_on_here_once_there_is_a_replica(
    nodes: Nodes, replica: Replica, new_replica: NewReplica
) -> None:
    reader = Reader(nodes["b"])
    assert await reader.listed() == []
    wakes = reader.wakes
    made = new_replica(SHARD)
    for each in (replica, made):
        each.put(b"1")
    await until(lambda: reader.wakes > wakes)
    await nodes["a"].kill()
    made.put(b"2")
    made.age_ms = 11
    nodes["b"].replicas[SHARD] = made

    assert await reader.keys(2) == [b"1", b"2"]
    assert reader.feed.age_ms() == 11


async def test_a_list_waits_for_its_revision(nodes: Nodes, replica: Replica) -> None:
    replica.put(b"1")
    reader = Reader(nodes["b"], not_before=2 << 20)
    await until(lambda: replica.watchers == 1)
    assert reader.feed.take() is None

    replica.put(b"2")

    assert await reader.listed() == [b"1", b"2"]


async def test_history_that_is_gone_is_said(nodes: Nodes, replica: Replica) -> None:
    for number in range(5):
        replica.put(b"%d" % number)
    replica.trim(3)

    lost = await Reader(nodes["b"], start=Start(0, 1 << 20)).page()

    assert isinstance(lost, Lost)
    assert "no longer complete" in lost.reason


async def test_a_restore_behind_its_back_is_said(nodes: Nodes, replica: Replica) -> None:
    reader = Reader(nodes["b"])
    assert await reader.listed() == []
    await nodes["a"].kill()
    replica.restore()
    await nodes["a"].revive()

    lost = await reader.page()

    assert lost == Lost("shard toy/0 was restored or recovered")


async def test_generation_and_age_are_those_of_the_replica(
    nodes: Nodes, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_serving, "WORD_S", 0.01)
    replica.restore()
    replica.age_ms = 1_000_000
    reader = Reader(nodes["b"])
    assert reader.feed.age_ms() is None
    await reader.listed()
    assert reader.feed.generation == 1
    age_ms = reader.feed.age_ms()
    assert age_ms is not None
    assert 1_000_000 <= age_ms < 1_010_000

    # It is told again while nothing happens.
    replica.age_ms = -1
    await until(lambda: reader.feed.age_ms() is None)


async def test_a_shard_that_goes_on_without_events_moves_the_feed(
    nodes: Nodes, replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_serving, "WORD_S", 0.01)
    reader = Reader(nodes["b"])
    await reader.listed()

    replica.put(b"1", b"", KEPT)
    page = await reader.page()

    assert isinstance(page, Page)
    assert (list(page.events), page.revision >> 20) == ([], 1)


async def test_what_goes_wrong_here_is_no_silence(
    nodes: Nodes, replica: Replica, caplog: pytest.LogCaptureFixture
) -> None:
    nodes["b"].others = None  # type: ignore[assignment]

    lost = await Reader(nodes["b"]).page()

    assert lost == Lost("the feed of shard toy/0 broke")
    assert "the feed of shard toy/0 broke" in caplog.text


# Marks.


async def test_a_mark_is_behind_what_is_applied(nodes: Nodes, replica: Replica) -> None:
    replica.put(b"1")
    replica.restore()

    point = await nodes["b"].feeds.read_point(SHARD, 5.0)

    assert (point.revision, point.generation) == ((2 << 20) - 1, 1)
    assert replica.barriers == 1


async def test_a_mark_is_had_from_any_node_with_a_replica(
    nodes: Nodes, replica: Replica, new_replica: NewReplica
) -> None:
    nodes["c"].replicas[SHARD] = twin = new_replica(SHARD)
    del nodes["a"].replicas[SHARD]
    twin.put(b"1")

    assert (await nodes["b"].feeds.read_point(SHARD, 5.0)).revision >> 20 == 1


async def test_a_mark_is_had_here_once_there_is_a_replica(
    nodes: Nodes, new_replica: NewReplica
) -> None:
    node = nodes["b"]
    node.others = []
    asked = asyncio.create_task(node.feeds.read_point(SHARD, 5.0))
    await asyncio.sleep(0)
    node.replicas[SHARD] = new_replica(SHARD)

    assert (await asked).revision >> 20 == 0


async def test_nobody_is_asked_for_a_mark_of_a_shard_that_was_merged(nodes: Nodes) -> None:
    node = nodes["b"]
    node.others = []
    asked = asyncio.create_task(node.feeds.read_point(SHARD, 60.0))
    await asyncio.sleep(0)
    node.merged.add(SHARD)

    with pytest.raises(UnreadableError, match="merged"):
        async with asyncio.timeout(5.0):
            await asked


async def test_a_mark_that_nobody_has_is_told_with_its_reason(nodes: Nodes) -> None:
    with pytest.raises(ReadTimeoutError, match="this node has no replica of shard toy/0"):
        await nodes["b"].feeds.read_point(SHARD, 1.5)


@pytest.mark.parametrize(
    ("before", "told"), [(True, "a is not known"), (False, "gave no answer: too late")]
)
async def test_that_the_time_is_over_is_the_reason_only_where_there_is_no_other(
    nodes: Nodes, monkeypatch: pytest.MonkeyPatch, before: bool, told: str
) -> None:
    late = CallError(Code.DEADLINE_EXCEEDED, "too late")
    failures: list[Exception] = [UnreachableError("a is not known")] if before else []

    async def fail(*_: object) -> None:
        raise failures.pop(0) if failures else late

    monkeypatch.setattr(nodes["b"].feeds, "_read_point_on", fail)
    with pytest.raises(ReadTimeoutError, match=told):
        await nodes["b"].feeds.read_point(SHARD, 1.0)
