"""What the domain declares: every hook that it implements, and nothing else."""

from collections.abc import Sequence
from typing import Any

from quorate.builtin.tenant import apply, cascades, families, service, vocabulary
from quorate.plugin import (
    ColumnFamily,
    Command,
    DataRoute,
    Extension,
    ExtensionPoint,
    GrpcService,
    Query,
    hookimpl,
)
from quorate.v1 import tenant_pb2 as commands


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    return families.FAMILIES


@hookimpl
def quorate_commands() -> Sequence[Command[Any]]:
    return vocabulary.COMMANDS


@hookimpl
def quorate_data_routes() -> Sequence[DataRoute[Any]]:
    return [
        DataRoute(message=commands.CreateTenant, apply=apply.create_tenant),
        DataRoute(message=commands.CreateTenants, apply=apply.create_tenants),
        DataRoute(message=commands.UpdateTenant, apply=apply.update_tenant),
        DataRoute(message=commands.UpdateTenants, apply=apply.update_tenants),
        DataRoute(message=commands.MarkTenant, apply=apply.mark_tenant),
        DataRoute(message=commands.MarkTenants, apply=apply.mark_tenants),
        DataRoute(message=commands.FinishTenantCascade, apply=apply.finish_cascade),
        DataRoute(message=commands.FinishTenantCascades, apply=apply.finish_cascades),
    ]


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return vocabulary.QUERIES


@hookimpl
def quorate_grpc_services() -> Sequence[GrpcService]:
    return [service.TENANT]


@hookimpl
def quorate_extensions() -> Sequence[ExtensionPoint | Extension]:
    return [cascades.POINT]
