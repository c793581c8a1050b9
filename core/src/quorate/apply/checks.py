"""Checks: each replica digests the same rows after the same entry, and tells the shard."""

from collections.abc import Mapping
from typing import Final

from quorate.apply.entries import index_of
from quorate.apply.layers import Rows
from quorate.apply.txn import ShardTxn
from quorate.storage.families import SLOTS
from quorate.v1 import control_pb2 as pb

#: In the family `core.slots`: the last check, the last report of each node, and its canary.
CHECK: Final = b"check"
_REPORT: Final = b"check/"
_CANARY: Final = b"canary/"


def last_check(rows: Rows) -> pb.CheckRows | None:
    """Return the last check of a shard; None if there was none."""
    row = rows.get(SLOTS, CHECK)
    return None if row is None else pb.CheckRows.FromString(row)


def reports(rows: Rows, index: int) -> Mapping[str, bytes]:
    """Return the digests that nodes have reported of the check at an index."""
    stored = rows.iterate(SLOTS, _REPORT, _REPORT[:-1] + b"0")
    found = [pb.ReportRows.FromString(row) for _, row in stored]
    return {each.node: each.digest for each in found if each.index == index}


def canary(rows: Rows, node: str) -> int:
    """Return the number that a node stored last; 0 if there is none."""
    row = rows.get(SLOTS, _CANARY + node.encode())
    return 0 if row is None else pb.PutCanary.FromString(row).number


def check_rows(txn: ShardTxn, command: pb.CheckRows, _: object) -> None:
    """Begin a check."""
    check = pb.CheckRows()
    check.CopyFrom(command)
    check.index = index_of(txn.revision)
    txn.layer.put(SLOTS, CHECK, check.SerializeToString(deterministic=True))


def report_rows(txn: ShardTxn, command: pb.ReportRows, _: object) -> None:
    """Record what a replica found."""
    row = command.SerializeToString(deterministic=True)
    txn.layer.put(SLOTS, _REPORT + command.node.encode(), row)


def put_canary(txn: ShardTxn, command: pb.PutCanary, _: object) -> pb.PutCanaryReply:
    """Store the number of a node, and return the one before."""
    before = canary(txn.layer, command.node)
    row = command.SerializeToString(deterministic=True)
    txn.layer.put(SLOTS, _CANARY + command.node.encode(), row)
    return pb.PutCanaryReply(before=before)
