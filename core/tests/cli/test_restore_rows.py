"""What a row is made of again that was there once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.empty_pb2 import Empty
from quorate.apply import slot_set
from quorate.apply.slot_set import SlotSet
from quorate.cli.restore_rows import Change, _differing, _finding
from quorate.plugin import ColumnFamily
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import BITMAP_BYTES
from quorate.storage.families import SLOTS
from quorate.storage.rows import stored

FAMILY = ColumnFamily(name="toy.toys", group="toys", row=Empty, shard_key=bytes)


class Catalog:
    families: Mapping[str, ColumnFamily] = {FAMILY.name: FAMILY}


class Rows:
    """A shard of rows that has all slots or none."""

    families = (FAMILY.name,)

    def __init__(self, value: bytes, *, owns: bool) -> None:
        slots = SlotSet(version=1, bitmap=(b"\xff" if owns else b"\x00") * BITMAP_BYTES)
        self._rows = {
            (SLOTS, slot_set.KEY): slots.encode(),
            (FAMILY.name, b"ball"): stored(1, value),
        }

    def get(self, family: str, key: bytes) -> bytes | None:
        return self._rows.get((family, key))


def test_a_row_is_that_of_the_shard_that_owns_it() -> None:
    catalog: Any = Catalog()
    shards: Any = {
        ShardId("toys", 0): Rows(b"left behind", owns=False),
        ShardId("toys", 1): Rows(b"as it is", owns=True),
    }
    find = _finding(catalog, shards)

    assert find(FAMILY.name, b"ball") == b"as it is"
    assert find(FAMILY.name, b"kite") is None


def test_rows_that_came_went_or_changed_are_told_in_the_order_of_their_keys() -> None:
    then = [(b"a", b"1"), (b"b", b"1"), (b"c", b"1")]
    now = [(b"b", b"1"), (b"c", b"2"), (b"d", b"1")]
    assert [*_differing(iter(then), iter(now))] == [
        Change(b"a", b"1", None),
        Change(b"c", b"1", b"2"),
        Change(b"d", None, b"1"),
    ]
