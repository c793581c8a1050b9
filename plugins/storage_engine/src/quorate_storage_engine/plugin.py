"""The declarations of the plugin."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Final

from quorate.plugin import CliCommand, ConfigSection, Declaration, Extension, hookimpl
from quorate.plugin.advanced import METADATA_GROUP, ConsoleAction, ConsolePage

from quorate_storage_engine import families, metrics, resources
from quorate_storage_engine.config import StorageEngineConfig
from quorate_storage_engine.engines.controllers import REPLICA_PLACING
from quorate_storage_engine.leadership.controllers import BALANCING, ELECTION_HOLDING
from quorate_storage_engine.removal.controllers import GARBAGE_COLLECTION
from quorate_storage_engine.shards import tenants

_PAGE: Final = ConsolePage(
    title="Storage engines",
    tables={
        "Segments without a leader": (
            *("engine", "segment", "list"),
            *("--unavailable", "--limit", "200"),
        ),
        "Engines": ("engine", "list"),
        "Engine shards": ("engine", "shard", "list", "--limit", "200"),
    },
    actions={
        "decommission": ConsoleAction(
            title="Decommission an engine",
            command=("engine", "decommission", "--yes", "{engine}"),
            plan=("engine", "decommission", "--dry-run", "{engine}"),
        ),
        "recommission": ConsoleAction(
            title="Let an engine accept replicas again",
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


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        METADATA_GROUP,
        *families.FAMILIES,
        *resources.RESOURCES,
        *resources.QUERIES,
        *(ELECTION_HOLDING, BALANCING, REPLICA_PLACING, GARBAGE_COLLECTION, tenants.DELETION),
        *metrics.METRICS,
        ConfigSection(model=StorageEngineConfig),
        CliCommand(
            name="engine",
            help="Show engine shards and their segments, and manage engines.",
            load=lambda: import_module("quorate_storage_engine.cli").engine,
            former={
                "engine drops": "engine drop list",
                "engine force-leader": "engine segment force-leader",
                "engine isr": "engine replica list",
                "engine segments": "engine segment list",
                "engine shards": "engine shard list",
            },
        ),
        tenants.FINALIZER,
        tenants.TAKES_PART,
        Extension(point="cluster.console_pages", name="engine", value=_PAGE),
        Extension(point="cluster.console_groups", name="storage_engine", value="Brokers"),
        Extension(point="cluster.console_groups", name="engine", value="Brokers"),
    ]
