"""Declarations of the domain: brokers with their deadlines, and coordinators of keys."""

from __future__ import annotations

from collections.abc import Sequence

from quorate.builtin.cluster import brokers
from quorate.builtin.cluster.coordinators import resource as coordinators
from quorate.builtin.cluster.coordinators.rows import ASSIGNMENTS
from quorate.builtin.cluster.families import GROUP
from quorate.plugin import ColumnFamily, Declaration, Extension, ExtensionPoint, hookimpl
from quorate.plugin.advanced import FENCE_NAMES, ConsolePage, Demo, FenceNames


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        *(brokers.BROKER, coordinators.COORDINATOR),
        ColumnFamily(name=ASSIGNMENTS, group=GROUP),
        *(brokers.LIST, *coordinators.QUERIES),
        *(brokers.LIFE, coordinators.MOVING),
        ExtensionPoint(name="cluster.console_pages", type=ConsolePage),
        # The group of the menu by the name of a plugin, of a family or of a page.
        ExtensionPoint(name="cluster.console_groups", type=str),
        ExtensionPoint(name="cluster.demos", type=Demo),
        ExtensionPoint(name=FENCE_NAMES, type=FenceNames),
        Extension(point="cluster.console_groups", name="cluster", value="Brokers"),
    ]
