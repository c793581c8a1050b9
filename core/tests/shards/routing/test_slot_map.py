from __future__ import annotations

import pytest
from quorate.consensus.messages import Peer
from quorate.plugin.shard_id import METADATA, ShardId
from quorate.plugin.slots import SLOTS, bitmap_of, slot_of
from quorate.shards.refusals import UnknownShardError
from quorate.shards.routing.slot_map import SlotMap
from quorate.v1.control_pb2 import ShardMember, ShardRow


def test_the_shard_of_the_map_itself_is_always_known() -> None:
    empty = SlotMap(0, [])
    assert {empty.holder("metadata", slot) for slot in range(SLOTS)} == {METADATA}
    assert empty.shards("metadata") == (METADATA,)
    assert empty.members(METADATA) == ()


def test_rows_say_where_slots_and_replicas_are() -> None:
    members = [ShardMember(node="a", replica=7), ShardMember(node="b", replica=8)]
    first = ShardRow(group="kv", number=0, slots=bitmap_of(range(1000)), members=members)
    second = ShardRow(group="kv", number=1, slots=bitmap_of([1000]))
    slot_map = SlotMap(5, [second, first])

    assert slot_map.shards("kv") == (ShardId("kv", 0), ShardId("kv", 1))
    assert slot_map.holder("kv", 999) == ShardId("kv", 0)
    assert slot_map.holder("kv", 1000) == ShardId("kv", 1)
    assert slot_map.place("kv", b"a") == slot_map.holder("kv", slot_of(b"a"))
    assert slot_map.members(ShardId("kv", 0)) == (Peer("a", 7), Peer("b", 8))
    assert slot_map.others(ShardId("kv", 0), "a") == ["b"]
    with pytest.raises(UnknownShardError, match="no row for a slot of group kv"):
        slot_map.holder("kv", 1001)


def test_what_has_no_row_is_unknown() -> None:
    with pytest.raises(UnknownShardError, match="a slot of group kv"):
        SlotMap(0, []).shards("kv")
    with pytest.raises(UnknownShardError, match="kv/3") as raised:
        SlotMap(0, []).members(ShardId("kv", 3))
    assert (raised.value.group, raised.value.number) == ("kv", 3)


def test_a_founded_map_cuts_every_group_evenly() -> None:
    slot_map = SlotMap.initial({"kv": 4, "metadata": 1})
    assert [slot_map.holder("kv", slot).number for slot in (0, 255, 256, 1023)] == [0, 0, 1, 3]


def test_the_only_shard_of_a_group_is_known_that_owns_all_of_its_slots() -> None:
    assert SlotMap.initial({"kv": 4, "mqtt": 1}).only == {
        "metadata": METADATA,
        "mqtt": ShardId("mqtt", 0),
    }
    part = ShardRow(group="kv", number=0, slots=bitmap_of(range(SLOTS - 1)))
    assert "kv" not in SlotMap(1, [part]).only
