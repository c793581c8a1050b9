"""The changes of the cluster's members by operators, stored in metadata/0."""

from typing import Final, TypeVar

from google.protobuf.message import Message

from quorate.apply.txn import ShardTxn
from quorate.plugin import Rejected
from quorate.storage.families import MEMBERS, NODES, SHARDS
from quorate.v1 import control_pb2 as pb

#: Why a change of members is refused.
UNDER_WAY: Final = "CHANGE_UNDER_WAY"
OVER: Final = "CHANGE_OVER"
OTHER_REPLICA: Final = "OTHER_REPLICA"

#: More than any number of nodes or shards.
_ALL: Final = 1 << 20
_END: Final = b"\xff" * 8

M = TypeVar("M", bound=Message)


def replicas_of(row: pb.ShardRow) -> list[pb.ShardMember]:
    """Return the current replicas of a shard."""
    return list(row.replicas or row.members)


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


def being_added(txn: ShardTxn) -> list[pb.ShardMember]:
    """Return the replicas of new shards in addition to those of the voters."""
    return [
        pb.ShardMember(node=row.node, replica=row.replica)
        for row in _rows(txn, MEMBERS, pb.MemberRow)
        if row.change == pb.MEMBER_CHANGE_ADD
    ]


def _name_replica(txn: ShardTxn, added: pb.ShardMember) -> None:
    for stored in list(txn.scan(SHARDS, b"", _END, limit=_ALL)):
        row = pb.ShardRow.FromString(stored.value)
        there = replicas_of(row)
        if any(each.node == added.node and each != added for each in there):
            raise Rejected(
                OTHER_REPLICA,
                f"shard {row.group}/{row.number} has a replica of {added.node} already, which is"
                f" not the one in its directory now; `quorate member replace {added.node} ADDRESS`"
                " takes the old one out and this one in",
            )
        if added not in there:
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
