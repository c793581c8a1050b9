from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from quorate.plugin import Invalid, Txn, keys
from quorate.plugin.batch_split import ShardCommand, ShardReply, join, refused, split, within
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import slot_of
from quorate.shards.routing.slot_map import SlotMap
from quorate.v1.batch_pb2 import BatchReply

Batch = Callable[[str], Any]


def cut(catalog: Catalog, message: Any, shards: int, **options: Any) -> list[ShardCommand]:
    slot_map = SlotMap.initial({"sample": shards})
    command = catalog.commands["kit_sample.v1.WriteNotes"]
    return split(command, message, lambda slot: slot_map.holder("sample", slot), **options)


def echoed(part: ShardCommand) -> ShardReply:
    owners = [note.owner.encode() for note in part.message.notes]  # type: ignore[attr-defined]
    reply = BatchReply(items=len(owners), replies=owners)
    return ShardReply(command=part, revision=100 + part.shard.number, reply=reply)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.characters(codec="ascii"), unique=True), st.integers(1, 20))
def test_what_is_split_is_joined_in_the_order_of_the_request(
    catalog: Catalog, batch: Batch, owners: list[str], shards: int
) -> None:
    parts = cut(catalog, batch("".join(owners)), shards)

    assert [part.shard for part in parts] == sorted({part.shard for part in parts})
    for part in parts:
        named = [note.owner for note in part.message.notes]  # type: ignore[attr-defined]
        assert named == [owners[position] for position in part.positions]
        assert set(part.slots) == {slot_of(keys.pack(owner)) for owner in named}
    reply = join([echoed(part) for part in reversed(parts)])
    assert [each.decode() for each in reply.replies] == owners
    assert [each.shard for each in reply.revisions] == [part.shard.number for part in parts]


def test_a_batch_of_one_shard_is_not_made_anew(catalog: Catalog, batch: Batch) -> None:
    message = batch("abc")
    [part] = cut(catalog, message, 1)
    assert part.message is message
    assert part.positions == (0, 1, 2)


class ReadOwners:
    """What is read of a batch: its keys are not those of its items, to be told apart."""

    def __init__(self, *owners: str) -> None:
        self.keys = self.shard_keys = [keys.pack(owner) for owner in owners]

    def apply(self, txn: Txn) -> BatchReply:
        raise NotImplementedError


def test_what_was_read_of_a_batch_goes_on_with_the_whole_of_it_alone(
    catalog: Catalog, batch: Batch
) -> None:
    read = ReadOwners("x", "y", "z")

    [whole] = cut(catalog, batch("abc"), 1, read=read)
    parts = cut(catalog, batch("abc"), 20, read=read)
    [rest] = cut(catalog, batch("abc"), 1, read=ReadOwners("x", "x", "z"))

    assert whole.read is read
    assert set(whole.slots) == {slot_of(keys.pack(owner)) for owner in "xyz"}
    assert len(parts) == 3
    assert [part.read for part in parts] == [None] * 3
    assert (rest.positions, rest.read) == ((0, 2), None)
    assert "has the key of notes[0]" in rest.refused[0].message


def test_refused_items_stand_at_their_place(catalog: Catalog, batch: Batch) -> None:
    parts = cut(catalog, batch("abcdefgh"), 4)
    answers = [echoed(part) for part in parts]
    lost = parts[1]
    answers[1] = ShardReply(command=lost, revision=0, reply=refused(lost, "GONE", "why"))

    reply = join(answers)

    assert [refusal.item for refusal in reply.refusals] == list(lost.positions)
    assert {(refusal.code, refusal.message) for refusal in reply.refusals} == {("GONE", "why")}
    assert [each.shard for each in reply.revisions] == [0, 2, 3]
    assert [reply.replies[position] for position in lost.positions] == [b""] * len(lost.positions)


def test_a_part_that_is_cut_again_keeps_the_positions_of_the_request(
    catalog: Catalog, batch: Batch
) -> None:
    message = batch("abcdefgh")
    [first, second] = cut(catalog, message, 2)
    parts = [within(first, each) for each in cut(catalog, first.message, 8)]
    reply = join([echoed(each) for each in (*parts, second)])
    assert b"".join(reply.replies) == b"abcdefgh"


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        (BatchReply(items=2), "answered 2 items of 3"),
        (BatchReply(items=3, replies=[b""]), "1 replies for 3 items"),
        (BatchReply(items=3, refusals=[{"item": 3}]), "refused item 3"),
    ],
)
def test_a_part_that_is_not_answered_item_by_item_is_found(
    catalog: Catalog, batch: Batch, reply: BatchReply, wrong: str
) -> None:
    [part] = cut(catalog, batch("abc"), 1)
    with pytest.raises(ValueError, match=wrong):
        join([ShardReply(command=part, revision=1, reply=reply)])


@pytest.mark.parametrize("shards", [1, 2, 7])
def test_an_item_that_repeats_a_key_is_refused_in_its_place(
    catalog: Catalog, batch: Batch, shards: int
) -> None:
    parts = cut(catalog, batch("abacba"), shards)
    assert sum(len(part.positions) for part in parts) == 3
    cut_again = [within(each, part) for each in parts for part in cut(catalog, each.message, 9)]

    for answered in (parts, cut_again):
        reply = join([echoed(part) for part in answered])
        assert reply.items == 6
        assert list(reply.replies) == [b"a", b"b", b"", b"c", b"", b""]
        assert [(each.item, each.code, each.message) for each in reply.refusals] == [
            (2, "INVALID_ARGUMENT", "notes[2]: has the key of notes[0]; name each once"),
            (4, "INVALID_ARGUMENT", "notes[4]: has the key of notes[1]; name each once"),
            (5, "INVALID_ARGUMENT", "notes[5]: has the key of notes[0]; name each once"),
        ]


def test_keys_are_not_too_long(catalog: Catalog, pb: Any) -> None:
    notes = [pb.WriteNote(owner=owner) for owner in ("a", "b" * 10)]

    [part] = cut(catalog, pb.WriteNotes(notes=notes), 1, key_bytes=10)

    assert part.positions == (0,)
    [refusal] = part.refused
    assert (refusal.item, refusal.code) == (1, "INVALID_ARGUMENT")
    assert refusal.message.startswith("notes[1]: item 1 has a key of 12 bytes; at most 10")
    with pytest.raises(Invalid, match=r"notes\[0\]: item 0 has a key of 12 bytes; at most 10"):
        cut(catalog, pb.WriteNotes(notes=notes[1:]), 1, key_bytes=10)


def test_a_key_that_only_places_an_item_is_not_too_long_either(catalog: Catalog, pb: Any) -> None:
    command = catalog.commands["kit_sample.v1.ExpireNotes"]
    message = pb.ExpireNotes(keys=[b"b" * 11])
    with pytest.raises(Invalid, match="item 0 has a key of 11 bytes"):
        split(command, message, lambda _: ShardId("sample", 0), key_bytes=10)


@pytest.mark.parametrize("shards", [1, 4])
def test_a_key_that_places_its_item_is_computed_once(
    catalog: Catalog, batch: Batch, shards: int
) -> None:
    asked: list[str] = []

    def key(note: Any) -> bytes:
        asked.append(note.owner)
        return keys.pack(note.owner)

    declared = catalog.commands["kit_sample.v1.WriteNotes"]
    assert declared.items is not None
    command = replace(declared, items=replace(declared.items, key=key, shard_key=key))
    slot_map = SlotMap.initial({"sample": shards})

    def holder(slot: int) -> ShardId:
        return slot_map.holder("sample", slot)

    parts = split(command, batch("abcd"), holder, key_bytes=100)

    assert sorted(asked) == list("abcd")
    assert parts == split(declared, batch("abcd"), holder, key_bytes=100)
    assert split(command, batch("aba"), holder)[0].refused
