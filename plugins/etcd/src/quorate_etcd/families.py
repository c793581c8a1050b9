"""The column families and their keys.

The rows of a store lie in one shard: its writes are one line of transactions. Every key begins with
the packed name of its store, which is the shard key.
"""

from functools import lru_cache
from typing import Final

from quorate.plugin import ColumnFamily, keys

from quorate_etcd.v1 import rows_pb2 as rows

GROUP: Final = "etcd"
#: One row a store; its events are the transactions of the store.
TRANSACTIONS: Final = "etcd.transactions"
#: By key: where its newest version is.
KEYS: Final = "etcd.keys"
#: By revision and the number of the change in it: every version, and every end of a key.
REVISIONS: Final = "etcd.revisions"
#: By key and the change that ended it: earlier versions.
PAST: Final = "etcd.past"
LEASES: Final = "etcd.leases"
#: By lease and key; the values are empty.
LEASE_KEYS: Final = "etcd.lease_keys"
#: One row a store with leases: how many there are.
LEASE_COUNTS: Final = "etcd.lease_counts"

#: The timer of leases; a deadline has the key of the lease's row.
LIVENESS: Final = "etcd.liveness"
#: The timer of compaction; a deadline has the key of the store's row.
COMPACTION: Final = "etcd.compaction"


@lru_cache(maxsize=64)
def store_key(store: str) -> bytes:
    """Return the prefix of the keys of a store, which is also its row's key and its shard key."""
    return keys.pack(store)


def store_of(key: bytes) -> bytes:
    """Return the part of a row's key that names its store."""
    return key[: key.index(0) + 1]


def end_of(prefix: bytes) -> bytes:
    """Return the end of the keys of a store, by their prefix."""
    return prefix[:-1] + b"\x01"


def revision_key(prefix: bytes, revision: int, sub: int = 0) -> bytes:
    """Return the key of a change in `REVISIONS`."""
    return prefix + revision.to_bytes(8) + sub.to_bytes(4)


def past_key(prefix: bytes, key: bytes, revision: int, sub: int) -> bytes:
    """Return the key of an earlier version of a key, by the change that ended it."""
    return prefix + keys.pack(key) + revision.to_bytes(8) + sub.to_bytes(4)


def lease_key(prefix: bytes, lease: int) -> bytes:
    """Return the key of a lease, and of its deadline."""
    return prefix + keys.pack(lease)


def attached_key(prefix: bytes, lease: int, key: bytes) -> bytes:
    """Return the key of a pair's key in the index of a lease."""
    return prefix + keys.pack(lease, key)


def attached_of(row: bytes) -> bytes:
    """Return the key of a pair from its key in the index of a lease."""
    *_, key = keys.unpack(row)
    assert isinstance(key, bytes)
    return key


FAMILIES: Final = (
    ColumnFamily(name=TRANSACTIONS, group=GROUP, row=rows.Transaction, shard_key=store_of),
    ColumnFamily(name=KEYS, group=GROUP, shard_key=store_of),
    ColumnFamily(name=REVISIONS, group=GROUP, shard_key=store_of),
    ColumnFamily(name=PAST, group=GROUP, shard_key=store_of),
    ColumnFamily(name=LEASES, group=GROUP, counted=True, shard_key=store_of),
    ColumnFamily(name=LEASE_KEYS, group=GROUP, shard_key=store_of),
    ColumnFamily(name=LEASE_COUNTS, group=GROUP, shard_key=store_of),
)
