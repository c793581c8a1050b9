from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from quorate.apply.slot_set import SlotSet
from quorate.plugin.slots import (
    BITMAP_BYTES,
    SLOTS,
    KeySlots,
    bitmap_of,
    even_cut,
    slot_of,
    slots_in,
    slots_of,
)


def test_a_key_has_one_slot_for_ever() -> None:
    assert [slot_of(key) for key in (b"", b"a", b"topic/1")] == [0, 579, 929]


@given(st.lists(st.binary()))
def test_many_keys_have_the_slots_of_each(shard_keys: list[bytes]) -> None:
    assert slots_of(shard_keys) == [slot_of(key) for key in shard_keys]


@given(st.lists(st.binary()))
def test_the_slots_of_keys_are_in_order_and_each_once(shard_keys: list[bytes]) -> None:
    slots = KeySlots(iter(shard_keys))
    assert tuple(slots) == tuple(sorted(set(slots_of(shard_keys))))
    assert len(slots) == len(tuple(slots))
    assert slots[:2] == tuple(slots)[:2]


@given(st.integers(1, SLOTS))
def test_every_slot_of_a_new_group_has_one_shard_and_shards_are_even(shards: int) -> None:
    cut = [slots_in(bitmap) for bitmap in even_cut(shards)]
    assert sorted(slot for slots in cut for slot in slots) == list(range(SLOTS))
    assert max(map(len, cut)) - min(map(len, cut)) <= 1
    assert all(shard == slot * shards // SLOTS for shard, slots in enumerate(cut) for slot in slots)


@given(st.sets(st.integers(0, SLOTS - 1)))
def test_a_bitmap_holds_its_slots_and_reads_as_the_shard_reads_it(slots: set[int]) -> None:
    bitmap = bitmap_of(slots)
    assert len(bitmap) == BITMAP_BYTES
    assert slots_in(bitmap) == sorted(slots)
    assert SlotSet(bitmap=bitmap).owned == slots


def test_the_order_of_bits_is_fixed() -> None:
    assert bitmap_of([0, 9, 1023]) == b"\x01\x02" + bytes(125) + b"\x80"


def test_what_cannot_be_is_refused() -> None:
    with pytest.raises(ValueError, match="1 to 1024 shards, not 0"):
        even_cut(0)
    with pytest.raises(ValueError, match="no slot 1024"):
        bitmap_of([1024])
    with pytest.raises(ValueError, match="128 bytes, not 3"):
        slots_in(b"abc")
