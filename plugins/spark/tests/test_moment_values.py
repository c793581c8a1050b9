"""Maps and moments between tables and Arrow, without Spark: every unit, and both of its ends."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate
from struct import pack
from typing import Any, Final

import pytest
from hypothesis import given, strategies as st
from quorate.plugin import Invalid, keys
from quorate.plugin.advanced import Column, Table
from quorate.plugin.declarations import MomentUnit
from quorate.plugin.resource import bind
from quorate.plugin.resource.tables import table_of
from quorate.v1.view_pb2 import PackedRows

pa = pytest.importorskip("pyarrow", reason='pip install "quorate-spark[testing]"')
pytest.importorskip("pyspark", reason='pip install "quorate-spark[testing]"')

from pyspark.sql import datasource as ds, types as spark  # noqa: E402 - behind what may be missing
from quorate_spark.source import columns, dead_letters, ranges  # noqa: E402
from quorate_spark.source.decoding import Decoder  # noqa: E402
from quorate_spark.source.errors import SourceError  # noqa: E402
from quorate_spark.source.tables import FoundTable  # noqa: E402

from plugins.spark.tests.fleet import MACHINES, Machine  # noqa: E402

_TABLE: Final = table_of(bind(MACHINES))
assert _TABLE is not None
TABLE: Final = _TABLE
LAST: Final = (1 << 63) - 1
UNITS: Final[tuple[MomentUnit, ...]] = ("s", "ms", "us", "ns")
BEGIN: Final = datetime(1970, 1, 1, tzinfo=UTC)

#: No row is sent.
NONE: Any = None
found_of = partial(
    FoundTable,
    name="fleet.machines",
    write=NONE,
    items=NONE,
    delete=None,
    row=Machine,
    declared=(),
)


def packed(rows: list[Any]) -> PackedRows:
    """Return machines as a node sends them."""

    def ends(parts: list[bytes]) -> bytes:
        return pack(f"<{len(parts)}I", *accumulate(map(len, parts)))

    found = [keys.pack(each.rack, each.seen_at_ms) for each in rows]
    stored = [pack(">Q", 1) + each.SerializeToString() for each in rows]
    return PackedRows(
        keys=b"".join(found), key_ends=ends(found), rows=b"".join(stored), row_ends=ends(stored)
    )


def decoded(rows: list[Any], table: Table = TABLE, names: tuple[str, ...] = ()) -> Any:
    batch = Decoder(found_of(table=table), names).batch(packed(rows))
    batch.validate(full=True)
    return batch


def microseconds(rows: list[Any], name: str, table: Table = TABLE) -> list[int | None]:
    found: list[int | None] = decoded(rows, table, (name,)).column(0).cast(pa.int64()).to_pylist()
    return found


@pytest.mark.parametrize("plain", [False, True], ids=["one by one", "at once"])
def test_moments_of_rows_are_microseconds(plain: bool) -> None:
    table = replace(TABLE, plain=plain)
    read = partial(microseconds, table=table)
    ms = [Machine(rack="a", due_at_ms=each) for each in (0, 5, LAST // 1_000, LAST, 2 * LAST + 1)]
    us = [Machine(began_at_us=each) for each in (0, -1, LAST, -LAST - 1)]
    ns = [Machine(ticked_at_ns=each) for each in (0, 1_999, -1, LAST)]
    s = [Machine(retired_at_s=each) for each in (0, -1, (1 << 31) - 1)]
    some = [Machine(), Machine(ended_at_ms=0), Machine(ended_at_ms=-5)]

    most = LAST // 1_000 * 1_000
    assert read(ms, "due_at_ms") == [None, 5_000, most, most, most]
    assert read(us, "began_at_us") == [None, -1, LAST, -LAST]
    assert read(ns, "ticked_at_ns") == [None, 1, -1, LAST // 1_000]
    assert read(s, "retired_at_s") == [None, -1_000_000, ((1 << 31) - 1) * 1_000_000]
    # A field that tells absence from 0 has the beginning of 1970.
    assert read(some, "ended_at_ms") == [None, 0, -5_000]
    # So has a key, which is never absent.
    seen = [Machine(rack="a", seen_at_ms=each) for each in (0, 7, -7, LAST)]
    assert read(seen, "seen_at_ms") == [0, 7_000, -7_000, most]


def test_timestamps_of_rows_are_cut_to_microseconds() -> None:
    rows = [Machine() for _ in range(4)]
    rows[1].checked.SetInParent()
    rows[2].checked.seconds, rows[2].checked.nanos = 253_402_300_799, 999_999_999
    rows[3].checked.seconds, rows[3].checked.nanos = -62_135_596_800, 1_500

    last = 253_402_300_799_999_999
    assert microseconds(rows, "checked") == [None, 0, last, -62_135_596_800_000_000 + 1]
    # What no `Timestamp` should hold is read all the same.
    rows[1].checked.seconds = LAST
    assert microseconds(rows, "checked")[1] == LAST


def test_maps_of_rows() -> None:
    row = Machine(
        labels={"b": "2", "a": ""},
        counts={-1: (1 << 63) - 1},
        states={"x": 1, "y": 7},
        parts={"p": b"\0"},
    )
    names = ("labels", "counts", "states", "parts")
    batch = decoded([row, Machine()], names=names)

    assert [each.to_pylist() for each in batch.columns] == [
        [[("a", ""), ("b", "2")], []],
        [[(-1, (1 << 63) - 1)], []],
        # A word that a newer release has stored.
        [[("x", "UP"), ("y", None)], []],
        [[("p", b"\0")], []],
    ]


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata"])
def test_values_for_the_table_are_in_its_unit(zone: str) -> None:
    given = pa.array([1_999, -1, None], pa.timestamp("us", zone))
    wanted = {"s": [0, -1], "ms": [1, -1], "us": [1_999, -1], "ns": [1_999_000, -1_000]}
    for unit in UNITS:
        column = Column(name="m", type="long", nullable=True, moment=unit)
        assert columns.values(column, columns.cast(given, column)) == [*wanted[unit], None]
        # Numbers are in the unit.
        numbers = pa.array([7, None], pa.int32())
        assert columns.values(column, columns.cast(numbers, column)) == [7, None]


def test_what_is_written_is_read_again() -> None:
    row = ("a", -5, {"a": "b"}, {1: 2}, {"x": "UP"}, {"p": b"\0"}, 7, 8, 0, 10, 11, 12_000, b"z")
    empty = ("a", 1, *[None] * 11)
    read = [
        TABLE.from_row(b"", each.SerializeToString())
        for each in (TABLE.to_item(*row), TABLE.to_item(*empty))
    ]

    assert read[0] == row
    assert read[1] == ("a", 1, {}, {}, {}, {}, *[None] * 6, b"")


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("labels", {"a": None}, "labels: has a value that is null"),
        ("states", {"x": "SIDEWAYS"}, "has a value that must be null or one of UP, DOWN"),
        ("counts", {1: -1}, "counts: has a value that must be from 0 to"),
        ("counts", {1 << 31: 1}, "counts: has a key that must be from"),
        ("due_at_ms", -1, "due_at_ms: must be from 0 to"),
        ("checked", 253_402_300_800 * 10**9, "checked: must be of the years 1 to 9999"),
    ],
)
def test_values_that_no_row_holds_are_refused(name: str, value: object, why: str) -> None:
    given: dict[str, Any] = dict.fromkeys(each.name for each in TABLE.columns)
    given |= {"rack": "a", "seen_at_ms": 1, name: value}
    with pytest.raises(Invalid) as refused:
        TABLE.to_item(*given.values())

    assert why in str(refused.value)


TEXTS: Final = spark.MapType(spark.StringType(), spark.StringType(), False)


@pytest.mark.parametrize(
    ("name", "kind", "why"),
    [
        ("due_at_ms", spark.TimestampType(), ""),
        ("due_at_ms", spark.LongType(), ""),
        ("due_at_ms", spark.TimestampNTZType(), "due_at_ms is timestamp_ntz and must be timestamp"),
        ("due_at_ms", spark.DateType(), "due_at_ms is date and must be timestamp"),
        ("labels", TEXTS, ""),
        ("parts", TEXTS, ""),
        ("counts", TEXTS, "counts is map<string,string> and must be map<int,long>"),
        ("labels", spark.StringType(), "labels is string and must be map<string,string>"),
    ],
)
def test_columns_that_fit(name: str, kind: spark.DataType, why: str) -> None:
    key = [("rack", spark.StringType()), ("seen_at_ms", spark.TimestampType())]
    schema = spark.StructType([spark.StructField(*each) for each in [*key, (name, kind)]])
    if not why:
        columns.check("fleet.machines", TABLE, schema)
        return
    with pytest.raises(SourceError) as refused:
        columns.check("fleet.machines", TABLE, schema)

    assert why in str(refused.value)
    assert "due_at_ms timestamp" in str(refused.value)


def test_a_type_of_a_later_release_is_named_when_its_table_is_used() -> None:
    later: Any = Column(name="shape", type="geometry")  # type: ignore[arg-type]  # unknown yet
    other = replace(TABLE, columns=(*TABLE.columns, later))

    for use in (columns.spark_schema, columns.arrow_schema):
        with pytest.raises(SourceError, match="shape is of the type geometry, which this release"):
            use(other)
    assert columns.spark_schema(TABLE)["due_at_ms"].dataType == spark.TimestampType()


def test_bad_rows_are_written_with_what_python_cannot_hold() -> None:
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array([LAST], columns.MOMENT),
            pa.array([[("p", b"\xff")]], pa.map_(pa.string(), pa.binary())),
        ],
        names=["due", "parts"],
    )
    found = dead_letters.values_of(batch, 0)

    assert isinstance(found["due"], str)
    assert found["parts"] == {"p": b"\xff"}


# Filters of a moment in the key.

KEYED: Final = {
    unit: Table(
        family="acme.steps",
        columns=(Column(name="at", type="long", moment=unit),),
        key=("at",),
        write=Machine,
        to_item=Machine,
        from_row=lambda key, _: tuple(keys.unpack(key)),
        to_key=keys.pack,
    )
    for unit in UNITS
}
moments = st.integers(-3_000, 3_000).map(lambda us: BEGIN + timedelta(microseconds=us))
comparing = st.sampled_from(
    [ds.EqualTo, ds.GreaterThan, ds.GreaterThanOrEqual, ds.LessThan, ds.LessThanOrEqual]
)
of_moment = st.one_of(
    st.builds(lambda kind, value: kind(("at",), value), comparing, moments),
    st.builds(lambda values: ds.In(("at",), tuple(values)), st.lists(moments, max_size=3)),
)


@given(st.lists(of_moment, min_size=1, max_size=3))
def test_ranges_hold_the_keys_of_moments(filters: list[Any]) -> None:
    table, every = KEYED["ms"], range(-4, 5)
    assert list(ranges.pushed(table, filters)) == filters
    batch = pa.RecordBatch.from_arrays(
        [pa.array([1_000 * each for each in every], columns.MOMENT)], names=["at"]
    )
    asked = ranges.passes(batch, filters).column(0).cast(pa.int64()).to_pylist()
    found = ranges.of_filters(table, filters)
    packed = [(1_000 * each, keys.pack(each)) for each in every]
    held = [
        us
        for us, key in packed
        if any(key >= each.start and (each.end is None or key < each.end) for each in found)
    ]

    assert set(asked) <= set(held)
    if len(filters) == 1:
        # No key is read in vain but the one at an edge.
        assert len(held) - len(asked) <= 1


def test_filters_that_are_left_to_spark() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    others = [
        ds.EqualTo(("at",), 5),
        ds.EqualTo(("at",), datetime(2026, 1, 1)),
        ds.In(("at",), (at, None)),
    ]

    assert ranges.pushed(KEYED["ms"], others) == ()
    # Several keys are one timestamp.
    assert ranges.pushed(KEYED["ns"], [ds.EqualTo(("at",), at)]) == ()
    assert ranges.pushed(TABLE, [ds.EqualTo(("due_at_ms",), at)]) == ()
