"""What the domain declares: every hook that it implements, and nothing else."""

from collections.abc import Sequence
from typing import Any

from quorate.builtin.resource import apply, families, service, vocabulary
from quorate.plugin import ColumnFamily, Command, DataRoute, GrpcService, Query, hookimpl
from quorate.v1 import resource_pb2 as commands


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    return families.FAMILIES


@hookimpl
def quorate_commands() -> Sequence[Command[Any]]:
    return vocabulary.COMMANDS


@hookimpl
def quorate_data_routes() -> Sequence[DataRoute[Any]]:
    return [
        DataRoute(message=commands.PutResource, apply=apply.put_resource),
        DataRoute(message=commands.PutResources, apply=apply.put_resources),
        DataRoute(message=commands.DeleteResource, apply=apply.delete_resource),
        DataRoute(message=commands.DeleteResources, apply=apply.delete_resources),
    ]


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return vocabulary.QUERIES


@hookimpl
def quorate_grpc_services() -> Sequence[GrpcService]:
    return [service.RESOURCE]
