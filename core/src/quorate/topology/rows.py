"""The rows of metadata/0, as commands read and write them."""

from collections.abc import Iterable
from typing import Final

from google.protobuf.message import Message

from quorate.plugin import Rejected, Txn, keys
from quorate.plugin.slots import BITMAP_BYTES
from quorate.shards.topology_rows import CHANGE_UNDER_WAY, MOVING, is_changing, rows_of
from quorate.storage.families import MEMBERS, SHARDS
from quorate.v1 import control_pb2 as pb

#: The number of a shard is the top of the numbers of its sequences.
MOST_SHARDS: Final = 1 << 16
NO_SLOTS: Final = bytes(BITMAP_BYTES)


def put(txn: Txn, family: str, key: bytes, row: Message) -> None:
    """Write a row."""
    txn.put(family, key, row.SerializeToString(deterministic=True))


def find_shard(txn: Txn, group: str, number: int) -> pb.ShardRow | None:
    """Return the row of a shard, if there is one."""
    stored = txn.get(SHARDS, keys.pack(group, number))
    return None if stored is None else pb.ShardRow.FromString(stored)


def shard_row(txn: Txn, group: str, number: int) -> pb.ShardRow:
    """Return the row of a shard; an empty one if there is none."""
    return find_shard(txn, group, number) or pb.ShardRow()


def put_shard(txn: Txn, row: pb.ShardRow) -> None:
    """Write the row of a shard."""
    put(txn, SHARDS, keys.pack(row.group, row.number), row)


def next_number(rows: Iterable[pb.ShardRow]) -> int:
    """Return the number of the next shard of a group with these: no number is used twice."""
    return max(max(each.number, each.drawn) for each in rows) + 1


def check_at_rest(row: pb.ShardRow | None, name: str, code: str) -> pb.ShardRow:
    """Return the row of a shard; raises `Rejected` while it is being changed, with `code`."""
    if row is None or row.merged_into:
        raise Rejected("NOT_FOUND", f"there is no shard {name}; `quorate shard list` shows all")
    if row.HasField("move"):
        raise Rejected(
            MOVING,
            f"a replica of shard {name} is moving: wait until `quorate shard balance` is over",
        )
    if is_changing(row):
        raise Rejected(
            code,
            f"shard {name} is being split or merged: `quorate shard list` shows when it is over",
        )
    return row


def check_members_stay(txn: Txn, what: str) -> None:
    """Raise `Rejected` while a node is being added or removed; `what` must wait for the end."""
    for member in rows_of(txn, MEMBERS, pb.MemberRow):
        if member.change:
            raise Rejected(
                CHANGE_UNDER_WAY, f"{member.node} is being added or removed: {what} after that"
            )
