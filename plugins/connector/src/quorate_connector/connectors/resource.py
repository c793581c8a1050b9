"""What connectors declare."""

from typing import Any, Final

from quorate.builtin.tenant.api import TenantCascade
from quorate.plugin import Command, Controller, DataRoute, Extension, Items, Query

from quorate_connector.connectors import apply, deletion, queries, validation
from quorate_connector.connectors.families import FAMILIES, connector_key
from quorate_connector.connectors.service import SERVICE
from quorate_connector.connectors.tenants import TENANTS
from quorate_connector.resource import Resource
from quorate_connector.shard import GROUP, shard_key
from quorate_connector.v1.connector_queries_pb2 import (
    GetConnectorQuery,
    GetTenantMarkQuery,
    ListConnectorsQuery,
    ListVersionsQuery,
)
from quorate_connector.v1.connectors_pb2 import (
    TARGET_PAUSED,
    TARGET_RUNNING,
    CreateConnector,
    CreateConnectors,
    Definition,
    DeleteConnector,
    DeleteConnectors,
    PutConnector,
    PutConnectors,
    RestartTasks,
    RollBackConnector,
    SetConnectorTarget,
    UpdateConnector,
    UpdateConnectors,
)

_CONFIG: Final = b'{"topic":"orders","path":"/var/lib/orders","format":"lines","sync":true}'
_DEFINITION: Final = Definition(
    type="file", config=_CONFIG, tasks_max=2, failures_max=10, backoff_ms=1_000
)
_LARGER: Final = Definition(
    type="file", config=_CONFIG, tasks_max=3, failures_max=10, backoff_ms=1_000
)
_ORDERS: Final = CreateConnector(tenant="acme", name="orders", definition=_DEFINITION)
_BILLS: Final = CreateConnector(
    tenant="acme", name="bills", definition=_LARGER, target=TARGET_PAUSED
)
_PUT: Final = PutConnector(tenant="acme", name="orders", definition=_LARGER)
_CHANGE: Final = UpdateConnector(
    tenant="acme", name="orders", definition=_LARGER, expected_version=1
)


def _items(batch: type[Any]) -> Items[Any, Any]:
    return Items(
        get=lambda command: command.connectors,
        shard_key=shard_key,
        make=lambda _, connectors: batch(connectors=connectors),
        key=lambda named: connector_key(named.tenant, named.name),
    )


RESOURCE: Final = Resource(
    families=FAMILIES,
    commands=(
        Command(
            message=CreateConnector,
            group=GROUP,
            shard_key=shard_key,
            validate=validation.check_create,
            examples=(_ORDERS, _BILLS),
        ),
        Command(
            message=UpdateConnector,
            group=GROUP,
            shard_key=shard_key,
            validate=validation.check_update,
            examples=(_CHANGE,),
        ),
        Command(
            message=PutConnector,
            group=GROUP,
            shard_key=shard_key,
            validate=validation.check_create,
            examples=(_PUT,),
        ),
        Command(
            message=RollBackConnector,
            group=GROUP,
            shard_key=shard_key,
            validate=validation.check_roll_back,
            examples=(RollBackConnector(tenant="acme", name="orders", version=1),),
        ),
        Command(
            message=SetConnectorTarget,
            group=GROUP,
            shard_key=shard_key,
            validate=validation.check_set_target,
            public=True,
            examples=(SetConnectorTarget(tenant="acme", name="bills", target=TARGET_RUNNING),),
        ),
        Command(
            message=RestartTasks,
            group=GROUP,
            shard_key=shard_key,
            validate=validation.check_restart,
            public=True,
            examples=(RestartTasks(tenant="acme", name="orders", tasks=[1]),),
        ),
        Command(
            message=DeleteConnector,
            group=GROUP,
            shard_key=shard_key,
            validate=validation.check_named,
            public=True,
            examples=(DeleteConnector(tenant="acme", name="bills"),),
        ),
        Command(
            message=CreateConnectors,
            group=GROUP,
            items=_items(CreateConnectors),
            validate=validation.check_creates,
            examples=(CreateConnectors(connectors=[_ORDERS, _BILLS]),),
        ),
        Command(
            message=UpdateConnectors,
            group=GROUP,
            items=_items(UpdateConnectors),
            validate=validation.check_updates,
            examples=(UpdateConnectors(connectors=[_CHANGE]),),
        ),
        Command(
            message=PutConnectors,
            group=GROUP,
            items=_items(PutConnectors),
            validate=validation.check_creates,
            examples=(PutConnectors(connectors=[_PUT]),),
        ),
        Command(
            message=DeleteConnectors,
            group=GROUP,
            items=_items(DeleteConnectors),
            validate=validation.check_deletes,
            examples=(
                DeleteConnectors(connectors=[DeleteConnector(tenant="acme", name="orders")]),
            ),
        ),
    ),
    routes=(
        DataRoute(message=CreateConnector, apply=apply.create_connector, reads=(TENANTS,)),
        DataRoute(message=UpdateConnector, apply=apply.update_connector),
        DataRoute(message=PutConnector, apply=apply.put_connector, reads=(TENANTS,)),
        DataRoute(message=PutConnectors, apply=apply.put_connectors, reads=(TENANTS,)),
        DataRoute(message=RollBackConnector, apply=apply.roll_back_connector),
        DataRoute(message=SetConnectorTarget, apply=apply.set_connector_target),
        DataRoute(message=RestartTasks, apply=apply.restart_tasks),
        DataRoute(message=DeleteConnector, apply=apply.delete_connector),
        DataRoute(message=CreateConnectors, apply=apply.create_connectors, reads=(TENANTS,)),
        DataRoute(message=UpdateConnectors, apply=apply.update_connectors),
        DataRoute(message=DeleteConnectors, apply=apply.delete_connectors),
    ),
    queries=(
        Query(
            message=GetConnectorQuery, group=GROUP, run=queries.get_connector, shard_key=shard_key
        ),
        Query(
            message=ListConnectorsQuery,
            group=GROUP,
            run=queries.list_connectors,
            shard_key=shard_key,
        ),
        Query(
            message=ListVersionsQuery, group=GROUP, run=queries.list_versions, shard_key=shard_key
        ),
        Query(
            message=GetTenantMarkQuery,
            group=GROUP,
            run=queries.get_tenant_mark,
            shard_key=shard_key,
            reads=(TENANTS,),
        ),
    ),
    controllers=(
        Controller(
            name="connector.tenant_deletion",
            group=GROUP,
            run_once=deletion.run_once,
            interval_s=10.0,
            wake_on=(TENANTS,),
        ),
    ),
    services=(SERVICE,),
    extensions=(
        Extension(
            point="tenant.cascades", name=deletion.CASCADE, value=TenantCascade(deletion.holds)
        ),
    ),
)
