"""What one resource of the plugin declares, and how its rows are erased with their tenant."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from quorate.plugin import (
    Cache,
    ColumnFamily,
    Command,
    ConfigSection,
    Controller,
    DataRoute,
    Extension,
    ExtensionPoint,
    GrpcService,
    Metric,
    NodeApi,
    Query,
    Timer,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """Rows of tenants in a family whose keys begin with the tenant."""

    family: str
    #: Returns the batch command, answered with a `BatchReply`, that deletes the rows of these keys
    #: and whatever goes with them; a row that is gone already does not keep it from the others.
    erase: Callable[[Sequence[bytes]], Message]
    #: Adds to that command what the node alone knows.
    complete: Callable[[NodeApi, Message], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Everything that a resource gives to the plugin's hooks."""

    families: tuple[ColumnFamily, ...] = ()
    commands: tuple[Command[Any], ...] = ()
    routes: tuple[DataRoute[Any], ...] = ()
    queries: tuple[Query[Any], ...] = ()
    caches: tuple[Cache, ...] = ()
    controllers: tuple[Controller | Timer, ...] = ()
    metrics: tuple[Metric, ...] = ()
    services: tuple[GrpcService, ...] = ()
    extensions: tuple[ExtensionPoint | Extension, ...] = ()
    config: tuple[ConfigSection, ...] = ()
    #: What is deleted when a tenant is.
    holdings: tuple[Holding, ...] = ()
