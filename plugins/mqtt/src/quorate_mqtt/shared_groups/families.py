"""Where the groups are: each with its members in the shard of its tenant."""

from typing import Final

from quorate.plugin import ColumnFamily, keys

from quorate_mqtt.shards import GROUP, tenant_shard_of
from quorate_mqtt.v1.shared_groups_pb2 import SharedGroup, SharedGroupMember

GROUPS: Final = "mqtt.shared_groups"
MEMBERS: Final = "mqtt.shared_group_members"
#: Private: how many groups of a tenant a broker leads, by tenant and broker.
LEADERSHIPS: Final = "mqtt.leaderships"
#: The sequence of the groups.
IDS: Final = "mqtt.shared_groups"


def group_key(tenant: str, name: str) -> bytes:
    """Return the key of a group; those of its members begin with it."""
    return keys.pack(tenant, name)


def member_key(tenant: str, group: str, client_id: str, topic_filter: str) -> bytes:
    """Return the key of a member."""
    return keys.pack(tenant, group, client_id, topic_filter)


FAMILIES: Final = (
    ColumnFamily(name=GROUPS, group=GROUP, row=SharedGroup, shard_key=tenant_shard_of),
    ColumnFamily(name=MEMBERS, group=GROUP, row=SharedGroupMember, shard_key=tenant_shard_of),
    ColumnFamily(name=LEADERSHIPS, group=GROUP, shard_key=tenant_shard_of),
)
