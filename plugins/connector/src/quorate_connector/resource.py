"""What one room of the plugin declares."""

from dataclasses import dataclass
from typing import Any

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
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Everything that a room gives to the plugin's hooks."""

    families: tuple[ColumnFamily, ...] = ()
    commands: tuple[Command[Any], ...] = ()
    routes: tuple[DataRoute[Any], ...] = ()
    queries: tuple[Query[Any], ...] = ()
    controllers: tuple[Controller | Timer, ...] = ()
    services: tuple[GrpcService, ...] = ()
    extensions: tuple[ExtensionPoint | Extension, ...] = ()
