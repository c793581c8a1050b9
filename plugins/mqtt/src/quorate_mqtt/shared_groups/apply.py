"""The handlers: pure functions of a transaction and a command, run on every replica."""

from functools import partial

from quorate.plugin import Rejected, Txn, answer_each
from quorate.v1.batch_pb2 import BatchReply

from quorate_mqtt.brokers import Roster, fence
from quorate_mqtt.duties import index
from quorate_mqtt.shared_groups import leading
from quorate_mqtt.shared_groups.families import GROUPS, IDS, MEMBERS, group_key, member_key
from quorate_mqtt.tenants import rows as tenants
from quorate_mqtt.v1.shared_groups_pb2 import (
    CreateSharedGroup,
    CreateSharedGroups,
    DeleteSharedGroup,
    DeleteSharedGroupReply,
    DeleteSharedGroups,
    EraseSharedGroups,
    JoinSharedGroup,
    JoinSharedGroups,
    LeaveSharedGroup,
    LeaveSharedGroupReply,
    LeaveSharedGroups,
    SharedGroup,
    SharedGroupMember,
    UpdateSharedGroup,
    UpdateSharedGroups,
)


def create_group(txn: Txn, command: CreateSharedGroup) -> SharedGroup:
    """Make a group; one that is there stays as it is."""
    return _create(txn, command, Roster(txn))


def create_groups(txn: Txn, command: CreateSharedGroups) -> BatchReply:
    """Make many groups."""
    return answer_each(txn, command.groups, partial(_create, roster=Roster(txn)))


def update_group(txn: Txn, command: UpdateSharedGroup) -> SharedGroup:
    """Replace the parameters of a group."""
    key = group_key(command.tenant, command.name)
    value = txn.get(GROUPS, key)
    if value is None:
        raise Rejected("NOT_FOUND", f"tenant {command.tenant} has no shared group {command.name}")
    group = SharedGroup.FromString(value)
    group.parameters = command.parameters
    txn.put(GROUPS, key, group.SerializeToString(deterministic=True))
    return group


def update_groups(txn: Txn, command: UpdateSharedGroups) -> BatchReply:
    """Replace the parameters of many groups."""
    return answer_each(txn, command.groups, update_group)


def delete_group(txn: Txn, command: DeleteSharedGroup) -> DeleteSharedGroupReply:
    """Delete a group with its members."""
    deleted = leading.dissolve(txn, group_key(command.tenant, command.name))
    return DeleteSharedGroupReply(deleted=deleted)


def delete_groups(txn: Txn, command: DeleteSharedGroups) -> BatchReply:
    """Delete many groups with their members."""
    return answer_each(txn, command.groups, delete_group)


def join_group(txn: Txn, command: JoinSharedGroup) -> SharedGroup:
    """Make a client a member, through the broker that serves it now."""
    return _join(txn, command, Roster(txn))


def join_groups(txn: Txn, command: JoinSharedGroups) -> BatchReply:
    """Make many clients members."""
    return answer_each(txn, command.members, partial(_join, roster=Roster(txn)))


def leave_group(txn: Txn, command: LeaveSharedGroup) -> LeaveSharedGroupReply:
    """Delete a member of that registration of a broker."""
    key = member_key(command.tenant, command.group, command.client_id, command.filter)
    value = txn.get(MEMBERS, key)
    if value is None or SharedGroupMember.FromString(value).broker_epoch != command.broker_epoch:
        return LeaveSharedGroupReply(left=False)
    leading.dismiss(txn, key)
    return LeaveSharedGroupReply(left=True)


def leave_groups(txn: Txn, command: LeaveSharedGroups) -> BatchReply:
    """Delete many members."""
    return answer_each(txn, command.members, leave_group)


def erase_groups(txn: Txn, command: EraseSharedGroups) -> BatchReply:
    """Delete the groups of these keys with their members."""
    for key in command.keys:
        leading.dissolve(txn, key)
    return BatchReply(items=len(command.keys))


def _create(txn: Txn, command: CreateSharedGroup, roster: Roster) -> SharedGroup:
    return _found(txn, command.tenant, command.name, command.parameters, roster)


def _join(txn: Txn, command: JoinSharedGroup, roster: Roster) -> SharedGroup:
    fence(txn, command.broker, command.broker_epoch)
    group = _found(txn, command.tenant, command.group, b"", roster)
    key = member_key(command.tenant, command.group, command.client_id, command.filter)
    former = SharedGroupMember.FromString(txn.get(MEMBERS, key) or b"")
    index.release(txn, former.broker_epoch, MEMBERS, key)
    member = SharedGroupMember(
        broker=command.broker,
        broker_epoch=command.broker_epoch,
        connection_id=command.connection_id,
        joined_at_ms=txn.proposed_at_ms,
        parameters=command.parameters,
    )
    txn.put(MEMBERS, key, member.SerializeToString(deterministic=True))
    index.entrust(txn, command.broker_epoch, MEMBERS, key)
    return group


def _found(txn: Txn, tenant: str, name: str, parameters: bytes, roster: Roster) -> SharedGroup:
    """Return the group of that name, which is made if there is none."""
    tenants.there(txn, tenant)
    key = group_key(tenant, name)
    value = txn.get(GROUPS, key)
    if value is not None:
        return SharedGroup.FromString(value)
    group = SharedGroup(
        id=txn.next_id(IDS), created_at_ms=txn.proposed_at_ms, parameters=parameters
    )
    return leading.elect(txn, key, group, roster)
