from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import pytest
from quorate.client import AsyncClient, ChangeKind, InvalidError, WatchedChange
from quorate.plugin import Invalid
from quorate.shards import refusals
from quorate.v1.kv_pb2 import Pair
from quorate.v1.watch_pb2 import Resync, WatchedFamily, WatchEvent, WatchResponse

if TYPE_CHECKING:
    from core.tests.client.conftest import FakeCluster

LOST = refusals.UnreadableError("the replica has gone")


def row(key: str, revision: int = 1) -> WatchEvent:
    return WatchEvent(kind=WatchEvent.ROW, name="t.rows", key=key.encode(), revision=revision)


def put(key: str, revision: int = 1, value: bytes = b"") -> WatchEvent:
    return WatchEvent(
        kind=WatchEvent.PUT, name="t.rows", key=key.encode(), revision=revision, value=value
    )


def response(*events: WatchEvent, token: bytes = b"", **of: Any) -> WatchResponse:
    return WatchResponse(events=events, token=token, **of)


@pytest.fixture
async def watch(cluster: FakeCluster, q: AsyncClient) -> Any:
    """Gives the first changes of a watch, of which every node gives the next part."""

    async def seen(
        count: int, *parts: Sequence[WatchResponse | Exception], family: Any = "t.rows", **of: Any
    ) -> list[WatchedChange]:
        left = list(parts)

        class Shared(list):  # type: ignore[type-arg]
            def __bool__(self) -> bool:
                return bool(left)

            def pop(self, *_: object) -> Any:
                return left.pop(0)

        for node in cluster.nodes.values():
            node.watches = Shared()
        found: list[WatchedChange] = []
        async with asyncio.timeout(20), aclosing(q.watch(family, **of)) as changes:
            async for change in changes:
                found.append(change)
                if len(found) == count:
                    break
        return found

    return seen


def requests(cluster: FakeCluster) -> list[Any]:
    return [each for node in cluster.nodes.values() for each in node.watched]


async def test_rows_come_first_and_changes_carry_what_resumes_behind_them(
    cluster: FakeCluster, watch: Any
) -> None:
    found = await watch(
        4,
        [
            response(row("a"), row("b")),
            response(token=b"t1", listed=True),
            response(put("a", 2), put("b", 2), token=b"t2"),
        ],
        prefix="x/",
    )
    assert [(each.kind, each.key, each.revision, each.token) for each in found] == [
        (ChangeKind.ROW, b"a", 1, b""),
        (ChangeKind.ROW, b"b", 1, b""),
        (ChangeKind.PUT, b"a", 2, b"t1"),
        (ChangeKind.PUT, b"b", 2, b"t2"),
    ]
    [request] = requests(cluster)
    assert list(request.families) == [WatchedFamily(name="t.rows", prefix=b"x/")]


async def test_a_watch_goes_on_behind_what_it_gave_when_its_node_is_lost(
    cluster: FakeCluster, watch: Any
) -> None:
    found = await watch(
        2,
        [response(token=b"t1", listed=True), response(put("a", 2), token=b"t2"), LOST],
        [LOST],
        [response(put("b", 3), token=b"t3")],
    )
    assert [(each.kind, each.key) for each in found] == [
        (ChangeKind.PUT, b"a"),
        (ChangeKind.PUT, b"b"),
    ]
    assert sorted(each.token for each in requests(cluster)) == [b"", b"t2", b"t2"]


async def test_rows_that_were_not_given_to_their_end_are_given_again_after_a_resync(
    watch: Any,
) -> None:
    found = await watch(3, [response(row("a")), LOST], [response(row("b"), listed=True)])
    assert [(each.kind, each.key) for each in found] == [
        (ChangeKind.ROW, b"a"),
        (ChangeKind.RESYNC, b""),
        (ChangeKind.ROW, b"b"),
    ]
    assert "connection was lost" in found[1].reason


async def test_lost_history_is_told_and_the_rows_follow(cluster: FakeCluster, watch: Any) -> None:
    found = await watch(
        2,
        [response(resync=Resync(reason="history is gone"))],
        [response(row("a"))],
        token=b"old",
    )
    assert [(each.kind, each.reason) for each in found] == [
        (ChangeKind.RESYNC, "history is gone"),
        (ChangeKind.ROW, ""),
    ]
    assert sorted(each.token for each in requests(cluster)) == [b"", b"old"]


async def test_a_watch_that_ends_without_a_word_goes_on(cluster: FakeCluster, watch: Any) -> None:
    node = cluster.nodes["n1"]
    found = asyncio.create_task(
        watch(1, [response(token=b"t1", listed=True)], [response(put("a"), token=b"t2")])
    )
    async with asyncio.timeout(10):
        while not (asked := [each for each in cluster.nodes.values() if each.watched]):
            await asyncio.sleep(0)
    [node] = asked
    await node.stop()
    assert [each.key for each in await found] == [b"a"]


async def test_marks_are_given_to_whoever_asks(watch: Any) -> None:
    parts: list[Any] = [[response(row("a")), response(token=b"t1", listed=True)]]
    parts[0] += [response(token=b"t2", listed=True), LOST]
    parts += [[response(token=b"t3", listed=True)]]
    found = await watch(4, *parts, marks=True)
    assert [(each.kind, each.token) for each in found] == [
        (ChangeKind.ROW, b""),
        (ChangeKind.LISTED, b"t1"),
        (ChangeKind.BOOKMARK, b"t2"),
        (ChangeKind.BOOKMARK, b"t3"),
    ]


async def test_pairs_are_shown_as_their_values_and_new_ones_are_told(
    cluster: FakeCluster, watch: Any
) -> None:
    new = Pair(value=b"v", created_revision=5).SerializeToString()
    changed = Pair(value=b"w", created_revision=5).SerializeToString()
    events = [put("a", 5, new), put("a", 6, changed), WatchEvent(kind=WatchEvent.DELETED)]
    for event in events:
        event.name = "kv.pairs"
    found = await watch(3, [response(*events, token=b"t")], family="kv", prefix=b"a")

    assert [(each.kind, each.value) for each in found] == [
        (ChangeKind.CREATED, b"v"),
        (ChangeKind.UPDATED, b"w"),
        (ChangeKind.DELETED, b""),
    ]
    assert [each.name for each in requests(cluster)[0].families] == ["kv.pairs"]


async def test_changes_alone_and_several_families_are_asked_for(
    cluster: FakeCluster, watch: Any
) -> None:
    await watch(1, [response(put("a"), token=b"t")], family=["t.rows", "t.more"], changes_only=True)
    [request] = requests(cluster)
    assert request.changes_only
    assert [each.name for each in request.families] == ["t.rows", "t.more"]


async def test_a_watch_of_what_is_not_there_is_refused(watch: Any) -> None:
    with pytest.raises(InvalidError, match="no family"):
        await watch(1, [Invalid("families", "no family t.rows")])
