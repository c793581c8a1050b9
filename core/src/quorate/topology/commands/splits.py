"""Splits of shards: recorded in metadata/0, and carried out in the shard that is split."""

from collections.abc import Sequence
from itertools import islice
from typing import Final

from quorate.apply import cuts, deadlines, slot_set
from quorate.apply.control import ControlledShard
from quorate.apply.entries import index_of
from quorate.apply.layers import Layer
from quorate.apply.scope import Family
from quorate.apply.slot_ownership import Owns
from quorate.apply.slot_set import SlotSet
from quorate.apply.txn import ShardTxn
from quorate.plugin import Rejected, keys
from quorate.plugin.slots import bitmap_of, slots_in
from quorate.shards.topology_rows import INVALID, REFUSED, SPLITTING, replicas_of, shards
from quorate.storage.families import DEADLINE_KEYS, SHARDS, SLOTS
from quorate.storage.rows import value_of
from quorate.topology.rows import (
    MOST_SHARDS,
    NO_SLOTS,
    check_at_rest,
    check_members_stay,
    find_shard,
    next_number,
    put_shard,
    shard_row,
)
from quorate.v1 import control_pb2 as pb

#: Why a split is refused.
OVER: Final = "SPLIT_OVER"
OTHER: Final = "OTHER_SPLIT"

#: Number of rows that one command looks at for foreign slots.
_FORGOTTEN_ROWS: Final = 1_000


def check_splittable(row: pb.ShardRow | None, name: str, into: int) -> pb.ShardRow:
    """Return the row of a shard; raises `Rejected` if it cannot be split into as many."""
    row = check_at_rest(row, name, SPLITTING)
    slots = len(slots_in(row.slots))
    if into < 2 or into > slots:
        raise Rejected(
            REFUSED,
            f"shard {name} has {slots} slots: it can be split into 2 to {slots} shards, not {into}"
            if slots > 1
            else f"shard {name} has one slot, and cannot be split",
        )
    return row


def parts_of(bitmap: bytes, into: int) -> list[bytes]:
    """Return the slots of a shard in as many even parts; it keeps the first one."""
    slots = slots_in(bitmap)
    count = len(slots)
    return [
        bitmap_of(slots[count * part // into : count * (part + 1) // into]) for part in range(into)
    ]


def begin(txn: ShardTxn, command: pb.BeginSplit) -> pb.BeginSplitReply:
    """Begin a split: name the new shards, which have no slots yet."""
    name = f"{command.group}/{command.number}"
    row = check_splittable(
        find_shard(txn, command.group, command.number), name, len(command.slots) + 1
    )
    check_members_stay(txn, f"split shard {name}")
    left = set(slots_in(row.slots))
    for bitmap in command.slots:
        given = set(slots_in(bitmap))
        if not given or not given < left:
            raise Rejected(REFUSED, f"the slots of shard {name} have changed: try again")
        left -= given
    known = [each for each in shards(txn) if each.group == command.group]
    if command.most_shards:
        _check_unordered(txn, command, sum(not each.merged_into for each in known))
    first = next_number(known)
    if first + len(command.slots) > MOST_SHARDS:
        raise Rejected(REFUSED, f"group {command.group} has no more than {MOST_SHARDS} shards")
    row.split.number = txn.revision
    for number, bitmap in enumerate(command.slots, first):
        row.split.parts.add(number=number, slots=bitmap)
        part = pb.ShardRow(
            group=row.group,
            number=number,
            slots=NO_SLOTS,
            version=row.version + 1,
            replicas=replicas_of(row),
            parent=pb.ShardParent(number=row.number, split=txn.revision),
        )
        put_shard(txn, part)
    row.drawn = first + len(command.slots) - 1
    put_shard(txn, row)
    return pb.BeginSplitReply(
        split=row.split.number, numbers=[part.number for part in row.split.parts]
    )


def _check_unordered(txn: ShardTxn, command: pb.BeginSplit, known: int) -> None:
    if known + len(command.slots) > command.most_shards:
        raise Rejected(
            REFUSED,
            f"group {command.group} has {known} shards: set [groups.{command.group}] most_shards to"
            " more on every node",
        )
    for each in shards(txn):
        if each.HasField("split"):
            raise Rejected(OTHER, f"shard {each.group}/{each.number} is being split")


def finish(txn: ShardTxn, command: pb.FinishSplit) -> None:
    """End a split: the new shards get their slots, or were never there."""
    row = shard_row(txn, command.group, command.number)
    if not row.HasField("split") or row.split.number != command.split:
        raise Rejected(OVER, f"this split of shard {command.group}/{command.number} has ended")
    parts = list(row.split.parts)
    row.ClearField("split")
    if not command.index:
        _forget(txn, row.group, parts)
        put_shard(txn, row)
        return
    row.version += 1
    row.slots = bitmap_of(
        set(slots_in(row.slots)).difference(*(slots_in(part.slots) for part in parts))
    )
    put_shard(txn, row)
    for part in parts:
        new = shard_row(txn, row.group, part.number)
        new.slots, new.version, new.parent.index = part.slots, row.version, command.index
        put_shard(txn, new)


def drop(txn: ShardTxn, row: pb.ShardRow) -> None:
    """Take back the split of a shard that begins anew: it owns all its slots again."""
    if not row.HasField("split"):
        return
    _forget(txn, row.group, list(row.split.parts))
    row.ClearField("split")
    # A replica that was cut had the next version.
    row.version += 2


def _forget(txn: ShardTxn, group: str, parts: list[pb.ShardPart]) -> None:
    for part in parts:
        txn.delete(SHARDS, keys.pack(group, part.number))


def cut_shard(txn: ShardTxn, command: pb.CutShard, shard: ControlledShard) -> None:
    """Give slots away to the new shards of a split."""
    shard.demand_open()
    state, cut = shard.state, cuts.last_cut(txn.layer)
    if cut is not None and cut.split >= command.split:
        return
    if cuts.abandoned(txn.layer) >= command.split:
        raise Rejected(OVER, f"this split of shard {shard.id} was taken back")
    given = set[int]()
    for part in command.parts:
        slots = _slots_of(part.slots)
        if not slots or not given.isdisjoint(slots):
            raise Rejected(INVALID, "each new shard needs slots of its own")
        given |= slots
    kept = state.slots.owned - given
    if not given < state.slots.owned or command.version <= state.slots.version:
        raise Rejected(
            INVALID,
            f"shard {shard.id} does not own these slots and others in version"
            f" {state.slots.version} of them",
        )
    done = pb.CutShard()
    done.CopyFrom(command)
    done.index = index_of(txn.revision)
    state.slots, state.foreign = SlotSet(command.version, bitmap_of(kept)), True
    txn.layer.put(SLOTS, slot_set.KEY, state.slots.encode())
    txn.layer.put(SLOTS, cuts.CUT, done.SerializeToString(deterministic=True))
    txn.layer.put(SLOTS, cuts.FOREIGN, cuts.Forgotten().encode())


def abandon_split(txn: ShardTxn, command: pb.AbandonSplit, shard: ControlledShard) -> None:
    """Cancel a split; refused once the shard was cut."""
    cut = cuts.last_cut(txn.layer)
    if cut is not None and cut.split == command.split:
        raise Rejected(OVER, f"shard {shard.id} was cut already: the split goes on")
    if cuts.abandoned(txn.layer) < command.split:
        txn.layer.put(SLOTS, cuts.ABANDONED, cuts.abandoned_row(command.split))


def forget_slots(txn: ShardTxn, _: pb.ForgetSlots, shard: ControlledShard) -> pb.ForgetSlotsReply:
    """Delete the next rows and deadlines of slots that the shard does not own, without events."""
    shard.demand_open()
    row = txn.layer.get(SLOTS, cuts.FOREIGN)
    if row is None:
        return pb.ForgetSlotsReply(done=True)
    at, looked = cuts.Forgotten.decode(row), 0
    # Deadlines first: foreign ones are skipped again each time that one is due.
    families = [DEADLINE_KEYS, *sorted(shard.program.ownership.families)]
    for family in families[families.index(at.family) if at.family in families else 0 :]:
        after = at.key + b"\x00" if family == at.family else b""
        left = _FORGOTTEN_ROWS - looked
        rows = list(islice(shard.stored.iterate(family, after, None), left))
        looked += len(rows)
        if family == DEADLINE_KEYS:
            _forget_deadlines(txn.layer, [key for key, _ in rows], shard)
        else:
            _forget_rows(txn, family, rows, shard)
        if len(rows) == left:
            txn.layer.put(SLOTS, cuts.FOREIGN, cuts.Forgotten(family, rows[-1][0]).encode())
            return pb.ForgetSlotsReply(rows=looked)
    txn.layer.delete(SLOTS, cuts.FOREIGN)
    shard.state.foreign = False
    return pb.ForgetSlotsReply(rows=looked, done=True)


def _forget_deadlines(layer: Layer, keyed: Sequence[bytes], shard: ControlledShard) -> None:
    owners: dict[bytes, Owns | None] = {}
    for each in keyed:
        timer, _, key = each.partition(b"\x00")
        if timer not in owners:
            owners[timer] = shard.program.ownership.timer_owner(
                timer.decode(), shard.state.slots.owned
            )
        owns = owners[timer]
        if owns is not None and not owns(key):
            deadlines.schedule(layer, timer.decode(), key, None)


def _forget_rows(
    txn: ShardTxn, family: str, rows: Sequence[tuple[bytes, bytes]], shard: ControlledShard
) -> None:
    program = shard.program
    owns = program.ownership.owner(family, shard.state.slots.owned)
    public = family in program.watched
    gone = {key: value for key, value in rows if owns is not None and not owns(key)}
    stored = Family(family, public=public, counted=family in program.counted)
    for key in gone:
        txn.forget(stored, key)
    values = {key: value_of(value) if public else value for key, value in gone.items()}
    if gone:
        shard.depart(txn.layer, family, values)


def _slots_of(bitmap: bytes) -> frozenset[int]:
    try:
        return frozenset(slots_in(bitmap))
    except ValueError as error:
        raise Rejected(INVALID, str(error)) from None
