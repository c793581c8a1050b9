"""The declarations of the plugin."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Final

from quorate.plugin import CliCommand, ConfigSection, Declaration, Extension, RaftGroup, hookimpl
from quorate.plugin.advanced import ConsolePage, Demo

from quorate_offset import expiry, families, resources, tenants
from quorate_offset.config import OffsetConfig
from quorate_offset.offsets import service, tables

_PAGE: Final = ConsolePage(
    title="Groups of consumers",
    tables={
        "Groups": ("offset", "group", "list", "--limit", "200"),
        "Offsets": ("offset", "list", "{tenant}", "{group}"),
        # Brokers know the ends of partitions.
        "Lag": ("offset", "group", "lag", "--end={end}", "{tenant}", "{group}"),
    },
)


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        RaftGroup(name=families.GROUP),
        *families.FAMILIES,
        resources.SUBSCRIPTION_GROUP,
        *resources.COMMANDS,
        *resources.QUERIES,
        expiry.EXPIRY,
        *tenants.DELETION,
        service.OFFSET,
        *(service.COMMITTED, service.ROWS_READ, service.GROUPS_LISTED, expiry.EXPIRED),
        ConfigSection(model=OffsetConfig),
        CliCommand(
            name="offset",
            help="Show, reset and delete the offsets of consumer groups.",
            load=lambda: import_module("quorate_offset.cli").offset,
            former={
                "offset groups": "offset group list",
                "offset lag": "offset group lag",
                "offset show": "offset list",
            },
        ),
        tables.EXTENSION,
        Extension(point="cluster.console_pages", name="offset", value=_PAGE),
        Extension(
            point="cluster.demos",
            name="offset",
            value=Demo(load=lambda: import_module("quorate_offset.client.demo").demo),
        ),
        Extension(point="cluster.console_groups", name="offset", value="Messaging"),
    ]
