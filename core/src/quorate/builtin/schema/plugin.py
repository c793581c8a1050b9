"""What the domain declares: every hook that it implements, and nothing else."""

from collections.abc import Sequence
from typing import Any, Final

from quorate.builtin.schema import apply, deletion, families, service, vocabulary
from quorate.plugin import (
    ColumnFamily,
    Command,
    Controller,
    DataRoute,
    Extension,
    ExtensionPoint,
    GrpcService,
    Query,
    Timer,
    hookimpl,
)
from quorate.v1 import schema_pb2 as commands

_TENANTS: Final = (families.TENANTS,)


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    return families.FAMILIES


@hookimpl
def quorate_commands() -> Sequence[Command[Any]]:
    return vocabulary.COMMANDS


@hookimpl
def quorate_data_routes() -> Sequence[DataRoute[Any]]:
    return [
        DataRoute(message=commands.CreateSchema, apply=apply.create_schema, reads=_TENANTS),
        DataRoute(message=commands.CreateSchemas, apply=apply.create_schemas, reads=_TENANTS),
        DataRoute(message=commands.PutSchema, apply=apply.put_schema, reads=_TENANTS),
        DataRoute(message=commands.PutSchemas, apply=apply.put_schemas, reads=_TENANTS),
        DataRoute(message=commands.UpdateSchema, apply=apply.update_schema),
        DataRoute(message=commands.UpdateSchemas, apply=apply.update_schemas),
        DataRoute(message=commands.DeleteSchema, apply=apply.delete_schema),
        DataRoute(message=commands.DeleteSchemas, apply=apply.delete_schemas),
        DataRoute(message=commands.BindSchema, apply=apply.bind_schema, reads=_TENANTS),
        DataRoute(message=commands.BindSchemas, apply=apply.bind_schemas, reads=_TENANTS),
        DataRoute(message=commands.UnbindSchema, apply=apply.unbind_schema),
        DataRoute(message=commands.UnbindSchemas, apply=apply.unbind_schemas),
    ]


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return vocabulary.QUERIES


@hookimpl
def quorate_grpc_services() -> Sequence[GrpcService]:
    return [service.SCHEMA]


@hookimpl
def quorate_controllers() -> Sequence[Controller | Timer]:
    return [deletion.DELETION]


@hookimpl
def quorate_extensions() -> Sequence[ExtensionPoint | Extension]:
    return [deletion.TAKES_PART]
