"""What groups of shared subscriptions declare."""

from collections.abc import Callable
from typing import Any, Final

from quorate.plugin import Command, DataRoute

from quorate_mqtt.batches import Batch
from quorate_mqtt.brokers import BROKERS
from quorate_mqtt.resource import Holding, Resource
from quorate_mqtt.sessions.validation import alone
from quorate_mqtt.shards import GROUP, tenant_shard_of
from quorate_mqtt.shared_groups import apply, validation
from quorate_mqtt.shared_groups.families import FAMILIES, GROUPS, group_key, member_key
from quorate_mqtt.shared_groups.service import SERVICE
from quorate_mqtt.tenants.rows import TENANTS
from quorate_mqtt.v1.shared_groups_pb2 import (
    CreateSharedGroup,
    CreateSharedGroups,
    DeleteSharedGroup,
    DeleteSharedGroups,
    EraseSharedGroups,
    JoinSharedGroup,
    JoinSharedGroups,
    LeaveSharedGroup,
    LeaveSharedGroups,
    UpdateSharedGroup,
    UpdateSharedGroups,
)

_READS: Final = (BROKERS, TENANTS)

_WORKERS: Final = CreateSharedGroup(tenant="acme", name="workers", parameters=b"round-robin")
_CHANGE: Final = UpdateSharedGroup(tenant="acme", name="workers", parameters=b"sticky")
_JOIN: Final = JoinSharedGroup(
    tenant="acme",
    group="workers",
    client_id="ada",
    filter="jobs/+",
    broker="broker-1",
    broker_epoch=1,
    connection_id=7,
)
_LEAVE: Final = LeaveSharedGroup(
    tenant="acme", group="workers", client_id="ada", filter="jobs/+", broker_epoch=1
)
_DELETE: Final = DeleteSharedGroup(tenant="acme", name="workers")

_CREATION: Final = Batch[CreateSharedGroup](message=CreateSharedGroups, field="groups")
_CHANGES: Final = Batch[UpdateSharedGroup](message=UpdateSharedGroups, field="groups")
_DELETION: Final = Batch[DeleteSharedGroup](message=DeleteSharedGroups, field="groups")
_JOINING: Final = Batch[JoinSharedGroup](message=JoinSharedGroups, field="members")
_LEAVING: Final = Batch[LeaveSharedGroup](message=LeaveSharedGroups, field="members")
_ERASURE: Final = Batch[bytes](message=EraseSharedGroups, field="keys")


def _group(item: CreateSharedGroup | UpdateSharedGroup | DeleteSharedGroup) -> bytes:
    return group_key(item.tenant, item.name)


def _member(item: JoinSharedGroup | LeaveSharedGroup) -> bytes:
    return member_key(item.tenant, item.group, item.client_id, item.filter)


def _both(
    one: Any, batch: Batch[Any], key: Callable[[Any], bytes], check: Callable[[Any, str], None]
) -> tuple[Command[Any], Command[Any]]:
    """Return a command of one item, and that of many of them; `one` is the example."""
    alone_command = Command(
        message=type(one),
        group=GROUP,
        shard_key=lambda item: tenant_shard_of(key(item)),
        validate=alone(check),
        public=True,
        examples=(one,),
    )
    many = batch.command(
        key=key, shard_of=tenant_shard_of, check=check, public=True, examples=([one],)
    )
    return alone_command, many


RESOURCE: Final = Resource(
    families=FAMILIES,
    commands=(
        *_both(_WORKERS, _CREATION, _group, validation.check_group),
        *_both(_CHANGE, _CHANGES, _group, validation.check_group),
        *_both(_JOIN, _JOINING, _member, validation.check_join),
        *_both(_LEAVE, _LEAVING, _member, validation.check_leave),
        *_both(_DELETE, _DELETION, _group, validation.check_named),
        _ERASURE.command(
            key=lambda key: key, shard_of=tenant_shard_of, examples=([_group(_DELETE)],)
        ),
    ),
    routes=(
        DataRoute(message=CreateSharedGroup, apply=apply.create_group, reads=_READS),
        DataRoute(message=CreateSharedGroups, apply=apply.create_groups, reads=_READS),
        DataRoute(message=UpdateSharedGroup, apply=apply.update_group),
        DataRoute(message=UpdateSharedGroups, apply=apply.update_groups),
        DataRoute(message=JoinSharedGroup, apply=apply.join_group, reads=_READS),
        DataRoute(message=JoinSharedGroups, apply=apply.join_groups, reads=_READS),
        DataRoute(message=LeaveSharedGroup, apply=apply.leave_group),
        DataRoute(message=LeaveSharedGroups, apply=apply.leave_groups),
        DataRoute(message=DeleteSharedGroup, apply=apply.delete_group),
        DataRoute(message=DeleteSharedGroups, apply=apply.delete_groups),
        DataRoute(message=EraseSharedGroups, apply=apply.erase_groups),
    ),
    services=(SERVICE,),
    holdings=(Holding(family=GROUPS, erase=_ERASURE.of),),
)
