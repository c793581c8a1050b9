"""Stored znodes, and built-in znodes that exist without a row."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from quorate.plugin import Reader, keys

from quorate_zookeeper.families import (
    ALL,
    CHILDREN,
    LAST,
    NODES,
    PARENTS,
    TRANSACTIONS,
    child_key,
)
from quorate_zookeeper.v1 import rows_pb2 as rows
from quorate_zookeeper.wire.codes import Perm

CONFIG: Final = "/zookeeper/config"
QUOTA: Final = "/zookeeper/quota"
#: The initial znodes with the names of their children; they cannot be deleted.
BUILT_IN: Final = {
    "/": ("zookeeper",),
    "/zookeeper": ("config", "quota"),
    QUOTA: (),
    CONFIG: (),
}
#: Znodes counted at a time, and names of children read at a time, which may come to 6 MiB.
_AT_A_TIME: Final = 10_000
_NAMES: Final = 500


def stored_node(reader: Reader, path: str) -> rows.Znode | None:
    """Return a znode, or None."""
    return _node(path, reader.get(NODES, path.encode()))


def stored_nodes(reader: Reader, paths: Collection[str]) -> dict[str, rows.Znode | None]:
    """Return znodes by path, each as `stored_node` does."""
    found = reader.get_values(NODES, [path.encode() for path in paths])
    return dict(zip(paths, map(_node, paths, found), strict=True))


def stored_children(reader: Reader, path: str) -> rows.Children:
    """Return the row that counts a znode's children."""
    return _children(path, reader.get(PARENTS, path.encode()))


def stored_children_of(reader: Reader, paths: Collection[str]) -> dict[str, rows.Children]:
    """Return the rows that count the children of znodes, by path."""
    found = reader.get_values(PARENTS, [path.encode() for path in paths])
    return dict(zip(paths, map(_children, paths, found), strict=True))


def _node(path: str, stored: bytes | None) -> rows.Znode | None:
    if stored is not None:
        return rows.Znode.FromString(stored)
    if path not in BUILT_IN:
        return None
    if path == CONFIG:
        readable = rows.Acl(perms=Perm.READ, scheme="world", id="anyone")
        return rows.Znode(data=b"", version=-1, acl=[readable])
    return rows.Znode(data=b"")


def _children(path: str, stored: bytes | None) -> rows.Children:
    if stored is not None:
        return rows.Children.FromString(stored)
    return rows.Children(count=len(BUILT_IN.get(path, ())))


def node_count(reader: Reader) -> int:
    """Return the number of all znodes."""
    stored = reader.get(PARENTS, ALL)
    return len(BUILT_IN) + (0 if stored is None else rows.Children.FromString(stored).count)


def child_names(reader: Reader, path: str, after: str = "") -> Iterator[list[str]]:
    """Yield the names of a znode's children, all or those after a name, in batches."""
    start, end = keys.prefix(path)
    if after:
        start = keys.successor(child_key(path, after))
    elif path in BUILT_IN:
        yield list(BUILT_IN[path])
    while found := list(reader.scan(CHILDREN, start, end, limit=_NAMES)):
        yield [str(keys.unpack(row.key)[1]) for row in found]
        if len(found) < _NAMES:
            return
        start = keys.successor(found[-1].key)


def count_descendants(reader: Reader, path: str, after: bytes = b"") -> tuple[int, bytes]:
    """Count the descendants of a znode, starting after a key of the index of children.

    The count may be partial: then the second value is the last key counted, else it is empty.
    """
    below = keys.opening(path if path == "/" else path + "/")
    ranges = [below] if path == "/" else [keys.prefix(path), below]
    count = 0
    if not after:
        count = sum(
            each != path and (path == "/" or each.startswith(path + "/")) for each in BUILT_IN
        )
    for start, end in ranges:
        first = max(start, keys.successor(after))
        if first >= end:
            continue
        found = list(reader.scan(CHILDREN, first, end, limit=_AT_A_TIME))
        count += len(found)
        if len(found) == _AT_A_TIME:
            return count, found[-1].key
    return count, b""


def last_zxid(reader: Reader) -> int:
    """Return the zxid of the last transaction; 0 if there was none."""
    row = reader.get_row(TRANSACTIONS, LAST)
    return 0 if row is None else row.revision
