"""Offsets as rows of a table: what is loaded is read again, and what cannot be right is named."""

from __future__ import annotations

from typing import Any

import pytest
from quorate.plugin import Invalid
from quorate.testing import MemoryTxn
from quorate_offset.families import OFFSETS, group_key, offset_key
from quorate_offset.offsets import tables
from quorate_offset.offsets.apply import commit_offsets
from quorate_offset.offsets.validation import LONGEST_METADATA
from quorate_offset.v1.commands_pb2 import GroupCommitReply
from quorate_offset.v1.service_pb2 import CommitOffsetsRequest

ROWS = [
    ("acme", "audit", "orders", 0, 7, None),
    ("acme", "billing", "orders", 3, (1 << 63) - 1, "node-1"),
    ("acme", "billing", "orders", (1 << 32) - 1, 0, None),
]


def commit(txn: MemoryTxn, *rows: tuple[Any, ...]) -> list[tuple[int, str]]:
    """Commit rows, and return what was refused; an offset within its group never is."""
    items = [tables.to_item(*row) for row in rows]
    reply = commit_offsets(txn, CommitOffsetsRequest(groups=items))
    assert not any(GroupCommitReply.FromString(each).refusals for each in reply.replies)
    return [(each.item, each.code) for each in reply.refusals]


def stored(txn: MemoryTxn) -> list[tuple[object, ...]]:
    return [tables.from_row(key, value) for key, value in txn.rows(OFFSETS).items()]


def test_offsets_are_what_was_written(shard: MemoryTxn) -> None:
    assert commit(shard, *ROWS) == []
    assert stored(shard) == ROWS


def test_an_offset_replaces_a_larger_one(shard: MemoryTxn) -> None:
    commit(shard, *ROWS)
    smaller = (*ROWS[0][:4], 1, "back")
    assert commit(shard, smaller) == []

    assert stored(shard) == [smaller, *ROWS[1:]]


def test_offsets_of_tenants_that_are_not_there_are_refused(shard: MemoryTxn) -> None:
    others = [(tenant, *ROWS[0][1:]) for tenant in ("nobody", "leaving")]

    assert commit(shard, others[0], ROWS[0], others[1]) == [
        (0, "NOT_FOUND"),
        (2, "FAILED_PRECONDITION"),
    ]
    assert stored(shard) == ROWS[:1]


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("tenant", ""),
        ("group", ""),
        ("topic", "t" * 256),
        ("partition", -1),
        ("partition", 1 << 32),
        ("offset", -1),
        ("metadata", "m" * (LONGEST_METADATA + 1)),
    ],
)
def test_a_row_that_cannot_be_right_names_its_column(column: str, value: object) -> None:
    names = [each.name for each in tables.TABLE.columns]
    row: dict[str, Any] = dict(zip(names, ROWS[1], strict=True)) | {column: value}
    with pytest.raises(Invalid) as refused:
        tables.to_item(*row.values())

    assert refused.value.field == column


def test_keys_begin_with_what_is_named() -> None:
    group = tables.TABLE.to_key("acme", "billing")

    assert group == group_key("acme", "billing")
    key = tables.TABLE.to_key("acme", "billing", "orders", 3)
    assert key == offset_key(tables.TABLE.to_key("acme", "billing", "orders"), 3)
    assert key.startswith(group)
