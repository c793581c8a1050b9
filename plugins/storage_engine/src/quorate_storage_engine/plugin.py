"""What the plugin declares: every hook that it implements, and nothing else."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from quorate.plugin import (
    METADATA_GROUP,
    CliCommand,
    ColumnFamily,
    ConfigSection,
    ConsoleAction,
    ConsolePage,
    Controller,
    Extension,
    ExtensionPoint,
    Metric,
    Query,
    RaftGroup,
    Resource,
    Timer,
    hookimpl,
)

from quorate_storage_engine import families, metrics, resources
from quorate_storage_engine.config import StorageEngineConfig
from quorate_storage_engine.engines import controllers as moves
from quorate_storage_engine.leadership import controllers as elections
from quorate_storage_engine.removal import controllers as collection
from quorate_storage_engine.shards import tenants


@hookimpl
def quorate_raft_groups() -> Sequence[RaftGroup]:
    return [METADATA_GROUP]


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    return families.FAMILIES


@hookimpl
def quorate_resources() -> Sequence[Resource[Any]]:
    return resources.RESOURCES


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return resources.QUERIES


@hookimpl
def quorate_controllers() -> Sequence[Controller | Timer]:
    return [
        elections.ELECTION_HOLDING,
        elections.BALANCING,
        moves.REPLICA_PLACING,
        collection.GARBAGE_COLLECTION,
        tenants.DELETION,
    ]


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
    page = ConsolePage(
        title="Storage engines",
        tables={
            "Segments without a leader": ("engine", "segments", "--unavailable", "--limit", "200"),
            "Engines": ("engine", "list"),
            "Engine shards": ("engine", "shards", "--limit", "200"),
        },
        actions={
            "decommission": ConsoleAction(
                title="Decommission an engine",
                command=("engine", "decommission", "{engine}"),
                plan=("engine", "list"),
            ),
            "recommission": ConsoleAction(
                title="Let an engine take replicas on again",
                command=("engine", "recommission", "{engine}"),
                plan=("engine", "list"),
            ),
            "balance": ConsoleAction(
                title="Give leadership back to preferred leaders",
                command=("engine", "balance"),
                plan=("engine", "balance", "--dry-run"),
            ),
        },
    )
    return [
        tenants.FINALIZER,
        tenants.TAKES_PART,
        Extension(point="cluster.console_pages", name="engine", value=page),
    ]
