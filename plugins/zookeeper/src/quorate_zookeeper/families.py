"""The column families and their keys.

The rows of a tree lie in one shard: a write is one transaction, and revisions are zxids.
"""

from typing import Final

from quorate.plugin import ColumnFamily, keys

from quorate_zookeeper.v1 import rows_pb2 as rows

GROUP: Final = "zookeeper"
#: By path, so that the descendants of a znode are a range.
NODES: Final = "zookeeper.nodes"
#: Counts of a znode's children, by its path; apart from its data, which they do not rewrite.
PARENTS: Final = "zookeeper.parents"
#: By path of the parent and name; the values are empty.
CHILDREN: Final = "zookeeper.children"
#: By session and path; the values are empty.
EPHEMERALS: Final = "zookeeper.ephemerals"
SESSIONS: Final = "zookeeper.sessions"
#: Paths with a quota; the values are empty.
QUOTAS: Final = "zookeeper.quotas"
#: A single row; its events are the transactions of the tree.
TRANSACTIONS: Final = "zookeeper.transactions"
LAST: Final = b""
#: The row of `PARENTS` that counts all znodes: no path is empty.
ALL: Final = b""

#: The timer of session expiry; a deadline has the key that `session_key` returns.
LIVENESS: Final = "zookeeper.liveness"
#: The timer of containers and znodes with a time to live, by path.
REAPING: Final = "zookeeper.reaping"

FAMILIES: Final = (
    ColumnFamily(name=NODES, group=GROUP),
    ColumnFamily(name=PARENTS, group=GROUP),
    ColumnFamily(name=CHILDREN, group=GROUP),
    ColumnFamily(name=EPHEMERALS, group=GROUP, counted=True),
    ColumnFamily(name=SESSIONS, group=GROUP, counted=True),
    ColumnFamily(name=QUOTAS, group=GROUP, counted=True),
    ColumnFamily(name=TRANSACTIONS, group=GROUP, row=rows.Transaction),
)


def child_key(parent: str, name: str) -> bytes:
    """Return the key of a child in the index of children."""
    return keys.pack(parent, name)


def ephemeral_key(session: int, path: str) -> bytes:
    """Return the key of a znode in the index of ephemerals."""
    return keys.pack(session, path)


def session_key(session: int) -> bytes:
    """Return the key of a session, and of its deadline."""
    return keys.pack(session)
