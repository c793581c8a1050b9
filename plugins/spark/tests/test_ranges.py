"""Ranges hold every key that a query asks for, and their parts hold each key once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st
from quorate.plugin import keys
from quorate.plugin.advanced import Column, Table
from quorate.v1.kv_pb2 import PutPairs

pytest.importorskip("pyspark", reason='pip install "quorate-spark[testing]"')
pa = pytest.importorskip("pyarrow", reason='pip install "quorate-spark[testing]"')

from pyspark.sql import datasource as ds  # noqa: E402 - behind what may be missing
from quorate_spark.source import ranges  # noqa: E402
from quorate_spark.source.ranges import KeyRange  # noqa: E402


def _unused(*_: object) -> Any:
    raise AssertionError("no row is made here")


#: Keys of a text and a number, as most plugins pack theirs.
TABLE = Table(
    family="acme.orders",
    columns=(
        Column(name="tenant", type="string"),
        Column(name="number", type="long"),
        Column(name="note", type="string"),
    ),
    key=("tenant", "number"),
    write=PutPairs,
    to_item=_unused,
    from_row=_unused,
    to_key=keys.pack,
)
NAMES = ["", "a", "ab", "abc", "b", "z\x00", "z\U0010ffff", "\ud7ff", "\U0010ffff"]
NUMBERS = [-300, -1, 0, 1, 255, 256, 2**40]
ROWS = [(name, number) for name in NAMES for number in NUMBERS]

names, numbers = st.sampled_from(NAMES), st.sampled_from(NUMBERS)
comparing = st.sampled_from(
    [ds.EqualTo, ds.GreaterThan, ds.GreaterThanOrEqual, ds.LessThan, ds.LessThanOrEqual]
)
of_name = st.one_of(
    st.builds(lambda kind, value: kind(("tenant",), value), comparing, names),
    st.builds(lambda value: ds.StringStartsWith(("tenant",), value), names),
    st.builds(lambda values: ds.In(("tenant",), tuple(values)), st.lists(names, max_size=3)),
)
of_number = st.one_of(
    st.builds(lambda kind, value: kind(("number",), value), comparing, numbers),
    st.builds(lambda values: ds.In(("number",), tuple(values)), st.lists(numbers, max_size=3)),
)


def passes(row: tuple[str, int], each: Any) -> bool:
    value: Any = row[("tenant", "number").index(each.attribute[0])]
    match each:
        case ds.EqualTo():
            return bool(value == each.value)
        case ds.In():
            return value in each.value
        case ds.GreaterThan():
            return bool(value > each.value)
        case ds.GreaterThanOrEqual():
            return bool(value >= each.value)
        case ds.LessThan():
            return bool(value < each.value)
        case ds.LessThanOrEqual():
            return bool(value <= each.value)
    return bool(value.startswith(each.value))


def within(key: bytes, each: KeyRange) -> bool:
    return key >= each.start and (each.end is None or key < each.end)


@given(st.lists(of_name | of_number, max_size=4))
def test_ranges_hold_what_passes_and_the_filters_drop_the_rest(filters: list[Any]) -> None:
    assert list(ranges.pushed(TABLE, filters)) == filters
    found = ranges.of_filters(TABLE, filters)
    asked = [row for row in ROWS if all(passes(row, each) for each in filters)]

    for row in ROWS:
        holding = [each for each in found if within(keys.pack(*row), each)]
        assert len(holding) <= 1
        assert holding or row not in asked
    kinds = (pa.string(), pa.int64())
    columns = [pa.array([row[at] for row in ROWS], kind) for at, kind in enumerate(kinds)]
    batch = pa.RecordBatch.from_arrays(columns, names=["tenant", "number"])
    assert [tuple(row.values()) for row in ranges.passes(batch, filters).to_pylist()] == asked


def test_what_is_asked_for_exactly_is_not_looked_for_elsewhere() -> None:
    one = [ds.EqualTo(("tenant",), "a"), ds.EqualTo(("number",), 1)]
    few = [ds.In(("tenant",), ("a", "b")), ds.GreaterThan(("number",), 0)]

    assert [row for row in ROWS if within(keys.pack(*row), ranges.of_filters(TABLE, one)[0])] == [
        ("a", 1)
    ]
    found = ranges.of_filters(TABLE, few)
    held = [row for row in ROWS if any(within(keys.pack(*row), each) for each in found)]
    assert {name for name, _ in held} == {"a", "b"}
    assert {number for _, number in held} == {0, 1, 255, 256, 2**40}


def test_other_filters_are_left_to_spark() -> None:
    others = [
        ds.EqualTo(("note",), "x"),
        ds.EqualTo(("tenant", "inner"), "x"),
        ds.StringEndsWith(("tenant",), "x"),
        ds.EqualTo(("number",), 1.5),
        ds.In(("tenant",), ("a", None)),
    ]

    assert ranges.pushed(TABLE, others) == ()


@given(
    st.lists(st.binary(max_size=12), min_size=1, max_size=30),
    st.integers(0, 8),
    st.binary(max_size=3),
    st.none() | st.binary(min_size=1, max_size=3),
)
def test_the_parts_of_a_range_hold_each_of_its_keys_once(
    found: list[bytes], parts: int, start: bytes, end: bytes | None
) -> None:
    whole = KeyRange(start, end)
    divided = ranges.divided(whole, min(found), max(found), parts)

    for key in found:
        assert sum(within(key, each) for each in divided) == within(key, whole)
        assert not within(key, whole) or ranges.overlap(whole, min(found), max(found))
    assert 1 <= len(divided) <= max(parts, 1)


def test_even_keys_are_divided_evenly() -> None:
    found = [b"client/%04d" % number for number in range(1_000)]
    divided = ranges.divided(KeyRange(b"", None), found[0], found[-1], 4)

    counts = [sum(within(key, each) for key in found) for each in divided]
    assert len(counts) == 4
    assert min(counts) > 150
