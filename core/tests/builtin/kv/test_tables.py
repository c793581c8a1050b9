from __future__ import annotations

import pytest
from quorate.builtin.kv import apply, tables
from quorate.builtin.kv.families import PAIRS
from quorate.builtin.kv.validation import LONGEST_TTL_MS
from quorate.plugin import Invalid
from quorate.testing import MemoryTxn
from quorate.v1.kv_pb2 import DeletePairs, PutPairs

ROWS = [(b"a", b"v", None), (b"a/\xff", b"", 1), (b"b", bytes(300), LONGEST_TTL_MS)]


def stored(txn: MemoryTxn) -> list[tuple[object, ...]]:
    found = (txn.get_row(PAIRS, key) for key, _, _ in ROWS)
    return [tables.from_row(row.key, row.value) for row in found if row is not None]


def test_rows_are_what_was_written() -> None:
    txn = MemoryTxn(at_ms=1_000)
    reply = apply.put_pairs(txn, PutPairs(pairs=[tables.to_item(*row) for row in ROWS]))

    assert not reply.refusals
    assert stored(txn) == ROWS


def test_an_insert_leaves_what_is_there() -> None:
    txn = MemoryTxn(at_ms=1_000)
    apply.put_pairs(txn, PutPairs(pairs=[tables.to_item(*ROWS[0])]))
    others = [(key, b"other", None) for key, _, _ in ROWS]
    reply = apply.put_pairs(txn, PutPairs(pairs=[tables.to_insert(*row) for row in others]))

    assert [refusal.item for refusal in reply.refusals] == [0]
    assert stored(txn) == [ROWS[0], *others[1:]]


def test_what_was_changed_since_is_not_removed() -> None:
    txn = MemoryTxn(at_ms=1_000)
    apply.put_pairs(txn, PutPairs(pairs=[tables.to_item(*row) for row in ROWS]))
    first = txn.revision
    wrong = tables.to_removal(b"a", first + 1)
    right = [tables.to_removal(key, first) for key in (b"a/\xff", b"b")]
    reply = apply.delete_pairs(txn, DeletePairs(pairs=[wrong, *right]))

    assert [refusal.item for refusal in reply.refusals] == [0]
    assert stored(txn) == ROWS[:1]


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ((b"", b"v", None), "key"),
        ((b"k" * 4_097, b"v", None), "key"),
        ((b"k", b"v", -1), "ttl_ms"),
        ((b"k", b"v", LONGEST_TTL_MS + 1), "ttl_ms"),
    ],
)
def test_a_row_that_cannot_be_right_names_its_column(
    row: tuple[bytes, bytes, int | None], field: str
) -> None:
    for make in (tables.to_item, tables.to_insert):
        with pytest.raises(Invalid) as refused:
            make(*row)
        assert refused.value.field == field


def test_pairs_from_columns_are_those_from_items() -> None:
    rows = [(b"a/b", b"v", None), (b"k" * 4_096, bytes(64 << 10), 0), (b"\0", b"\0", None)]
    columns = [list(column) for column in zip(*rows, strict=True)]
    of_items, of_columns = MemoryTxn(at_ms=1_000), MemoryTxn(at_ms=1_000)

    shard_keys = tables.shard_keys(*columns)
    assert shard_keys == [b"a", b"k" * 4_096, b"\0"]
    assert tables.make(of_columns, shard_keys, *columns) == {"": 3}

    apply.put_pairs(of_items, PutPairs(pairs=[tables.to_item(*row) for row in rows]))
    assert of_columns.rows(PAIRS) == of_items.rows(PAIRS)


@pytest.mark.parametrize(
    "row",
    [
        (b"", b"v", None),
        (b"k" * 4_097, b"v", None),
        (b"k", b"", None),
        (b"k", bytes((64 << 10) + 1), None),
        (b"k", b"v", 1),
    ],
)
def test_pairs_that_may_be_otherwise_are_made_of_items(
    row: tuple[bytes, bytes, int | None],
) -> None:
    for rows in ((row, (b"a", b"v", None)), ((b"a", b"v", None), row)):
        assert tables.shard_keys(*(list(each) for each in zip(*rows, strict=True))) is None


def test_keys_begin_with_nothing_or_are_whole() -> None:
    assert (tables.to_key(), tables.to_key(b"a/b")) == (b"", b"a/b")
