"""What the domain declares: every hook that it implements, and nothing else."""

from collections.abc import Sequence
from typing import Any

from quorate.builtin.kv import apply, families, service, tables, vocabulary
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
        DataRoute(message=message, apply=handler)
        for message, handler in (
            (kv.PutPair, apply.put_pair),
            (kv.PutPairs, apply.put_pairs),
            (kv.DeletePair, apply.delete_pair),
            (kv.DeletePairs, apply.delete_pairs),
            (kv.TouchPair, apply.touch_pair),
            (kv.TouchPairs, apply.touch_pairs),
            (kv.CommitPairs, apply.commit_pairs),
            (kv.CommitPairsBatch, apply.commit_pairs_batch),
            (kv.ExpirePairs, apply.expire_pairs),
        )
    ]


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return vocabulary.QUERIES


@hookimpl
def quorate_controllers() -> Sequence[Controller | Timer]:
    return [families.EXPIRY]


@hookimpl
def quorate_grpc_services() -> Sequence[GrpcService]:
    return [service.KV]


@hookimpl
def quorate_extensions() -> Sequence[ExtensionPoint | Extension]:
    return [tables.EXTENSION]
