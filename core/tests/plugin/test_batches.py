from __future__ import annotations

import pytest
from quorate.plugin import Rejected, answer_each, still_due
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
