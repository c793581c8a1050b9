"""Changes of the cluster's members, and moves of replicas, stored in metadata/0."""

from collections.abc import Iterable
from typing import Final, TypeVar

from google.protobuf.message import Message

from quorate.apply.txn import ShardTxn
from quorate.plugin import METADATA_GROUP, Rejected, keys
from quorate.plugin.shard_id import ShardId
from quorate.storage.families import MEMBERS, NODES, SHARDS
from quorate.v1 import control_pb2 as pb

#: Why a change of members is refused.
UNDER_WAY: Final = "CHANGE_UNDER_WAY"
OVER: Final = "CHANGE_OVER"
#: Why a move is refused.
MOVING: Final = "MOVE_UNDER_WAY"
OTHER_REPLICA: Final = "OTHER_REPLICA"
SPLITTING: Final = "SPLIT_UNDER_WAY"
MERGING: Final = "MERGE_UNDER_WAY"

#: The number of a shard is the top of the numbers of its sequences.
MOST_SHARDS: Final = 1 << 16

#: More than any number of nodes or shards.
_ALL: Final = 1 << 20
_END: Final = b"\xff" * 8

M = TypeVar("M", bound=Message)


def replicas_of(row: pb.ShardRow) -> list[pb.ShardMember]:
    """Return the current replicas of a shard."""
    return list(row.replicas or row.members)


def parents_of(row: pb.ShardRow) -> tuple[ShardId, ...]:
    """Return what a shard was made of: one that was split, or both that were merged, if any."""
    if row.HasField("union"):
        numbers = (row.union.base, row.union.other)
        return tuple(ShardId(row.group, number) for number in numbers)
    return (ShardId(row.group, row.parent.number),) if row.HasField("parent") else ()


def is_forming(row: pb.ShardRow) -> bool:
    """Whether what a shard is made of is not cut or frozen yet: it has no slots and no replicas."""
    if row.HasField("union"):
        return not row.union.base_index
    return row.HasField("parent") and not row.parent.index


def is_changing(row: pb.ShardRow) -> bool:
    """Whether a shard is being split or merged, or comes from that and is not safe yet."""
    unsettled = row.HasField("union") and not row.union.settled
    return row.HasField("split") or row.HasField("merge") or is_forming(row) or unsettled


def replicas_wanted(declarations: Iterable[pb.NodeDeclaration]) -> dict[str, int]:
    """Return the number of replicas of each group, as far as all nodes declare the same.

    The shards of other groups have a replica on every node, and so has the first of metadata.
    """
    wanted: dict[str, int] = {}
    for declaration in declarations:
        for group in declaration.groups:
            if wanted.setdefault(group.name, group.replicas) != group.replicas:
                wanted[group.name] = 0
    return {group: replicas for group, replicas in wanted.items() if replicas}


def is_placed(row: pb.ShardRow, wanted: Iterable[str]) -> bool:
    """Whether a shard has a number of replicas; `wanted` are the groups with one."""
    return row.group in wanted and (row.group, row.number) != (METADATA_GROUP.name, 0)


def begin(txn: ShardTxn, command: pb.BeginMemberChange) -> pb.BeginMemberChangeReply:
    """Begin a change, or continue the same one under its number.

    Only a removal may replace another change, and only one of the same node.
    """
    node, adds = command.node, command.change == pb.MEMBER_CHANGE_ADD
    if not node or not (adds or command.change == pb.MEMBER_CHANGE_REMOVE):
        raise Rejected("INVALID_ARGUMENT", "a change of members must name a node to add or remove")
    if adds and not (command.address and command.replica):
        raise Rejected("INVALID_ARGUMENT", f"{node} cannot be added without address and replica")
    for other in _rows(txn, MEMBERS, pb.MemberRow):
        if other.change and (other.node != node or (adds and other.change != command.change)):
            raise Rejected(UNDER_WAY, _under_way(other))
    row = pb.MemberRow.FromString(txn.get(MEMBERS, node.encode()) or b"")
    if row.change != command.change:
        row.number = txn.revision
    row.node, row.change = node, command.change
    if adds:
        _name_replica(txn, pb.ShardMember(node=node, replica=command.replica))
        row.address, row.replica = command.address, command.replica
    _put(txn, MEMBERS, node.encode(), row)
    return pb.BeginMemberChangeReply(number=row.number)


def finish(txn: ShardTxn, command: pb.FinishMemberChange) -> None:
    """End a change; delete the row of a removed node."""
    key = command.node.encode()
    row = pb.MemberRow.FromString(txn.get(MEMBERS, key) or b"")
    check_goes_on(row, command.node, command.number)
    if row.change == pb.MEMBER_CHANGE_ADD:
        row.change = pb.MEMBER_CHANGE_UNSPECIFIED
        _put(txn, MEMBERS, key, row)
        return
    txn.delete(MEMBERS, key)
    txn.delete(NODES, key)
    for stored in list(txn.scan(SHARDS, b"", _END, limit=_ALL)):
        shard = pb.ShardRow.FromString(stored.value)
        stay = [each for each in replicas_of(shard) if each.node != command.node]
        if stay != replicas_of(shard):
            _set_replicas(txn, stored.key, shard, stay)


def check_goes_on(row: pb.MemberRow, node: str, number: int) -> None:
    """Raise `Rejected` if the row of the node is not of this change any more."""
    if not row.change or row.number != number:
        raise Rejected(
            OVER,
            f"this change of {node} has ended or was replaced; `quorate status` shows the members",
        )


def shards(txn: ShardTxn) -> list[pb.ShardRow]:
    """Return the rows of all shards."""
    return _rows(txn, SHARDS, pb.ShardRow)


def being_added(txn: ShardTxn, shard: pb.ShardRow) -> list[pb.ShardMember]:
    """Return the replicas of a new shard in addition to those that it is founded with."""
    if is_placed(shard, _wanted(txn)):
        return []
    added = [
        pb.ShardMember(node=row.node, replica=row.replica)
        for row in _rows(txn, MEMBERS, pb.MemberRow)
        if row.change == pb.MEMBER_CHANGE_ADD
    ]
    return [each for each in added if each not in shard.members]


def added(txn: ShardTxn) -> list[str]:
    """Return the nodes that are being added."""
    rows = _rows(txn, MEMBERS, pb.MemberRow)
    return [row.node for row in rows if row.change == pb.MEMBER_CHANGE_ADD]


def begin_move(txn: ShardTxn, command: pb.MoveReplica) -> None:
    """Begin to move a replica; while one is being added, its removal takes that back."""
    key, row, name = _moving(txn, command.group, command.number)
    there = replicas_of(row)
    to = command.to if command.HasField("to") else None
    leaving = getattr(command, "from") if command.HasField("from") else None
    if to is None and leaving is None:
        raise Rejected("INVALID_ARGUMENT", "a move must name a replica to add or to remove")
    takes_back = to is None and row.move.HasField("to") and leaving == row.move.to
    if row.HasField("move") and not takes_back:
        raise Rejected(MOVING, f"a replica of shard {name} is moving; one moves at a time")
    if to is not None and any(each.node == to.node for each in there):
        raise Rejected("ALREADY_EXISTS", f"{to.node} has a replica of shard {name} already")
    if leaving is not None and leaving not in there:
        raise Rejected("NOT_FOUND", f"{leaving.node} has no such replica of shard {name}")
    row.move.Clear()
    row.move.number = txn.revision
    if leaving is not None:
        getattr(row.move, "from").CopyFrom(leaving)
    if to is not None:
        row.move.to.CopyFrom(to)
        there = [*there, to]
    _set_replicas(txn, key, row, there)


def finish_move(txn: ShardTxn, command: pb.FinishMove) -> None:
    """End a move; the replica that left is forgotten."""
    key, row, name = _moving(txn, command.group, command.number)
    if not row.HasField("move") or row.move.number != command.move:
        raise Rejected(OVER, f"this move of shard {name} has ended, or was taken back")
    left = getattr(row.move, "from") if row.move.HasField("from") else None
    row.ClearField("move")
    stay = [each for each in replicas_of(row) if each != left]
    # Nobody founds it any more: a replica that comes back must not begin with the first members.
    del row.members[:]
    _set_replicas(txn, key, row, stay)


def drain(txn: ShardTxn, command: pb.DrainNode) -> None:
    """Record whether a node is to hold replicas."""
    key = command.node.encode()
    if txn.get(NODES, key) is None:
        raise Rejected("NOT_FOUND", f"{command.node} is no node of this cluster")
    stored = txn.get(MEMBERS, key)
    row = pb.MemberRow.FromString(stored or b"")
    row.node, row.drains = command.node, command.drains
    if row != pb.MemberRow(node=command.node):
        _put(txn, MEMBERS, key, row)
    elif stored is not None:
        txn.delete(MEMBERS, key)


def _moving(txn: ShardTxn, group: str, number: int) -> tuple[bytes, pb.ShardRow, str]:
    key, name = keys.pack(group, number), f"{group}/{number}"
    row = pb.ShardRow.FromString(txn.get(SHARDS, key) or b"")
    if not row.group or row.merged_into or (group, number) == (METADATA_GROUP.name, 0):
        raise Rejected("NOT_FOUND", f"{name} is not a shard whose replicas can be moved")
    if is_changing(row):
        raise Rejected(
            SPLITTING,
            f"shard {name} is being split or merged: its replicas stay until that ends",
        )
    return key, row, name


def _wanted(txn: ShardTxn) -> dict[str, int]:
    return replicas_wanted(_rows(txn, NODES, pb.NodeDeclaration))


def _name_replica(txn: ShardTxn, added: pb.ShardMember) -> None:
    wanted = _wanted(txn)
    for stored in list(txn.scan(SHARDS, b"", _END, limit=_ALL)):
        row = pb.ShardRow.FromString(stored.value)
        if row.merged_into:
            continue
        there = replicas_of(row)
        if any(each.node == added.node and each != added for each in there):
            raise Rejected(
                OTHER_REPLICA,
                f"shard {row.group}/{row.number} has a replica of {added.node} already, which is"
                f" not the one in its directory now; `quorate member replace {added.node} ADDRESS`"
                " takes the old one out and this one in",
            )
        if added not in there and not is_placed(row, wanted):
            _set_replicas(txn, stored.key, row, [*there, added])


def _set_replicas(
    txn: ShardTxn, key: bytes, row: pb.ShardRow, replicas: list[pb.ShardMember]
) -> None:
    del row.replicas[:]
    row.replicas.extend(replicas)
    _put(txn, SHARDS, key, row)


def _rows(txn: ShardTxn, family: str, kind: type[M]) -> list[M]:
    return [kind.FromString(row.value) for row in txn.scan(family, b"", _END, limit=_ALL)]


def _put(txn: ShardTxn, family: str, key: bytes, row: Message) -> None:
    txn.put(family, key, row.SerializeToString(deterministic=True))


def _under_way(row: pb.MemberRow) -> str:
    what = {pb.MEMBER_CHANGE_ADD: "added", pb.MEMBER_CHANGE_REMOVE: "removed"}[row.change]
    again = {
        pb.MEMBER_CHANGE_ADD: f"`quorate member add {row.node} {row.address}` goes on with it, and"
        f" `quorate member remove {row.node}` takes it back",
        pb.MEMBER_CHANGE_REMOVE: f"`quorate member remove {row.node}` goes on with it",
    }[row.change]
    return f"{row.node} is being {what}, and there is one change of members at a time; {again}"
