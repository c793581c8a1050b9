"""Merges of shards, stored in metadata/0."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from quorate.apply import members, publications
from quorate.apply.file_sets import PUBLISHING
from quorate.apply.members import MERGING, MOVING, UNDER_WAY, is_changing, replicas_of
from quorate.apply.txn import ShardTxn
from quorate.plugin import METADATA_GROUP, Rejected, keys
from quorate.plugin.slots import BITMAP_BYTES, bitmap_of, slots_in
from quorate.storage.families import MEMBERS, SHARDS
from quorate.v1 import control_pb2 as pb

#: Why a merge is refused.
OVER: Final = "MERGE_OVER"
REFUSED: Final = "FAILED_PRECONDITION"

_NO_SLOTS: Final = bytes(BITMAP_BYTES)
_ALL: Final = 1 << 20
_END: Final = b"\xff" * 8
_EVER: Final = 1 << 63


class Ancestor(NamedTuple):
    """A shard, and the last of its entries that another one has in its past."""

    number: int
    last: int


def check_mergeable(row: pb.ShardRow | None, name: str) -> pb.ShardRow:
    """Return the row of a shard; raises `Rejected` if it cannot be merged with any other now."""
    if row is None or row.merged_into:
        raise Rejected("NOT_FOUND", f"there is no shard {name}; `quorate shard list` shows all")
    if (row.group, row.number) == (METADATA_GROUP.name, 0):
        raise Rejected(
            REFUSED, f"shard {name} says where all others are, and stays: merge others of its group"
        )
    if row.HasField("move"):
        raise Rejected(
            MOVING,
            f"a replica of shard {name} is moving: wait until `quorate shard balance` is over",
        )
    if is_changing(row):
        raise Rejected(
            MERGING,
            f"shard {name} is being split or merged: `quorate shard list` shows when it is over",
        )
    return row


def check_pair(base: pb.ShardRow, other: pb.ShardRow) -> None:
    """Raise `Rejected` if these two shards cannot be merged with each other."""
    names = f"{base.group}/{base.number}", f"{other.group}/{other.number}"
    if base.group != other.group or base.number == other.number:
        raise Rejected(REFUSED, f"{names[0]} and {names[1]} are not two shards of one group")
    there = [{(each.node, each.replica) for each in replicas_of(row)} for row in (base, other)]
    if there[0] != there[1]:
        nodes = [", ".join(sorted(node for node, _ in each)) for each in there]
        raise Rejected(
            REFUSED,
            f"shard {names[0]} is on {nodes[0]}, and shard {names[1]} on {nodes[1]}: bring them to"
            " the same nodes with `quorate shard move` first",
        )


def begin(txn: ShardTxn, command: pb.BeginMerge) -> pb.BeginMergeReply:
    """Begin a merge: name the new shard, which has no slots yet."""
    rows = {row.number: row for row in members.shards(txn) if row.group == command.group}
    base, other = (
        check_mergeable(rows.get(number), f"{command.group}/{number}")
        for number in (command.base, command.other)
    )
    check_pair(base, other)
    for each in txn.scan(MEMBERS, b"", _END, limit=_ALL):
        if (member := pb.MemberRow.FromString(each.value)).change:
            raise Rejected(
                UNDER_WAY, f"{member.node} is being added or removed: merge shards after that"
            )
    if any(each.group == command.group for each in publications.under_way(txn.layer)):
        raise Rejected(PUBLISHING, f"group {command.group} is publishing files")
    into = max(max(row.number, row.drawn) for row in rows.values()) + 1
    if into >= members.MOST_SHARDS:
        raise Rejected(
            REFUSED, f"group {command.group} has no more than {members.MOST_SHARDS} numbers"
        )
    ancestor = common_ancestor(rows, base.number, other.number)
    merge = pb.ShardMerge(
        number=txn.revision,
        base=base.number,
        other=other.number,
        into=into,
        common=ancestor.last,
    )
    for row in (base, other):
        row.merge.CopyFrom(merge)
        row.drawn = into
        row.ClearField("unmerged")
        _put(txn, row)
    union = pb.ShardUnion(
        merge=merge.number,
        base=base.number,
        other=other.number,
        members=replicas_of(base),
        ancestor=ancestor.number,
        common=ancestor.last,
    )
    new = pb.ShardRow(
        group=command.group,
        number=into,
        slots=_NO_SLOTS,
        version=max(base.version, other.version) + 1,
        replicas=replicas_of(base),
        union=union,
    )
    _put(txn, new)
    return pb.BeginMergeReply(merge=merge.number, number=into)


def common_ancestor(rows: dict[int, pb.ShardRow], one: int, other: int) -> Ancestor:
    """Return the last that two shards have in common, with entry 0 if there is nothing."""
    first = dict(_ancestors(rows, one))
    for number, index in _ancestors(rows, other):
        if number in first:
            return Ancestor(number, min(first[number], index))
    return Ancestor(0, 0)


def _ancestors(rows: dict[int, pb.ShardRow], number: int) -> Iterator[Ancestor]:
    """Yield a shard, those that it was split off, and what both of a merge were."""
    index = _EVER
    while True:
        yield Ancestor(number, index)
        row = rows.get(number)
        if row is None:
            return
        if row.HasField("union") and row.union.common:
            number, index = row.union.ancestor, min(index, row.union.common)
        elif row.HasField("parent"):
            number, index = row.parent.number, min(index, row.parent.index)
        else:
            return


def finish(txn: ShardTxn, command: pb.FinishMerge) -> None:
    """End a merge: the slots of both shards are those of the new one."""
    base, other, new = _rows_of(txn, command.group, command.base, command.merge)
    slots = {*slots_in(base.slots), *slots_in(other.slots)}
    new.slots, new.union.base_index = bitmap_of(slots), command.base_index
    new.union.other_index, new.union.term = command.other_index, command.term
    new.version = max(base.version, other.version) + 2
    _put(txn, new)
    for row in (base, other):
        # The version with which it was frozen.
        row.version += 1
        row.slots, row.merged_into = _NO_SLOTS, new.number
        row.ClearField("merge")
        _put(txn, row)


def cancel(txn: ShardTxn, command: pb.CancelMerge) -> None:
    """Take a merge back: both shards adopt a version of their slots, and go on."""
    base, other, new = _rows_of(txn, command.group, command.number, command.merge)
    _take_back(txn, (base, other), new, command.reason)


def settle(txn: ShardTxn, command: pb.SettleMerge) -> None:
    """Let the replicas of two merged shards go."""
    new = _row(txn, command.group, command.number)
    if not new.HasField("union") or new.union.merge != command.merge or not new.union.base_index:
        raise Rejected(OVER, f"there is no such merge into {command.group}/{command.number}")
    if new.union.settled:
        return
    for number in (new.union.base, new.union.other):
        row = _row(txn, command.group, number)
        del row.members[:], row.replicas[:]
        _put(txn, row)
    new.union.settled = True
    _put(txn, new)


def drop(txn: ShardTxn, row: pb.ShardRow) -> None:
    """Take back the merge of a shard that begins anew, whose row the caller writes."""
    if not row.HasField("merge"):
        return
    merge = row.merge
    number = merge.other if row.number == merge.base else merge.base
    other, new = _row(txn, row.group, number), _row(txn, row.group, merge.into)
    reason = f"shard {row.group}/{row.number} was recovered"
    _take_back(txn, (row, other), new, reason)


def _take_back(
    txn: ShardTxn, both: tuple[pb.ShardRow, pb.ShardRow], new: pb.ShardRow, reason: str
) -> None:
    for row in both:
        # A replica that was frozen had the next version.
        row.version += 2
        row.ClearField("merge")
        row.unmerged = reason
        _put(txn, row)
    txn.delete(SHARDS, keys.pack(new.group, new.number))


def _rows_of(
    txn: ShardTxn, group: str, number: int, merge: int
) -> tuple[pb.ShardRow, pb.ShardRow, pb.ShardRow]:
    """Return the rows of both shards of a merge, and of the new one."""
    row = _row(txn, group, number)
    if not row.HasField("merge") or merge not in (0, row.merge.number):
        raise Rejected(OVER, f"this merge of shard {group}/{number} has ended")
    found = row.merge
    return (
        _row(txn, group, found.base),
        _row(txn, group, found.other),
        _row(txn, group, found.into),
    )


def _row(txn: ShardTxn, group: str, number: int) -> pb.ShardRow:
    return pb.ShardRow.FromString(txn.get(SHARDS, keys.pack(group, number)) or b"")


def _put(txn: ShardTxn, row: pb.ShardRow) -> None:
    txn.put(SHARDS, keys.pack(row.group, row.number), row.SerializeToString(deterministic=True))
