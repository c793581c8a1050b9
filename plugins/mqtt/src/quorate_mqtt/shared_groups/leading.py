"""The leader of a group: the live broker that leads the fewest groups of the tenant."""

from typing import Final

from quorate.plugin import ColumnFamily, Txn, keys

from quorate_mqtt.brokers import LiveBrokers
from quorate_mqtt.counts import add_to, count_at
from quorate_mqtt.duties import index
from quorate_mqtt.shards import GROUP, tenant_shard_of
from quorate_mqtt.v1.shared_groups_pb2 import SharedGroup, SharedGroupMember

GROUPS: Final = "mqtt.shared_groups"
MEMBERS: Final = "mqtt.shared_group_members"
#: Private: the number of led groups, by tenant and broker.
LEADERSHIPS: Final = ColumnFamily(name="mqtt.leaderships", group=GROUP, shard_key=tenant_shard_of)


def group_key(tenant: str, name: str) -> bytes:
    """Return the key of a group; those of its members begin with it."""
    return keys.pack(tenant, name)


def member_key(tenant: str, group: str, client_id: str, topic_filter: str) -> bytes:
    """Return the key of a member."""
    return keys.pack(tenant, group, client_id, topic_filter)


def group_of(value: bytes) -> SharedGroup:
    """Return the group of a row."""
    return SharedGroup.FromString(value)


def elect(txn: Txn, key: bytes, group: SharedGroup, live_brokers: LiveBrokers) -> SharedGroup:
    """Elect a new leader of a group; ties go to the first broker by name."""
    tenant = _tenant_of(key)
    _resign(txn, key, group)
    serving = live_brokers.serving()
    if serving:
        led = {
            each.name: count_at(txn, LEADERSHIPS.name, keys.pack(tenant, each.name))
            for each in serving
        }
        broker = min(serving, key=lambda each: (led[each.name], each.name))
        group.leader, group.leader_epoch = broker.name, broker.epoch
        group.leader_term += 1
        add_to(txn, LEADERSHIPS.name, keys.pack(tenant, broker.name), 1)
    else:
        group.leader, group.leader_epoch = "", 0
    txn.put(GROUPS, key, group.SerializeToString(deterministic=True))
    index.entrust(txn, group.leader_epoch, GROUPS, key)
    return group


def dissolve(txn: Txn, key: bytes) -> bool:
    """Delete a group with its members; return whether it existed."""
    value = txn.get(GROUPS, key)
    if value is None:
        return False
    for member in txn.scan(MEMBERS, key, key + b"\xff"):
        dismiss(txn, member.key)
    _resign(txn, key, group_of(value))
    txn.delete(GROUPS, key)
    return True


def dismiss(txn: Txn, key: bytes) -> None:
    """Delete a member, if it exists."""
    value = txn.get(MEMBERS, key)
    if value is not None:
        index.release(txn, SharedGroupMember.FromString(value).broker_epoch, MEMBERS, key)
        txn.delete(MEMBERS, key)


def _resign(txn: Txn, key: bytes, group: SharedGroup) -> None:
    index.release(txn, group.leader_epoch, GROUPS, key)
    if group.leader:
        add_to(txn, LEADERSHIPS.name, keys.pack(_tenant_of(key), group.leader), -1)


def _tenant_of(key: bytes) -> str:
    return str(keys.unpack(key)[0])
