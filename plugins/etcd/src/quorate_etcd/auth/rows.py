"""The rows that writes of a store are checked against."""

from __future__ import annotations

from typing import Final

from quorate.plugin import ColumnFamily, Reader, keys

from quorate_etcd.families import GROUP, store_key, store_of
from quorate_etcd.v1 import cluster_pb2, guard_pb2 as pb

#: One row a store.
GUARDS: Final = "etcd.guards"
SECRETS: Final = "etcd.secrets"
USERS: Final = "etcd.users"
ROLES: Final = "etcd.roles"
#: By node: where it serves a store.
MEMBERS: Final = "etcd.members"

FAMILIES: Final = (
    ColumnFamily(name=GUARDS, group=GROUP, row=pb.Guard, shard_key=store_of),
    # Hashes of passwords and the secret are for no watch.
    ColumnFamily(name=SECRETS, group=GROUP, shard_key=store_of),
    ColumnFamily(name=USERS, group=GROUP, shard_key=store_of),
    ColumnFamily(name=ROLES, group=GROUP, shard_key=store_of),
    ColumnFamily(name=MEMBERS, group=GROUP, row=cluster_pb2.Member, shard_key=store_of),
)


def named_key(store: str, name: str) -> bytes:
    """Return the key of the row of a user, a role or a node of a store."""
    return keys.pack(store, name)


def guard_of(reader: Reader, store: str) -> pb.Guard:
    """Return the row against which writes of a store are checked."""
    return pb.Guard.FromString(reader.get(GUARDS, store_key(store)) or b"")


def user_of(reader: Reader, store: str, name: str) -> pb.User | None:
    """Return a user."""
    found = reader.get(USERS, named_key(store, name))
    return None if found is None else pb.User.FromString(found)


def role_of(reader: Reader, store: str, name: str) -> pb.Role | None:
    """Return a role."""
    found = reader.get(ROLES, named_key(store, name))
    return None if found is None else pb.Role.FromString(found)
