"""What the plugin declares: every hook that it implements, and nothing else."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from quorate.plugin import (
    METADATA_GROUP,
    CliCommand,
    ColumnFamily,
    Command,
    ConfigSection,
    Controller,
    DataRoute,
    Extension,
    ExtensionPoint,
    GrpcService,
    Metric,
    Query,
    RaftGroup,
    Timer,
    hookimpl,
)

from quorate_storage_engine import families, health, metrics, service
from quorate_storage_engine.config import StorageEngineConfig
from quorate_storage_engine.engines import controllers as moves, vocabulary as engines
from quorate_storage_engine.leadership import controllers as elections, vocabulary as leadership
from quorate_storage_engine.removal import controllers as collection, vocabulary as removal
from quorate_storage_engine.segments import vocabulary as segments
from quorate_storage_engine.shards import topics, vocabulary as shards


@hookimpl
def quorate_raft_groups() -> Sequence[RaftGroup]:
    return [METADATA_GROUP]


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    return families.FAMILIES


@hookimpl
def quorate_commands() -> Sequence[Command[Any]]:
    return [
        *shards.COMMANDS,
        *segments.COMMANDS,
        *leadership.COMMANDS,
        *engines.COMMANDS,
        *removal.COMMANDS,
    ]


@hookimpl
def quorate_data_routes() -> Sequence[DataRoute[Any]]:
    return [
        *shards.ROUTES,
        *segments.ROUTES,
        *leadership.ROUTES,
        *engines.ROUTES,
        *removal.ROUTES,
    ]


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return [
        *shards.QUERIES,
        *segments.QUERIES,
        *leadership.QUERIES,
        *engines.QUERIES,
        *removal.QUERIES,
        health.GET,
    ]


@hookimpl
def quorate_controllers() -> Sequence[Controller | Timer]:
    return [
        elections.ELECTION_HOLDING,
        elections.BALANCING,
        moves.REPLICA_PLACING,
        collection.GARBAGE_COLLECTION,
    ]


@hookimpl
def quorate_grpc_services() -> Sequence[GrpcService]:
    return [service.ENGINE]


@hookimpl
def quorate_metrics() -> Sequence[Metric]:
    return metrics.METRICS


@hookimpl
def quorate_config_sections() -> Sequence[ConfigSection]:
    return [ConfigSection(model=StorageEngineConfig)]


@hookimpl
def quorate_cli_commands() -> Sequence[CliCommand]:
    return [
        CliCommand(
            name="engine",
            help="See engine shards and their segments, and look after engines.",
            load=lambda: import_module("quorate_storage_engine.cli").engine,
        )
    ]


@hookimpl
def quorate_extensions() -> Sequence[ExtensionPoint | Extension]:
    return [topics.FINALIZER]
