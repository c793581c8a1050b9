"""Splits of shards, stored in metadata/0."""

from typing import Final

from quorate.apply import members
from quorate.apply.members import (
    MOST_SHARDS,
    MOVING,
    SPLITTING,
    UNDER_WAY,
    is_changing,
    replicas_of,
)
from quorate.apply.txn import ShardTxn
from quorate.plugin import Rejected, keys
from quorate.plugin.slots import BITMAP_BYTES, bitmap_of, slots_in
from quorate.storage.families import MEMBERS, SHARDS
from quorate.v1 import control_pb2 as pb

#: Why a split is refused.
OVER: Final = "SPLIT_OVER"
OTHER: Final = "OTHER_SPLIT"
REFUSED: Final = "FAILED_PRECONDITION"

_NO_SLOTS: Final = bytes(BITMAP_BYTES)
_ALL: Final = 1 << 20
_END: Final = b"\xff" * 8


def check_splittable(row: pb.ShardRow | None, name: str, into: int) -> None:
    """Raise `Rejected` if a shard cannot be split into as many."""
    if row is None or row.merged_into:
        raise Rejected("NOT_FOUND", f"there is no shard {name}; `quorate shard list` shows all")
    if row.HasField("move"):
        raise Rejected(
            MOVING,
            f"a replica of shard {name} is moving: wait until `quorate shard balance` is over",
        )
    if is_changing(row):
        raise Rejected(
            SPLITTING,
            f"shard {name} is being split or merged: `quorate shard list` shows when it is over",
        )
    slots = len(slots_in(row.slots))
    if into < 2 or into > slots:
        raise Rejected(
            REFUSED,
            f"shard {name} has {slots} slots: it can be split into 2 to {slots} shards, not {into}"
            if slots > 1
            else f"shard {name} has one slot, and cannot be split",
        )


def parts_of(bitmap: bytes, into: int) -> list[bytes]:
    """Return the slots of a shard in as many even parts; it keeps the first one."""
    slots = slots_in(bitmap)
    count = len(slots)
    return [
        bitmap_of(slots[count * part // into : count * (part + 1) // into]) for part in range(into)
    ]


def begin(txn: ShardTxn, command: pb.BeginSplit) -> pb.BeginSplitReply:
    """Begin a split: name the new shards, which have no slots yet."""
    key, name = keys.pack(command.group, command.number), f"{command.group}/{command.number}"
    stored = txn.get(SHARDS, key)
    row = None if stored is None else pb.ShardRow.FromString(stored)
    check_splittable(row, name, len(command.slots) + 1)
    assert row is not None
    for each in txn.scan(MEMBERS, b"", _END, limit=_ALL):
        if (member := pb.MemberRow.FromString(each.value)).change:
            raise Rejected(
                UNDER_WAY, f"{member.node} is being added or removed: split shard {name} after that"
            )
    left = set(slots_in(row.slots))
    for bitmap in command.slots:
        given = set(slots_in(bitmap))
        if not given or not given < left:
            raise Rejected(REFUSED, f"the slots of shard {name} have changed: try again")
        left -= given
    rows = txn.scan(SHARDS, *keys.prefix(command.group), limit=_ALL)
    known = [pb.ShardRow.FromString(each.value) for each in rows]
    if command.most_shards:
        _check_unordered(txn, command, sum(not each.merged_into for each in known))
    first = max(max(each.number, each.drawn) for each in known) + 1
    if first + len(command.slots) > MOST_SHARDS:
        raise Rejected(REFUSED, f"group {command.group} has no more than {MOST_SHARDS} shards")
    row.split.number = txn.revision
    for number, bitmap in enumerate(command.slots, first):
        row.split.parts.add(number=number, slots=bitmap)
        part = pb.ShardRow(
            group=row.group,
            number=number,
            slots=_NO_SLOTS,
            version=row.version + 1,
            replicas=replicas_of(row),
            parent=pb.ShardParent(number=row.number, split=txn.revision),
        )
        _put(txn, part)
    row.drawn = first + len(command.slots) - 1
    _put(txn, row)
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
    for each in members.shards(txn):
        if each.HasField("split"):
            raise Rejected(OTHER, f"shard {each.group}/{each.number} is being split")


def finish(txn: ShardTxn, command: pb.FinishSplit) -> None:
    """End a split: the new shards get their slots, or were never there."""
    stored = txn.get(SHARDS, keys.pack(command.group, command.number))
    row = pb.ShardRow.FromString(stored or b"")
    if not row.HasField("split") or row.split.number != command.split:
        raise Rejected(OVER, f"this split of shard {command.group}/{command.number} has ended")
    parts = list(row.split.parts)
    row.ClearField("split")
    if not command.index:
        _forget(txn, row.group, parts)
        _put(txn, row)
        return
    row.version += 1
    row.slots = bitmap_of(
        set(slots_in(row.slots)).difference(*(slots_in(part.slots) for part in parts))
    )
    _put(txn, row)
    for part in parts:
        found = txn.get(SHARDS, keys.pack(row.group, part.number))
        new = pb.ShardRow.FromString(found or b"")
        new.slots, new.version, new.parent.index = part.slots, row.version, command.index
        _put(txn, new)


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


def _put(txn: ShardTxn, row: pb.ShardRow) -> None:
    txn.put(SHARDS, keys.pack(row.group, row.number), row.SerializeToString(deterministic=True))
