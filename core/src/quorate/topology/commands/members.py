"""Changes of the cluster's members, and moves of replicas, recorded in metadata/0."""

from quorate.apply.txn import ShardTxn
from quorate.plugin import Rejected
from quorate.plugin.shard_id import METADATA
from quorate.shards.topology_rows import (
    CHANGE_OVER,
    CHANGE_UNDER_WAY,
    MOVING,
    OTHER_REPLICA,
    SPLITTING,
    check_goes_on,
    is_changing,
    is_placed,
    replicas_of,
    replicas_wanted,
    rows_of,
    shards,
)
from quorate.storage.families import MEMBERS, NODES
from quorate.topology.rows import put, put_shard, shard_row
from quorate.v1 import control_pb2 as pb


def begin(txn: ShardTxn, command: pb.BeginMemberChange) -> pb.BeginMemberChangeReply:
    """Begin a change, or continue the same one under its number.

    Only a removal may replace another change, and only one of the same node.
    """
    node, adds = command.node, command.change == pb.MEMBER_CHANGE_ADD
    if not node or not (adds or command.change == pb.MEMBER_CHANGE_REMOVE):
        raise Rejected("INVALID_ARGUMENT", "a change of members must name a node to add or remove")
    if adds and not (command.address and command.replica):
        raise Rejected("INVALID_ARGUMENT", f"{node} cannot be added without address and replica")
    for other in rows_of(txn, MEMBERS, pb.MemberRow):
        if other.change and (other.node != node or (adds and other.change != command.change)):
            raise Rejected(CHANGE_UNDER_WAY, _under_way(other))
    row = pb.MemberRow.FromString(txn.get(MEMBERS, node.encode()) or b"")
    if row.change != command.change:
        row.number = txn.revision
    row.node, row.change = node, command.change
    if adds:
        _name_replica(txn, pb.ShardMember(node=node, replica=command.replica))
        row.address, row.replica = command.address, command.replica
    put(txn, MEMBERS, node.encode(), row)
    return pb.BeginMemberChangeReply(number=row.number)


def finish(txn: ShardTxn, command: pb.FinishMemberChange) -> None:
    """End a change; delete the row of a removed node."""
    key = command.node.encode()
    row = pb.MemberRow.FromString(txn.get(MEMBERS, key) or b"")
    check_goes_on(row, command.node, command.number)
    if row.change == pb.MEMBER_CHANGE_ADD:
        row.change = pb.MEMBER_CHANGE_UNSPECIFIED
        put(txn, MEMBERS, key, row)
        return
    txn.delete(MEMBERS, key)
    txn.delete(NODES, key)
    for each in shards(txn):
        stay = [replica for replica in replicas_of(each) if replica.node != command.node]
        if stay != replicas_of(each):
            _set_replicas(txn, each, stay)


def being_added(txn: ShardTxn) -> list[pb.ShardMember]:
    """Return the nodes that are being added, with their replicas."""
    rows = rows_of(txn, MEMBERS, pb.MemberRow)
    adds = (row for row in rows if row.change == pb.MEMBER_CHANGE_ADD)
    return [pb.ShardMember(node=row.node, replica=row.replica) for row in adds]


def added_to(txn: ShardTxn, row: pb.ShardRow) -> list[pb.ShardMember]:
    """Return the replicas of a new shard in addition to those that it is founded with."""
    if is_placed(row, _wanted(txn)):
        return []
    return [each for each in being_added(txn) if each not in row.members]


def begin_move(txn: ShardTxn, command: pb.MoveReplica) -> None:
    """Begin to move a replica; while one is being added, its removal takes that back."""
    row, name = _moving(txn, command.group, command.number)
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
    _set_replicas(txn, row, there)


def finish_move(txn: ShardTxn, command: pb.FinishMove) -> None:
    """End a move; the replica that left is forgotten."""
    row, name = _moving(txn, command.group, command.number)
    if not row.HasField("move") or row.move.number != command.move:
        raise Rejected(CHANGE_OVER, f"this move of shard {name} has ended, or was taken back")
    left = getattr(row.move, "from") if row.move.HasField("from") else None
    row.ClearField("move")
    stay = [each for each in replicas_of(row) if each != left]
    # Nobody founds it any more: a replica that comes back must not begin with the first members.
    del row.members[:]
    _set_replicas(txn, row, stay)


def drain(txn: ShardTxn, command: pb.DrainNode) -> None:
    """Record whether a node is to hold replicas."""
    key = command.node.encode()
    if txn.get(NODES, key) is None:
        raise Rejected("NOT_FOUND", f"{command.node} is no node of this cluster")
    stored = txn.get(MEMBERS, key)
    row = pb.MemberRow.FromString(stored or b"")
    row.node, row.drains = command.node, command.drains
    if row != pb.MemberRow(node=command.node):
        put(txn, MEMBERS, key, row)
    elif stored is not None:
        txn.delete(MEMBERS, key)


def _moving(txn: ShardTxn, group: str, number: int) -> tuple[pb.ShardRow, str]:
    row, name = shard_row(txn, group, number), f"{group}/{number}"
    if not row.group or row.merged_into or (group, number) == METADATA:
        raise Rejected("NOT_FOUND", f"{name} is not a shard whose replicas can be moved")
    if is_changing(row):
        raise Rejected(
            SPLITTING,
            f"shard {name} is being split or merged: its replicas stay until that ends",
        )
    return row, name


def _wanted(txn: ShardTxn) -> dict[str, int]:
    return replicas_wanted(rows_of(txn, NODES, pb.NodeDeclaration))


def _name_replica(txn: ShardTxn, added: pb.ShardMember) -> None:
    wanted = _wanted(txn)
    for row in shards(txn):
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
            _set_replicas(txn, row, [*there, added])


def _set_replicas(txn: ShardTxn, row: pb.ShardRow, replicas: list[pb.ShardMember]) -> None:
    del row.replicas[:]
    row.replicas.extend(replicas)
    put_shard(txn, row)


def _under_way(row: pb.MemberRow) -> str:
    what = {pb.MEMBER_CHANGE_ADD: "added", pb.MEMBER_CHANGE_REMOVE: "removed"}[row.change]
    again = {
        pb.MEMBER_CHANGE_ADD: f"`quorate member add {row.node} {row.address}` goes on with it, and"
        f" `quorate member remove {row.node}` takes it back",
        pb.MEMBER_CHANGE_REMOVE: f"`quorate member remove {row.node}` goes on with it",
    }[row.change]
    return f"{row.node} is being {what}, and there is one change of members at a time; {again}"
