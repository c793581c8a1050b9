"""Quotas: limits of the number of znodes and bytes at and below a path, and the current numbers.

Clients write `/zookeeper/quota<path>/zookeeper_limits`, as `count=10,bytes=1000`, with hard limits
after it as `=;byteHardLimit=2000;countHardLimit=20`; -1 is none. Beside it `zookeeper_stats` holds
the current numbers.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from quorate.plugin import Reader, keys

from quorate_zookeeper.families import NODES, QUOTAS
from quorate_zookeeper.tree.nodes import QUOTA
from quorate_zookeeper.tree.paths import descendants, parent_of
from quorate_zookeeper.v1 import rows_pb2 as rows

LIMITS: Final = "zookeeper_limits"
STATS: Final = "zookeeper_stats"
#: The most znodes below a new quota: they are counted in one transaction.
MOST_COUNTED: Final = 100_000
_FIELD: Final = re.compile(r"(\w+)=(-?\d+)")


class Usage(NamedTuple):
    """Znodes and bytes."""

    znodes: int
    bytes: int

    def __str__(self) -> str:
        return f"count={self.znodes},bytes={self.bytes}"


def limited_path(path: str, name: str) -> str | None:
    """Return the path that a quota znode of this name limits; None if it is no such znode."""
    if not path.startswith(QUOTA + "/") or not path.endswith("/" + name):
        return None
    return path[len(QUOTA) : -len(name) - 1] or "/"


def file_of(path: str, name: str) -> str:
    """Return the path of the znode that holds the limits or the usage of a path."""
    return f"{QUOTA}{path}/{name}" if path != "/" else f"{QUOTA}/{name}"


def usage_of(node: rows.Znode) -> Usage:
    """Return the usage stored in a znode."""
    fields = _fields(node.data)
    return Usage(fields.get("count", 0), fields.get("bytes", 0))


def exceeds(limits: rows.Znode, usage: Usage) -> bool:
    """Return whether usage exceeds a hard limit."""
    fields = _fields(limits.data)
    count, size = fields.get("countHardLimit", -1), fields.get("byteHardLimit", -1)
    return -1 < count < usage.znodes or -1 < size < usage.bytes


def limited_ancestor(reader: Reader, path: str) -> str | None:
    """Return the nearest path at or above one that has a quota, if any."""
    if path == QUOTA or path.startswith(QUOTA + "/"):
        return None
    while reader.get(QUOTAS, path.encode()) is None:
        if path == "/":
            return None
        path = parent_of(path)
    return path


def counted(reader: Reader, path: str) -> Usage | None:
    """Count the znodes and bytes at and below a path; None if there are too many znodes."""
    count = size = 0
    for start, end in ((path.encode(), keys.successor(path.encode())), descendants(path)):
        for row in reader.scan(NODES, start, end):
            count += 1
            if count > MOST_COUNTED:
                return None
            size += len(rows.Znode.FromString(row.value).data)
    return Usage(count, size)


def _fields(data: bytes) -> dict[str, int]:
    return {name: int(value) for name, value in _FIELD.findall(data.decode(errors="replace"))}
