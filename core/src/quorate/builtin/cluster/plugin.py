"""What the domain declares: every hook that it implements, and nothing else."""

from collections.abc import Sequence
from typing import Any

from quorate.builtin.cluster import apply, families, service, vocabulary
from quorate.builtin.cluster.coordinators import commands as coordinators, rows
from quorate.builtin.cluster.coordinators.controllers import MOVING
from quorate.builtin.cluster.coordinators.service import SERVICE as COORDINATORS
from quorate.plugin import (
    ColumnFamily,
    Command,
    Controller,
    DataRoute,
    GrpcService,
    Query,
    Timer,
    hookimpl,
)
from quorate.v1 import cluster_pb2 as messages


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    return (*families.FAMILIES, *rows.FAMILIES)


@hookimpl
def quorate_commands() -> Sequence[Command[Any]]:
    return (*vocabulary.COMMANDS, *coordinators.COMMANDS)


@hookimpl
def quorate_data_routes() -> Sequence[DataRoute[Any]]:
    return [
        DataRoute(message=messages.RegisterBroker, apply=apply.register),
        DataRoute(message=messages.RegisterBrokers, apply=apply.register_all),
        DataRoute(message=messages.SendHeartbeat, apply=apply.take_heartbeat),
        DataRoute(message=messages.SendHeartbeats, apply=apply.take_heartbeats),
        DataRoute(message=messages.UnregisterBroker, apply=apply.unregister),
        DataRoute(message=messages.UnregisterBrokers, apply=apply.unregister_all),
        DataRoute(message=messages.ExpireBrokers, apply=apply.expire),
        *coordinators.ROUTES,
    ]


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return (*vocabulary.QUERIES, *coordinators.QUERIES)


@hookimpl
def quorate_controllers() -> Sequence[Controller | Timer]:
    return [vocabulary.LIVENESS, MOVING]


@hookimpl
def quorate_grpc_services() -> Sequence[GrpcService]:
    return [service.SERVICE, COORDINATORS]
