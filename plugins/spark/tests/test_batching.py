"""What a batch holds depends on the rows and their order alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow", reason='pip install "quorate-spark[testing]"')
pytest.importorskip("pyspark", reason='pip install "quorate-spark[testing]"')

from quorate.plugin.slots import SLOTS  # noqa: E402 - behind what may be missing
from quorate_spark.source import batching  # noqa: E402
from quorate_spark.source.batching import Batching  # noqa: E402
from quorate_spark.source.shards import ShardPlan, session_name  # noqa: E402
from quorate_spark.source.tables import FoundTable, find, installed_tables  # noqa: E402

PLAN = ShardPlan(
    group="metadata", holders=[slot % 2 for slot in range(SLOTS)], leaders={0: "a", 1: "b"}
)

Rows = Sequence[tuple[Any, Any]]


def batched(
    rows: Rows,
    *,
    cuts: Sequence[int] = (),
    size: int = 3,
    insert_only: bool = False,
    found: FoundTable | None = None,
) -> tuple[list[tuple[int, int, list[bytes]]], Batching]:
    """Give rows in Arrow batches that end at `cuts`; return what each batch is and holds."""
    table = found or find("kv.pairs")
    taking = Batching(table, PLAN, insert_only=insert_only, rows=size)
    full = []
    for start, end in zip((0, *cuts), (*cuts, len(rows)), strict=True):
        part = rows[start:end]
        batch = pa.RecordBatch.from_arrays(
            [
                pa.array([row[0] for row in part], pa.binary()),
                pa.array([row[1] for row in part], pa.binary()),
            ],
            names=["key", "value"],
        )
        full += list(taking.take(batch))
    full += list(taking.rest())
    told: Any = [(each.shard, each.number, [item.key for item in each.items]) for each in full]  # type: ignore[attr-defined]
    return sorted(told), taking


def rows_of(*names: str) -> Rows:
    return [(name.encode(), b"v") for name in names]


def test_batches_are_the_same_however_the_rows_come() -> None:
    rows = rows_of(*(f"{number % 5}/{number}" for number in range(40)))
    whole, _ = batched(rows)

    assert batched(rows, cuts=(1, 2, 17))[0] == whole
    assert batched(rows, cuts=tuple(range(1, 40)))[0] == whole
    for shard in (0, 1):
        numbers = [number for holder, number, _ in whole if holder == shard]
        assert numbers == list(range(1, len(numbers) + 1))
        sizes = [len(held) for holder, _, held in whole if holder == shard]
        assert set(sizes[:-1]) == {3}
    assert sorted(key for *_, held in whole for key in held) == sorted(key for key, _ in rows)


def test_rows_without_a_key_of_their_items_have_that_of_the_table() -> None:
    found = find("kv.pairs")
    keyless = replace(found, items=replace(found.items, key=None))
    rows = rows_of("a", "b/1", "a", "a", "b/2")

    assert batched(rows, size=10, found=keyless)[0] == batched(rows, size=10)[0]


def test_a_key_that_comes_twice_comes_in_two_batches() -> None:
    found, _ = batched(rows_of("a", "b/1", "a", "a"), size=10)
    of_a = [(number, held.count(b"a")) for _, number, held in found if b"a" in held]

    assert of_a == [(1, 1), (2, 1), (3, 1)]


def test_a_batch_ends_with_the_row_that_fills_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batching, "BATCH_BYTES", 1_000)
    rows = [(b"x/%d" % number, bytes(400)) for number in range(7)]

    assert [len(held) for *_, held in batched(rows, size=100)[0]] == [3, 3, 1]


def test_bad_rows_are_named_and_in_no_batch() -> None:
    rows = [
        (b"a", b"v"),
        (None, b"v"),
        (b"b", None),
        (b"", b"v"),
        (b"c", bytes(batching.MOST_ROW_BYTES)),
        (b"d", b"v"),
    ]
    for cuts in ((), (2,), (1, 2, 3, 4, 5)):
        found, taking = batched(rows, cuts=cuts)
        assert sorted(key for *_, held in found for key in held) == [b"a", b"d"]
        assert [(each.row, each.column) for each in taking.bad] == [
            (2, "key"),
            (3, "value"),
            (4, "key"),
            (5, ""),
        ]
        assert "at most" in taking.bad[-1].reason
        assert taking.bad[1].values == {"key": b"b", "value": None}


def test_a_refused_row_is_told_wherever_it_came_from() -> None:
    taking = Batching(find("kv.pairs"), PLAN, insert_only=False, rows=10)
    far = next(each for each in "bcdef" if PLAN.shard_of(each.encode()) != PLAN.shard_of(b"a"))
    for cut in (["a/1", "", "a/2"], ["a/3"], [far], ["a/4", "a/5"]):
        keys = pa.array([name.encode() for name in cut])
        values = pa.array([b"of " + name.encode() for name in cut])
        assert not list(taking.take(pa.RecordBatch.from_arrays([keys, values], ["key", "value"])))
    batch, other = sorted(taking.rest(), key=lambda each: -len(each.items))

    told = [batch.bad_row(at, "", "refused") for at in range(5)]
    assert [each.row for each in told] == [1, 3, 4, 6, 7]
    assert other.bad_row(0, "", "refused").values["key"] == far.encode()
    # No batch keeps rows in memory that it has nothing of.
    assert [len(each.sources) for each in (batch, other)] == [3, 1]
    assert [each.values["key"] for each in told] == [b"a/%d" % n for n in (1, 2, 3, 4, 5)]


def test_an_insert_expects_nothing_to_be_there() -> None:
    taking = Batching(find("kv.pairs"), PLAN, insert_only=True, rows=1)
    columns = [pa.array([b"a"]), pa.array([b"v"])]
    [batch] = taking.take(pa.RecordBatch.from_arrays(columns, names=["key", "value"]))
    [item] = batch.items

    assert item.HasField("expected_revision")


@pytest.mark.parametrize("name", sorted(installed_tables()))
def test_a_command_of_what_items_serialize_to_is_the_one_of_the_items(name: str) -> None:
    found = find(name)
    items = [item for each in found.write.examples for item in found.items.get(each)] * 2
    contents = [item.SerializeToString() for item in items]

    made = found.command(items, contents)

    assert items
    assert made == found.items.make(found.table.write(), items)


def test_every_shard_has_a_key_of_its_own() -> None:
    assert [PLAN.shard_of(PLAN.some_key(shard)) for shard in (0, 1)] == [0, 1]


def test_sessions_of_different_parts_have_different_names() -> None:
    names = {session_name(load, part) for load in ("a", "b", "1", "") for part in range(20)}

    assert len(names) == 80
