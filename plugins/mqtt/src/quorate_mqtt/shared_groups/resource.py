"""Groups of shared subscriptions and their members: each broker's clients join and leave them."""

from typing import Any, Final

from quorate.builtin.cluster.api import BROKERS
from quorate.plugin import Invalid, Item, Rejected, Resource, Serving, Txn, Verb
from quorate.plugin.checking import LONGEST_NAME, check_bytes, check_text
from quorate.plugin.resource import TENANTS, tenant_there

from quorate_mqtt.brokers import LiveBrokers, fence, with_live_brokers
from quorate_mqtt.duties import index
from quorate_mqtt.names import check_epoch, check_identity, check_topic_filter, when_given
from quorate_mqtt.shards import GROUP
from quorate_mqtt.shared_groups import leading
from quorate_mqtt.shared_groups.leading import GROUPS, MEMBERS, group_key, member_key
from quorate_mqtt.topic_filters import group_of
from quorate_mqtt.v1 import shared_groups_pb2 as pb

#: The sequence of the groups.
IDS: Final = "mqtt.shared_groups"
LARGEST_PARAMETERS: Final = 16 * 1024
_SERVICE: Final = pb.DESCRIPTOR.services_by_name["SharedGroupService"]


def create_group(
    txn: Txn, command: pb.CreateSharedGroup, live_brokers: LiveBrokers
) -> pb.SharedGroup:
    """Create a group; an existing group stays unchanged."""
    return _founded(txn, command.tenant, command.name, command.parameters, live_brokers)


def update_group(txn: Txn, command: pb.UpdateSharedGroup) -> pb.SharedGroup:
    """Replace the parameters of a group."""
    key = group_key(command.tenant, command.name)
    value = txn.get(GROUPS, key)
    if value is None:
        raise Rejected("NOT_FOUND", f"tenant {command.tenant} has no shared group {command.name}")
    group = pb.SharedGroup.FromString(value)
    group.parameters = command.parameters
    txn.put(GROUPS, key, group.SerializeToString(deterministic=True))
    return group


def delete_group(txn: Txn, command: pb.DeleteSharedGroup) -> pb.DeleteSharedGroupReply:
    """Delete a group with its members."""
    deleted = leading.dissolve(txn, group_key(command.tenant, command.name))
    return pb.DeleteSharedGroupReply(deleted=deleted)


def join_group(txn: Txn, command: pb.JoinSharedGroup, live_brokers: LiveBrokers) -> pb.SharedGroup:
    """Make a client a member, through the broker that serves it now."""
    fence(txn, command.broker, command.broker_epoch)
    group = _founded(txn, command.tenant, command.group, b"", live_brokers)
    key = member_key(command.tenant, command.group, command.client_id, command.filter)
    former = pb.SharedGroupMember.FromString(txn.get(MEMBERS, key) or b"")
    index.release(txn, former.broker_epoch, MEMBERS, key)
    member = pb.SharedGroupMember(
        broker=command.broker,
        broker_epoch=command.broker_epoch,
        connection_id=command.connection_id,
        joined_at_ms=txn.proposed_at_ms,
        parameters=command.parameters,
    )
    txn.put(MEMBERS, key, member.SerializeToString(deterministic=True))
    index.entrust(txn, command.broker_epoch, MEMBERS, key)
    return group


def leave_group(txn: Txn, command: pb.LeaveSharedGroup) -> pb.LeaveSharedGroupReply:
    """Delete a member, if it belongs to this registration of its broker."""
    key = member_key(command.tenant, command.group, command.client_id, command.filter)
    value = txn.get(MEMBERS, key)
    epoch = None if value is None else pb.SharedGroupMember.FromString(value).broker_epoch
    if epoch != command.broker_epoch:
        return pb.LeaveSharedGroupReply(left=False)
    leading.dismiss(txn, key)
    return pb.LeaveSharedGroupReply(left=True)


def check_share_name(field: str, name: str) -> None:
    """Reject a name that MQTT does not allow for the group of a shared subscription."""
    check_text(field, name, LONGEST_NAME)
    if any(character in name for character in "/+#"):
        raise Invalid(field, "must not have '/', '+' or '#'")


def _founded(
    txn: Txn, tenant: str, name: str, parameters: bytes, live_brokers: LiveBrokers
) -> pb.SharedGroup:
    """Return the group of a name; create it if it does not exist."""
    tenant_there(txn, tenant)
    key = group_key(tenant, name)
    value = txn.get(GROUPS, key)
    if value is not None:
        return pb.SharedGroup.FromString(value)
    group = pb.SharedGroup(
        id=txn.next_id(IDS), created_at_ms=txn.proposed_at_ms, parameters=parameters
    )
    return leading.elect(txn, key, group, live_brokers)


def _check_parameters(
    command: pb.CreateSharedGroup | pb.UpdateSharedGroup | pb.JoinSharedGroup, path: str
) -> None:
    check_bytes(f"{path}parameters", command.parameters, LARGEST_PARAMETERS)


def _check_join(command: pb.JoinSharedGroup, path: str) -> None:
    _check_leave(command, path)
    check_identity(f"{path}broker", command.broker)
    _check_parameters(command, path)


def _check_leave(command: pb.JoinSharedGroup | pb.LeaveSharedGroup, path: str) -> None:
    check_epoch(f"{path}broker_epoch", command.broker_epoch)


def _check_filter(field: str, topic_filter: str) -> None:
    check_topic_filter(field, topic_filter)
    if group_of(topic_filter):
        raise Invalid(field, "must be the filter alone, without $share and the group")


_WORKERS: Final[dict[str, Any]] = {"tenant": "acme", "name": "workers"}
_ADA: Final[dict[str, Any]] = {
    "tenant": "acme",
    "group": "workers",
    "client_id": "ada",
    "filter": "jobs/+",
    "broker_epoch": 1,
}

SHARED_GROUP: Final[Resource[pb.SharedGroup]] = Resource(
    family=GROUPS,
    group=GROUP,
    row=pb.SharedGroup,
    serving=Serving(
        answer=pb.KeyedSharedGroup,
        methods=(
            *("Create", "CreateBatch", "Update", "UpdateBatch", "Delete", "DeleteBatch"),
            *("Get", "GetBatch", "List", "StreamList"),
        ),
        keep=when_given(leader=check_identity),
    ),
    service=_SERVICE,
    key=("tenant", "name"),
    check_key={"name": check_share_name},
    shard_by=("tenant",),
    tenant="tenant",
    verbs={
        "Create": Verb(
            apply_all=with_live_brokers("groups", create_group),
            check=_check_parameters,
            item=Item(reply=pb.SharedGroup),
            reads=(BROKERS,),
            examples=(pb.CreateSharedGroup(**_WORKERS, parameters=b"round-robin"),),
        ),
        "Update": Verb(
            apply=update_group,
            check=_check_parameters,
            item=Item(reply=pb.SharedGroup),
            examples=(pb.UpdateSharedGroup(**_WORKERS, parameters=b"sticky"),),
        ),
        "Delete": Verb(
            apply=delete_group,
            item=Item(reply=pb.DeleteSharedGroupReply),
            examples=(pb.DeleteSharedGroup(**_WORKERS),),
        ),
    },
)

#: Members are deleted with their group.
SHARED_GROUP_MEMBER: Final[Resource[pb.SharedGroupMember]] = Resource(
    family=MEMBERS,
    group=GROUP,
    row=pb.SharedGroupMember,
    serving=Serving(
        answer=pb.KeyedSharedGroupMember,
        methods=("Join", "JoinBatch", "Leave", "LeaveBatch", "ListMembers"),
        keep=when_given(broker=check_identity),
    ),
    service=_SERVICE,
    key=("tenant", "group", "client_id", "filter"),
    check_key={"group": check_share_name, "client_id": check_identity, "filter": _check_filter},
    shard_by=("tenant",),
    verbs={
        "Join": Verb(
            apply_all=with_live_brokers("members", join_group),
            check=_check_join,
            item=Item(reply=pb.SharedGroup),
            reads=(BROKERS, TENANTS),
            examples=(pb.JoinSharedGroup(**_ADA, broker="broker-1", connection_id=7),),
        ),
        "Leave": Verb(
            apply=leave_group,
            check=_check_leave,
            item=Item(reply=pb.LeaveSharedGroupReply),
            examples=(pb.LeaveSharedGroup(**_ADA),),
        ),
    },
)
