"""Checks: each replica digests the same rows after the same entry, and tells the shard."""

from collections.abc import Mapping
from typing import Final

from quorate.apply.layers import Rows
from quorate.storage.families import SLOTS
from quorate.v1 import control_pb2 as pb

#: In the family `core.slots`: the last check, the last report of each node, and its canary.
CHECK: Final = b"check"
REPORT: Final = b"check/"
CANARY: Final = b"canary/"


def last_check(rows: Rows) -> pb.CheckRows | None:
    """Return the last check of a shard; None if there was none."""
    row = rows.get(SLOTS, CHECK)
    return None if row is None else pb.CheckRows.FromString(row)


def reports(rows: Rows, index: int) -> Mapping[str, bytes]:
    """Return the digests that nodes have reported of the check at an index."""
    stored = rows.iterate(SLOTS, REPORT, REPORT[:-1] + b"0")
    found = [pb.ReportRows.FromString(row) for _, row in stored]
    return {each.node: each.digest for each in found if each.index == index}


def canary(rows: Rows, node: str) -> int:
    """Return the number that a node stored last; 0 if there is none."""
    row = rows.get(SLOTS, CANARY + node.encode())
    return 0 if row is None else pb.PutCanary.FromString(row).number
