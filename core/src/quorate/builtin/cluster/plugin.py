"""What the domain declares: brokers with their lives, and which of them coordinate what."""

from collections.abc import Sequence
from typing import Any

from quorate.builtin.cluster import brokers
from quorate.builtin.cluster.coordinators import resource as coordinators
from quorate.builtin.cluster.coordinators.controllers import MOVING
from quorate.builtin.cluster.coordinators.rows import ASSIGNMENTS
from quorate.builtin.cluster.families import GROUP
from quorate.plugin import (
    ColumnFamily,
    ConsolePage,
    Controller,
    Extension,
    ExtensionPoint,
    Query,
    Resource,
    Timer,
    hookimpl,
)


@hookimpl
def quorate_resources() -> Sequence[Resource[Any]]:
    return [brokers.BROKER, coordinators.COORDINATOR]


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    return [ColumnFamily(name=ASSIGNMENTS, group=GROUP)]


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return (brokers.LIST, *coordinators.QUERIES)


@hookimpl
def quorate_controllers() -> Sequence[Controller | Timer]:
    return [brokers.LIFE, MOVING]


@hookimpl
def quorate_extensions() -> Sequence[ExtensionPoint | Extension]:
    return [ExtensionPoint(name="cluster.console_pages", type=ConsolePage)]
