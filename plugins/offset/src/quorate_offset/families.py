"""The Raft group, its column families, and their keys."""

from typing import Final

from quorate.plugin import Access, ColumnFamily, keys
from quorate.plugin.access import Right
from quorate.plugin.advanced import tenant_place

from quorate_offset.v1.rows_pb2 import Offset

GROUP: Final = "offset"
OFFSETS: Final = "offset.offsets"
SUBSCRIPTION_GROUPS: Final = "offset.groups"
#: The marks of consumer groups, by the key of the group.
MARKS: Final = "offset.marks"
#: The index of groups by the revision of their last change: one row per group, with no value.
CHANGES: Final = "offset.changes"
#: One row per shard: the revision up to which it has forgotten its deleted groups.
FLOORS: Final = "offset.floors"

_REVISION_BYTES: Final = 8


def group_key(tenant: str, group: str) -> bytes:
    """Return the key of a group, which is its shard key too.

    It is computed several times for each group of a commit: text without zeros is packed here,
    which is faster.
    """
    if "\0" in tenant or "\0" in group:
        return keys.pack(tenant, group)
    return f"\2{tenant}\0\2{group}\0".encode()


def of_group(right: Right, items: str = "") -> Access:
    """Return the access that a request on groups needs."""
    return Access(right=right, items=items, tenant="tenant", key="group")


def group_of(key: bytes) -> tuple[str, str]:
    """Return the tenant and the name of the group with this key."""
    tenant, group = keys.unpack(key)
    return str(tenant), str(group)


def offset_key(topic_key: bytes, partition: int) -> bytes:
    """Return the key of an offset; `topic_key` is its group's key with the packed topic."""
    return topic_key + keys.pack(partition)


def change_key(revision: int, group: bytes) -> bytes:
    """Return the key of a group's change; changes are ordered by revision."""
    return revision.to_bytes(_REVISION_BYTES) + group


def change_of(key: bytes) -> tuple[int, bytes]:
    """Return the revision of a change, and the key of its group."""
    return int.from_bytes(key[:_REVISION_BYTES]), key[_REVISION_BYTES:]


def _shard_of_offset(key: bytes) -> bytes:
    return keys.pack(*keys.unpack(key)[:2])


FAMILIES: Final = (
    ColumnFamily(
        name=OFFSETS, group=GROUP, row=Offset, shard_key=_shard_of_offset, place=tenant_place
    ),
    ColumnFamily(name=MARKS, group=GROUP, shard_key=lambda key: key),
    ColumnFamily(name=CHANGES, group=GROUP, shard_key=lambda key: change_of(key)[1]),
    # The larger floor: a reader of changes has read nothing of a merged shard yet.
    ColumnFamily(name=FLOORS, group=GROUP, joins=lambda _, own, other: max(own, other)),
)
