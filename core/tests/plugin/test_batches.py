from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from itertools import chain
from typing import Any

import pytest
from quorate.plugin import Invalid, Rejected, Row
from quorate.plugin.advanced import (  # type: ignore[deprecated]
    Splice,
    answer_each,
    read_each,
    read_range,
    read_spliced,
    read_values,
    still_due,
)
from quorate.plugin.batches import read_pages, weighed_parts
from quorate.plugin.splicing import spliced
from quorate.testing import MemoryTxn
from quorate.v1.batch_pb2 import BatchReply, ShardRevision

TIMER = "kv.ttl"


def _apply(_: object, item: int) -> ShardRevision | None:
    if item < 0:
        raise Rejected("NEGATIVE", f"{item} is below zero")
    return ShardRevision(revision=item) if item else None


def test_every_item_is_answered_in_its_place() -> None:
    answer = answer_each(MemoryTxn(), iter([1, -1, 0, 2]), _apply)
    assert answer.items == 4
    assert list(answer.replies) == [
        ShardRevision(revision=1).SerializeToString(),
        b"",
        b"",
        ShardRevision(revision=2).SerializeToString(),
    ]
    assert [(each.item, each.code, each.message) for each in answer.refusals] == [
        (1, "NEGATIVE", "-1 is below zero")
    ]


def test_a_batch_without_items_is_answered_with_none() -> None:
    assert answer_each(MemoryTxn(), [], _apply) == BatchReply()


def test_an_item_that_is_wrong_whatever_is_stored_is_refused_in_its_place() -> None:
    def apply(_: object, item: int) -> None:
        if not item:
            raise Invalid("item", "must not be zero")

    answer = answer_each(MemoryTxn(), [1, 0, 2], apply)
    assert answer.items == 3
    assert [(each.item, each.code, each.message) for each in answer.refusals] == [
        (1, "INVALID_ARGUMENT", "item: must not be zero")
    ]


def test_a_fault_is_no_refusal() -> None:
    with pytest.raises(ZeroDivisionError):
        answer_each(MemoryTxn(), [1], lambda _, item: ShardRevision(revision=item // 0))


@pytest.mark.parametrize(("at_ms", "due"), [(99, False), (100, True), (101, True)])
def test_a_key_is_due_from_its_deadline_on(at_ms: int, due: bool) -> None:
    txn = MemoryTxn(at_ms=at_ms)
    txn.schedule(TIMER, b"k", 100)
    assert list(still_due(txn, TIMER, [b"k", b"unknown"])) == ([b"k"] if due else [])


def test_a_deadline_that_was_moved_or_cancelled_is_not_due() -> None:
    txn = MemoryTxn(at_ms=100)
    for key in (b"moved", b"cancelled", b"due"):
        txn.schedule(TIMER, key, 50)
    txn.schedule(TIMER, b"moved", 200)
    txn.schedule(TIMER, b"cancelled", None)
    assert list(still_due(txn, TIMER, [b"moved", b"cancelled", b"due"])) == [b"due"]


def test_the_former_ways_to_read_many_work_and_warn() -> None:
    txn = MemoryTxn()
    rows = {b"%03d" % number: b"v" for number in range(0, 250, 2)}
    txn.put_each("any.rows", rows)
    keys = [b"%03d" % number for number in range(250)]
    splice = Splice(key=2, revision=3)
    read: dict[str, Callable[[], Iterable[object]]] = {
        "read_range": lambda: read_range(txn, "any.rows", b"", b"\xff"),
        "read_each": lambda: read_each(txn, "any.rows", keys),
        "read_values": lambda: read_values(txn, "any.rows", keys),
        "read_spliced": lambda: read_spliced(txn, "any.rows", keys, splice),
        "get_spliced": lambda: txn.get_spliced(  # type: ignore[deprecated]
            "any.rows", keys, splice
        ),
    }
    found = {}
    for name, get in read.items():
        with pytest.warns(DeprecationWarning, match=f"{name} is deprecated since 0.2: write "):
            found[name] = list(get())

    assert found["read_range"] == [Row(key, b"v", txn.revision) for key in rows]
    assert found["read_each"] == txn.get_rows("any.rows", keys)
    assert found["read_values"] == txn.get_values("any.rows", keys)
    row = found["read_each"][0]
    assert isinstance(row, Row)
    first = spliced(*splice, row)
    assert found["read_spliced"][:2] == found["get_spliced"][:2] == [first, None]


class _Shards:
    """A node whose two shards answer a query with as many numbers as it asks for."""

    async def query(self, after: ShardRevision, kind: object) -> AsyncIterator[ShardRevision]:
        shards = ([0, 1, 2, 3, 4], [5, 6, 7])
        found = [[each for each in shard if each >= after.revision][:2] for shard in shards]
        for number in sorted(chain(*found)):
            yield ShardRevision(revision=number)


async def test_pages_of_several_shards_leave_nothing_out() -> None:
    node: Any = _Shards()
    pages = read_pages(
        node,
        lambda last: ShardRevision(revision=last.revision + 1 if last else 0),
        ShardRevision,
        2,
    )
    found = [[each.revision for each in page] async for page in pages]
    assert found == [[0, 1], [2, 3], [4, 5], [6, 7]]


@pytest.mark.parametrize(
    ("most", "parts"),
    [
        ((2, 9), [["a", "bb"], ["ccc", "dddd"], ["e"]]),
        ((9, 3), [["a", "bb"], ["ccc"], ["dddd"], ["e"]]),
        ((9, 99), [["a", "bb", "ccc", "dddd", "e"]]),
        ((0, 0), [["a"], ["bb"], ["ccc"], ["dddd"], ["e"]]),
    ],
)
def test_parts_weigh_no_more_than_is_allowed(most: tuple[int, int], parts: list[list[str]]) -> None:
    items = ["a", "bb", "ccc", "dddd", "e"]
    assert list(weighed_parts(items, lambda item: (1, len(item)), most)) == parts
    assert list(weighed_parts([], lambda item: (1, len(item)), most)) == []
