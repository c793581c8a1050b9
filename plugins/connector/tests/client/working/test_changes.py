"""The tasks of a connector follow the changes of a family, each those of its shards."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Any, cast

import pytest
from quorate.client import AsyncClient, ChangeKind, WatchedChange
from quorate.v1.token_pb2 import WatchToken
from quorate_connector.client import AssignedTask, changes_of


class Feed:
    """Gives what a cluster of three shards would, and remembers what it was asked for."""

    def __init__(self, *changes: WatchedChange) -> None:
        self._changes = changes
        self.asked: list[tuple[bytes, Sequence[int]]] = []

    async def watch(
        self,
        family: str,
        *,
        token: bytes = b"",
        shards: Sequence[int] = (),
        changes_only: bool = False,
        marks: bool = False,
    ) -> AsyncGenerator[WatchedChange, None]:
        assert (family, marks) == ("kv.pairs", True)
        if changes_only:
            positions = [WatchToken.Position(shard=number) for number in range(3)]
            begin = WatchToken(positions=positions).SerializeToString()
            yield WatchedChange(kind=ChangeKind.BOOKMARK, token=begin)
            return
        self.asked.append((token, shards))
        for change in self._changes:
            yield change


class Progress:
    """The cursor of a task."""

    def __init__(self, number: int, tasks_max: int, cursor: bytes = b"") -> None:
        self.number, self.tasks_max = number, tasks_max
        self.stored = [cursor]

    async def cursor(self) -> bytes:
        return self.stored[-1]

    async def store_cursor(self, value: bytes) -> None:
        self.stored.append(value)


def change(key: bytes, token: bytes, kind: ChangeKind = ChangeKind.PUT) -> WatchedChange:
    return WatchedChange(kind=kind, key=key, token=token)


async def followed(feed: Feed, task: Progress) -> list[tuple[list[bytes], bytes]]:
    found = []
    given = cast(AssignedTask[Any], task)
    async for rows in changes_of(cast(AsyncClient, feed), given, "kv.pairs"):
        found.append(([each.key for each in rows.changes], rows.cursor))
        await rows.store_cursor()
    return found


async def test_each_task_has_its_shards() -> None:
    for number, shards in ((0, [0, 2]), (1, [1])):
        feed = Feed()
        await followed(feed, Progress(number, 2, b"kept"))
        assert feed.asked == [(b"kept", shards)]
    with pytest.raises(ValueError, match="has 3 shards, none of them for task 3: set tasks_max to"):
        await followed(Feed(), Progress(3, 4))


async def test_rows_have_no_cursor_until_all_were_given() -> None:
    rows = [change(b"%d" % number, b"", ChangeKind.ROW) for number in range(501)]
    task = Progress(0, 1)

    found = await followed(Feed(*rows, change(b"", b"1", ChangeKind.LISTED)), task)

    assert [(len(keys), cursor) for keys, cursor in found] == [(500, b""), (1, b"1")]
    assert task.stored == [b"", b"1"]


async def test_a_cursor_is_after_whole_responses() -> None:
    task = Progress(0, 1, b"1")
    feed = Feed(
        change(b"a", b"1"),
        change(b"b", b"2"),
        change(b"", b"3", ChangeKind.BOOKMARK),
        change(b"c", b"4"),
        change(b"", b"", ChangeKind.RESYNC),
        change(b"d", b"", ChangeKind.ROW),
        change(b"", b"9", ChangeKind.LISTED),
    )

    found = await followed(feed, task)

    assert found == [([b"a", b"b"], b"2"), ([b"c"], b"4"), ([b"", b"d"], b"9")]
    assert task.stored == [b"1", b"2", b"3", b"4", b"9"]
