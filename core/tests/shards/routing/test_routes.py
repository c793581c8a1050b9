from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from quorate.apply.entries import LoggedCommand
from quorate.config.sections import LimitsSection
from quorate.plugin import Command, Invalid, Rejected, Txn, keys
from quorate.plugin.batch_split import ShardCommand
from quorate.plugin.catalog import Catalog
from quorate.plugin.shard_id import ShardId
from quorate.plugin.slots import slot_of
from quorate.shards.refusals import UnknownShardError
from quorate.shards.routing import routes as routing
from quorate.shards.routing.slot_map import SlotMap
from quorate.topology.commands.routes import ROUTES
from quorate.v1.batch_pb2 import BatchReply
from quorate.v1.control_pb2 import OpenSession

LIMITS = LimitsSection(key_bytes=20, value_bytes=100, command_bytes=1_000, batch_items=4)
WRITE, ERASE = "kit_sample.v1.WriteNote", "kit_sample.v1.EraseNote"


def check(catalog: Catalog, message: Any) -> None:
    routing.check(catalog.commands[message.DESCRIPTOR.full_name], message, LIMITS)


def test_a_command_goes_to_the_shard_of_its_key(catalog: Catalog, pb: Any) -> None:
    slot_map = SlotMap.initial({"sample": 4})
    message = pb.WriteNote(owner="ada")
    [part] = routing.route(catalog.commands[WRITE], message, slot_map, LIMITS)
    assert part.slots == (slot_of(keys.pack("ada")),)
    assert part.shard == slot_map.place("sample", keys.pack("ada"))


def test_a_group_without_shards_is_unknown(catalog: Catalog, pb: Any) -> None:
    with pytest.raises(UnknownShardError, match="group sample"):
        routing.route(catalog.commands[WRITE], pb.WriteNote(owner="a"), SlotMap(0, []), LIMITS)


def test_what_is_too_large_is_refused_by_its_field(
    catalog: Catalog, pb: Any, batch: Callable[[str], Any]
) -> None:
    check(catalog, pb.WriteNote(owner="a", text="t" * 100))
    with pytest.raises(Invalid, match=r"text: 101 bytes; at most 100 allowed"):
        check(catalog, pb.WriteNote(owner="a", text="t" * 101))
    with pytest.raises(Invalid, match=r"text: 102 bytes"):
        check(catalog, pb.WriteNote(owner="a", text="\N{LATIN SMALL LETTER E WITH ACUTE}" * 51))
    notes = [pb.WriteNote(owner="a"), pb.WriteNote(owner="b", text="t" * 101)]
    with pytest.raises(Invalid, match=r"notes\[1\]\.text: 101 bytes"):
        check(catalog, pb.WriteNotes(notes=notes))
    with pytest.raises(Invalid, match=r"command: .* has 1\d{3} bytes; at most 1000"):
        check(catalog, pb.WriteNote(owner="a", text="t" * 1_000))
    check(catalog, batch("abcd"))
    with pytest.raises(Invalid, match="notes: a batch of 5 items; at most 4 allowed"):
        check(catalog, batch("abcde"))
    slot_map = SlotMap.initial({"sample": 1})
    with pytest.raises(Invalid, match=r"shard_key: .* a shard key of 23 bytes; at most 20"):
        routing.route(catalog.commands[WRITE], pb.WriteNote(owner="a" * 21), slot_map, LIMITS)


def test_a_plugin_judges_its_own_message(catalog: Catalog, pb: Any) -> None:
    with pytest.raises(Invalid, match="owner: must not be empty"):
        check(catalog, pb.WriteNote())


class ReadNotes:
    def __init__(self, command: Any) -> None:
        self.keys = self.shard_keys = [keys.pack(note.owner) for note in command.notes]

    def apply(self, txn: Txn) -> BatchReply:
        raise NotImplementedError


def test_what_its_plugin_has_read_is_not_judged_again(
    catalog: Catalog, pb: Any, batch: Callable[[str], Any]
) -> None:
    def read(command: Any) -> ReadNotes | None:
        return None if command.notes[0].owner == "unusual" else ReadNotes(command)

    def judge(_: Any) -> None:
        raise Invalid("notes", "must be usual")

    command: Command[Any] = catalog.commands["kit_sample.v1.WriteNotes"]
    assert command.items is not None
    command = replace(command, validate=judge, items=replace(command.items, read=read))
    slot_map = SlotMap.initial({"sample": 1})

    found = routing.checked(command, batch("ab"), LIMITS)
    [part] = routing.route(command, batch("ab"), slot_map, LIMITS, found)

    assert isinstance(found.read, ReadNotes)
    assert (found.refused, part.read) == ((), found.read)
    assert part.payload == batch("ab").SerializeToString()
    with pytest.raises(Invalid, match="notes: must be usual"):
        routing.checked(command, pb.WriteNotes(notes=[pb.WriteNote(owner="unusual")]), LIMITS)
    with pytest.raises(Invalid, match="notes: a batch of 5 items"):
        routing.checked(command, batch("abcde"), LIMITS)


def test_what_is_left_of_a_batch_is_serialized_anew(
    catalog: Catalog, batch: Callable[[str], Any]
) -> None:
    command, slot_map = catalog.commands["kit_sample.v1.WriteNotes"], SlotMap.initial({"sample": 1})

    def routed(owners: str) -> ShardCommand:
        found = routing.checked(command, batch(owners), LIMITS)
        [part] = routing.route(command, batch(owners), slot_map, LIMITS, found)
        return part

    whole, rest = routed("ab"), routed("aba")
    assert (whole.payload, whole.message) == (batch("ab").SerializeToString(), batch("ab"))
    assert (rest.payload, rest.message) == (None, batch("ab"))
    assert tuple(whole.slots) == tuple(rest.slots)


def test_public_lanes_take_public_commands_alone(catalog: Catalog, pb: Any) -> None:
    message = pb.WriteNote(owner="a")
    assert routing.parse_public(catalog, WRITE, message.SerializeToString()) == message
    with pytest.raises(Invalid, match=rf"type: .*{ERASE} is internal.*did you mean {WRITE}"):
        routing.parse_public(catalog, ERASE, b"")
    with pytest.raises(Invalid, match=r"type: .*not known here"):
        routing.parse_public(catalog, "a.Stranger", b"")
    with pytest.raises(Invalid, match="type"):
        routing.parse_public(catalog, "quorate.v1.OpenSession", b"")
    with pytest.raises(Invalid, match="command: its 1 bytes are no"):
        routing.parse_public(catalog, WRITE, b"\xff")


def knowing(command: str) -> list[str]:
    return ["n2", "n3"] if command == "quorate.v1.OpenSession" else []


def test_a_forwarded_command_is_checked_again(
    catalog: Catalog, pb: Any, batch: Callable[[str], Any]
) -> None:
    shard = ShardId("sample", 0)

    def forwarded(message: Any, *slots: int, shard: ShardId = shard) -> None:
        logged = LoggedCommand(message.DESCRIPTOR.full_name, message.SerializeToString(), slots)
        routing.check_forwarded(catalog, ROUTES, shard, logged, LIMITS, knowing)

    slots = sorted({slot_of(keys.pack(owner)) for owner in "ab"})
    forwarded(batch("ab"), *slots)
    with pytest.raises(Invalid, match=r"slots: .* touches other slots"):
        forwarded(batch("ab"), slots[0])
    with pytest.raises(Invalid, match="slots"):
        forwarded(pb.WriteNote(owner="a"), slot_of(keys.pack("a")) ^ 1)
    with pytest.raises(Invalid, match=r"shard: .* belongs to group sample, and was sent to kv/0"):
        forwarded(batch("ab"), *slots, shard=ShardId("kv", 0))
    with pytest.raises(Invalid, match="owner"):
        forwarded(pb.WriteNote(), slot_of(keys.pack("")))
    with pytest.raises(Invalid, match="notes: a batch of 5"):
        forwarded(batch("abcde"))
    with pytest.raises(Rejected, match=r"knows command quorate.v1.OpenSession; known to: n2, n3;"):
        forwarded(OpenSession())


def test_without_a_slot_goes_core_alone(catalog: Catalog) -> None:
    shard = ShardId("sample", 0)
    opening = LoggedCommand("quorate.v1.OpenSession", b"", slotless=True)
    routing.check_forwarded(catalog, ROUTES, shard, opening, LIMITS, knowing)
    smuggled = LoggedCommand(WRITE, b"", slotless=True)
    with pytest.raises(Invalid, match="needs slots"):
        routing.check_forwarded(catalog, ROUTES, shard, smuggled, LIMITS, knowing)
    # A row of core's own: logged as a command it would stop every replica.
    row = LoggedCommand("quorate.v1.ShardRow", b"", slotless=True)
    with pytest.raises(Invalid, match="needs slots"):
        routing.check_forwarded(catalog, ROUTES, shard, row, LIMITS, knowing)
    damaged = LoggedCommand("quorate.v1.OpenSession", b"\xff", slotless=True)
    with pytest.raises(Invalid, match=r"command: its 1 bytes are not a quorate\.v1\.OpenSession"):
        routing.check_forwarded(catalog, ROUTES, shard, damaged, LIMITS, knowing)
