"""Merges of shards: recorded in metadata/0, and carried out in both by their freeze."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from quorate.apply import file_sets, freezes, publications, slot_set
from quorate.apply.control import ControlledShard
from quorate.apply.entries import index_of, whole
from quorate.apply.file_sets import PUBLISHING
from quorate.apply.mirrors import MirrorPosition
from quorate.apply.slot_set import SlotSet
from quorate.apply.txn import ShardTxn
from quorate.plugin import Rejected, keys
from quorate.plugin.shard_id import METADATA
from quorate.plugin.slots import bitmap_of, slots_in
from quorate.shards.topology_rows import MERGE_OVER, MERGING, REFUSED, replicas_of, shards
from quorate.storage.families import SHARDS, SLOTS
from quorate.topology.commands import unions
from quorate.topology.rows import (
    MOST_SHARDS,
    NO_SLOTS,
    check_at_rest,
    check_members_stay,
    next_number,
    put_shard,
    shard_row,
)
from quorate.v1 import control_pb2 as pb

_EVER: Final = 1 << 63


class Ancestor(NamedTuple):
    """A shard, and the last of its entries that another one has in its past."""

    number: int
    last: int


def check_mergeable(row: pb.ShardRow | None, name: str) -> pb.ShardRow:
    """Return the row of a shard; raises `Rejected` if it cannot be merged with any other now."""
    if row is not None and (row.group, row.number) == METADATA:
        raise Rejected(
            REFUSED, f"shard {name} says where all others are, and stays: merge others of its group"
        )
    return check_at_rest(row, name, MERGING)


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
    rows = {row.number: row for row in shards(txn) if row.group == command.group}
    base, other = (
        check_mergeable(rows.get(number), f"{command.group}/{number}")
        for number in (command.base, command.other)
    )
    check_pair(base, other)
    check_members_stay(txn, "merge shards")
    if any(each.group == command.group for each in publications.under_way(txn.layer)):
        raise Rejected(PUBLISHING, f"group {command.group} is publishing files")
    into = next_number(rows.values())
    if into >= MOST_SHARDS:
        raise Rejected(REFUSED, f"group {command.group} has no more than {MOST_SHARDS} numbers")
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
        put_shard(txn, row)
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
        slots=NO_SLOTS,
        version=max(base.version, other.version) + 1,
        replicas=replicas_of(base),
        union=union,
    )
    put_shard(txn, new)
    return pb.BeginMergeReply(merge=merge.number, number=into)


def common_ancestor(rows: dict[int, pb.ShardRow], one: int, other: int) -> Ancestor:
    """Return the last that two shards have in common, with entry 0 if there is nothing."""
    first = dict(_ancestors(rows, one))
    for number, index in _ancestors(rows, other):
        if number in first:
            return Ancestor(number, min(first[number], index))
    return Ancestor(0, 0)


def _ancestors(rows: dict[int, pb.ShardRow], number: int) -> Iterator[Ancestor]:
    """Yield a shard and its ancestors: the parents of splits, the common ancestors of merges."""
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
    put_shard(txn, new)
    for row in (base, other):
        # The version with which it was frozen.
        row.version += 1
        row.slots, row.merged_into = NO_SLOTS, new.number
        row.ClearField("merge")
        put_shard(txn, row)


def cancel(txn: ShardTxn, command: pb.CancelMerge) -> None:
    """Take a merge back: both shards adopt a version of their slots, and go on."""
    base, other, new = _rows_of(txn, command.group, command.number, command.merge)
    _take_back(txn, (base, other), new, command.reason)


def settle(txn: ShardTxn, command: pb.SettleMerge) -> None:
    """Let the replicas of two merged shards go."""
    new = shard_row(txn, command.group, command.number)
    if not new.HasField("union") or new.union.merge != command.merge or not new.union.base_index:
        raise Rejected(MERGE_OVER, f"there is no such merge into {command.group}/{command.number}")
    if new.union.settled:
        return
    for number in (new.union.base, new.union.other):
        row = shard_row(txn, command.group, number)
        del row.members[:], row.replicas[:]
        put_shard(txn, row)
    new.union.settled = True
    put_shard(txn, new)


def drop(txn: ShardTxn, row: pb.ShardRow) -> None:
    """Take back the merge of a shard that begins anew; the caller writes its row."""
    if not row.HasField("merge"):
        return
    merge = row.merge
    number = merge.other if row.number == merge.base else merge.base
    other, new = shard_row(txn, row.group, number), shard_row(txn, row.group, merge.into)
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
        put_shard(txn, row)
    txn.delete(SHARDS, keys.pack(new.group, new.number))


def _rows_of(
    txn: ShardTxn, group: str, number: int, merge: int
) -> tuple[pb.ShardRow, pb.ShardRow, pb.ShardRow]:
    """Return the rows of both shards of a merge, and of the new one."""
    row = shard_row(txn, group, number)
    if not row.HasField("merge") or merge not in (0, row.merge.number):
        raise Rejected(MERGE_OVER, f"this merge of shard {group}/{number} has ended")
    found = row.merge
    return (
        shard_row(txn, group, found.base),
        shard_row(txn, group, found.other),
        shard_row(txn, group, found.into),
    )


def freeze_shard(
    txn: ShardTxn, command: pb.FreezeShard, shard: ControlledShard
) -> pb.FreezeShardReply:
    """Let nothing in the shard change any more; repeated, it only says since when."""
    known, state = freezes.frozen(txn.layer), shard.state
    if known is not None and known.merge == command.merge:
        return pb.FreezeShardReply(index=known.index)
    if command.version <= state.slots.version:
        raise Rejected(MERGE_OVER, f"this merge of shard {shard.id} was taken back")
    shard.demand_open()
    if state.foreign:
        raise Rejected(freezes.NOT_YET, f"shard {shard.id} still deletes rows of others")
    if (known_set := file_sets.unfinished(txn.layer)) is not None:
        raise Rejected(
            REFUSED,
            f"load {known_set.name} is under way in shard {shard.id}: merge it after that",
        )
    done = pb.FrozenShard(
        merge=command.merge,
        index=index_of(txn.revision),
        now_ms=txn.now_ms,
        generation=state.generation,
    )
    if command.HasField("other"):
        _unite(txn, command, shard, done)
    state.slots, state.frozen = SlotSet(command.version), True
    txn.layer.put(SLOTS, slot_set.KEY, state.slots.encode())
    freezes.freeze(txn.layer, done)
    return pb.FreezeShardReply(index=done.index)


def _unite(
    txn: ShardTxn, command: pb.FreezeShard, shard: ControlledShard, done: pb.FrozenShard
) -> None:
    """Unite the rows that this shard shares with a frozen one."""
    other = shard.neighbour(command.other)
    frozen = None if other is None else freezes.frozen(other)
    if other is None or frozen is None or frozen.merge != command.merge:
        name = f"{shard.id.group}/{command.other}"
        raise Rejected(freezes.NOT_YET, f"shard {name} is not frozen on this node")
    for family in shard.program.mirrored:
        theirs, own = MirrorPosition.of(other, family), MirrorPosition.of(txn.layer, family)
        if theirs is not None and (own is None or own < theirs):
            raise Rejected(freezes.NOT_YET, f"the copy of {family} in {shard.id} lags")
    common = whole(command.common) if command.common else 0
    done.united.extend(unions.unite(txn.layer, other, shard.program.ownership.joins, common))
    done.now_ms = max(done.now_ms, frozen.now_ms)
    done.generation = max(done.generation, frozen.generation)
