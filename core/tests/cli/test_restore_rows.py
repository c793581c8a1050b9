"""What a row is made of again that was there once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.empty_pb2 import Empty
from quorate.apply import slot_set
from quorate.apply.slot_set import SlotSet
from quorate.cli.restore_rows import _finding
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
