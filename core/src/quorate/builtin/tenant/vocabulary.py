"""The words for changing and reading tenants: all that a client needs to know of the domain."""

from typing import Any, Final

from quorate.builtin.tenant import queries
from quorate.builtin.tenant.families import GROUP, tenant_key
from quorate.builtin.tenant.validation import (
    check_finish,
    check_finishes,
    check_mark,
    check_marks,
    check_tenant,
    check_tenants,
)
from quorate.plugin import Command, Items, Query, constant_key, keys
from quorate.v1.tenant_pb2 import (
    CreateTenant,
    CreateTenants,
    FinishTenantCascade,
    FinishTenantCascades,
    GetTenants,
    ListTenants,
    MarkTenant,
    MarkTenants,
    UpdateTenant,
    UpdateTenants,
)

_ACME: Final = CreateTenant(
    name="acme", description="makes everything", limits={"mqtt.sessions": 1_000, "topics": 10}
)
_BOLT: Final = CreateTenant(name="bolt")
_MORE: Final = UpdateTenant(name="acme", limits={"topics": 20})
_MARK: Final = MarkTenant(name="acme", cascades=["mqtt", "offset"])
#: The first id of a shard is 1.
_MQTT_DONE: Final = FinishTenantCascade(name="acme", id=1, cascade="mqtt")
_OFFSET_DONE: Final = FinishTenantCascade(name="acme", id=1, cascade="offset")

CREATE: Final = Command(
    message=CreateTenant,
    group=GROUP,
    shard_key=constant_key,
    validate=check_tenant,
    public=True,
    examples=(_ACME,),
)

CREATE_BATCH: Final = Command(
    message=CreateTenants,
    group=GROUP,
    items=Items(
        get=lambda command: command.tenants,
        shard_key=constant_key,
        make=lambda _, tenants: CreateTenants(tenants=tenants),
        key=lambda tenant: tenant_key(tenant.name),
    ),
    validate=check_tenants,
    public=True,
    examples=(CreateTenants(tenants=[_BOLT, _ACME]),),
)

UPDATE: Final = Command(
    message=UpdateTenant,
    group=GROUP,
    shard_key=constant_key,
    validate=check_tenant,
    public=True,
    examples=(_MORE,),
)

UPDATE_BATCH: Final = Command(
    message=UpdateTenants,
    group=GROUP,
    items=Items(
        get=lambda command: command.tenants,
        shard_key=constant_key,
        make=lambda _, tenants: UpdateTenants(tenants=tenants),
        key=lambda tenant: tenant_key(tenant.name),
    ),
    validate=check_tenants,
    public=True,
    examples=(UpdateTenants(tenants=[UpdateTenant(name="bolt", description="fast"), _MORE]),),
)

MARK: Final = Command(
    message=MarkTenant,
    group=GROUP,
    shard_key=constant_key,
    validate=check_mark,
    examples=(_MARK, MarkTenant(name="bolt")),
)

MARK_BATCH: Final = Command(
    message=MarkTenants,
    group=GROUP,
    items=Items(
        get=lambda command: command.tenants,
        shard_key=constant_key,
        make=lambda _, tenants: MarkTenants(tenants=tenants),
        key=lambda tenant: tenant_key(tenant.name),
    ),
    validate=check_marks,
    examples=(MarkTenants(tenants=[MarkTenant(name="bolt"), _MARK]),),
)

FINISH_CASCADE: Final = Command(
    message=FinishTenantCascade,
    group=GROUP,
    shard_key=constant_key,
    validate=check_finish,
    examples=(_MQTT_DONE,),
)

FINISH_CASCADE_BATCH: Final = Command(
    message=FinishTenantCascades,
    group=GROUP,
    items=Items(
        get=lambda command: command.cascades,
        shard_key=constant_key,
        make=lambda _, cascades: FinishTenantCascades(cascades=cascades),
        key=lambda cascade: keys.pack(cascade.name, cascade.id, cascade.cascade),
    ),
    validate=check_finishes,
    examples=(FinishTenantCascades(cascades=[_OFFSET_DONE, _MQTT_DONE]),),
)

GET_BATCH: Final = Query(
    message=GetTenants, group=GROUP, run=queries.get_tenants, shard_key=constant_key
)

LIST: Final = Query(
    message=ListTenants, group=GROUP, run=queries.list_tenants, shard_key=constant_key
)

COMMANDS: Final[tuple[Command[Any], ...]] = (
    CREATE,
    CREATE_BATCH,
    UPDATE,
    UPDATE_BATCH,
    MARK,
    MARK_BATCH,
    FINISH_CASCADE,
    FINISH_CASCADE_BATCH,
)
QUERIES: Final[tuple[Query[Any], ...]] = (GET_BATCH, LIST)
