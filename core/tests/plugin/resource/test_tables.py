"""The table that is derived of a resource: what its columns are, and which rows have none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from quorate.plugin import Invalid, Resource
from quorate.plugin.advanced import Column, Table
from quorate.plugin.moments import from_us, to_us, unit_of
from quorate.plugin.resource import bind
from quorate.plugin.resource.tables import table_of

if TYPE_CHECKING:
    from core.tests.plugin.resource.conftest import Proto

TEXT = """
Part: string name
Thing: string name, {fields}
PutThings: repeated Thing things
List: string prefix, uint32 page_size, bytes page_token
Page: repeated Thing things, bytes next_page_token
rpc PutBatch(PutThings) BatchReply
rpc List(List) Page
"""

Made = Callable[[str], Table | None]


@pytest.fixture
def made(proto: Callable[[str], Proto]) -> Made:
    """Return the table of a resource whose rows have these fields."""

    def of(fields: str) -> Table | None:
        pb: Any = proto(TEXT.format(fields=fields))
        resource = Resource(family="things.things", row=pb.Thing, service=pb.service, key=("name",))
        return table_of(bind(replace(resource, examples=(pb.Thing(name="a"),))))

    return of


def columns_of(table: Table | None) -> list[Column]:
    assert table is not None
    assert table.columns[0] == Column(name="name", type="string")
    return list(table.columns[1:])


def test_names_of_fields_say_which_are_moments(made: Made) -> None:
    fields = (
        "uint64 ends_at_ms, int64 held_since_us, uint32 due_at_s, int64 ttl_ms, string it_at_ms"
    )
    moments = {each.name: each.moment for each in columns_of(made(fields))}

    assert moments == {
        "ends_at_ms": "ms",
        "held_since_us": "us",
        "due_at_s": "s",
        "ttl_ms": None,
        "it_at_ms": None,
    }


def test_a_moment_that_is_never_is_null(made: Made) -> None:
    table = made("uint64 ends_at_ms, Timestamp checked")
    assert table is not None
    rows: list[tuple[Any, ...]] = [
        ("a", None, None),
        ("b", 7, 0),
        ("c", 1, -1),
        ("d", 1, 10**18 + 1),
    ]

    for row in rows:
        stored = table.to_item(*row).SerializeToString()
        assert table.from_row(b"", stored) == row
    assert table.from_row(b"", table.to_item("a", 0, None).SerializeToString())[1] is None
    with pytest.raises(Invalid, match="must be of the years 1 to 9999"):
        table.to_item("a", 1, 1 << 70)


def test_maps_have_keys_and_values(made: Made) -> None:
    table = made("map string uint32 counts, map int64 bytes parts")
    assert columns_of(table) == [
        Column(name="counts", type="long", nullable=True, map_key="string"),
        Column(name="parts", type="binary", nullable=True, map_key="long"),
    ]
    assert table is not None

    row = ("a", {"x": 1, "y": 0}, {-1: b"\0"})
    assert table.from_row(b"", table.to_item(*row).SerializeToString()) == row
    assert table.from_row(b"", table.to_item("a", None, {}).SerializeToString()) == ("a", {}, {})
    # They are not found by the path of one field.
    assert not table.plain
    with pytest.raises(Invalid, match="counts: has a value that must be from 0 to"):
        table.to_item("a", {"x": -1}, None)


@pytest.mark.parametrize("fields", ["repeated string names", "Part part", "FieldMask mask"])
def test_lists_and_messages_are_no_columns(made: Made, fields: str) -> None:
    assert made(fields) is None


@pytest.mark.parametrize(
    ("name", "unit"),
    [("at_ms", None), ("seen_at_ms", "ms"), ("seen_at_m", None), ("since_ms", None), ("ms", None)],
)
def test_units_of_names(name: str, unit: str | None) -> None:
    assert unit_of(name) == unit


def test_units_are_cut_towards_the_past() -> None:
    assert [to_us(-1, unit) for unit in ("s", "ms", "us", "ns")] == [-1_000_000, -1_000, -1, -1]
    assert [from_us(-1, unit) for unit in ("s", "ms", "us", "ns")] == [-1, -1, -1, -1_000]
    assert from_us(1_999, "ms") == 1
