"""What the domain declares: every hook that it implements, and nothing else."""

from collections.abc import Sequence
from typing import Any

from quorate.builtin.kv import apply, families, service, tables, timers, vocabulary
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
from quorate.v1 import kv_pb2 as kv


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    return [families.FAMILY]


@hookimpl
def quorate_commands() -> Sequence[Command[Any]]:
    return vocabulary.COMMANDS


@hookimpl
def quorate_data_routes() -> Sequence[DataRoute[Any]]:
    return [
        DataRoute(message=kv.PutPair, apply=apply.put_pair),
        DataRoute(message=kv.PutPairs, apply=apply.put_pairs),
        DataRoute(message=kv.DeletePair, apply=apply.delete_pair),
        DataRoute(message=kv.DeletePairs, apply=apply.delete_pairs),
        DataRoute(message=kv.TouchPair, apply=apply.touch_pair),
        DataRoute(message=kv.TouchPairs, apply=apply.touch_pairs),
        DataRoute(message=kv.CommitPairs, apply=apply.commit_pairs),
        DataRoute(message=kv.CommitPairsBatch, apply=apply.commit_pairs_batch),
        DataRoute(message=kv.ExpirePairs, apply=apply.expire_pairs),
    ]


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return vocabulary.QUERIES


@hookimpl
def quorate_controllers() -> Sequence[Controller | Timer]:
    return [timers.EXPIRY]


@hookimpl
def quorate_grpc_services() -> Sequence[GrpcService]:
    return [service.KV]


@hookimpl
def quorate_extensions() -> Sequence[ExtensionPoint | Extension]:
    return [tables.EXTENSION]
