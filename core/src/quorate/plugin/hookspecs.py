"""The two hooks of a plugin.

Both are called once, at boot, in the order of the plugins' names, one implementation at a time, so
that every answer and every error has an owner. On a node they are called for the plugins that the
configuration enables; the command line and the client ask every installed plugin for its
declarations.
"""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeAlias

from quorate.plugin.declarations import (
    Cache,
    CliCommand,
    ColumnFamily,
    Command,
    ConfigSection,
    Controller,
    Extension,
    ExtensionPoint,
    GrpcService,
    Metric,
    Query,
    RaftGroup,
    Timer,
)
from quorate.plugin.markers import hookspec
from quorate.plugin.node import NodeApi
from quorate.plugin.resource import Resource

#: What a plugin may declare.
Declaration: TypeAlias = (
    RaftGroup
    | ColumnFamily
    | Resource[Any]
    | Command[Any]
    | Query[Any]
    | Cache
    | Controller
    | Timer
    | GrpcService
    | Metric
    | ConfigSection
    | CliCommand
    | ExtensionPoint
    | Extension
)


@hookspec
def quorate_declarations() -> Sequence[Declaration]:
    """Return all that the plugin declares, of any kind and in any order; pure, without any I/O.

    The order within each kind is kept. Refused, with the line and the repair: a name or a message
    that another plugin declares, a reference to what nobody declares, and a declaration that
    contradicts itself.
    """
    raise NotImplementedError


@hookspec
def quorate_lifespan(node: NodeApi) -> AbstractAsyncContextManager[None]:
    """Return the context that the plugin's own tasks and connections live in while the node serves.

    Called on a node alone, after the catalog is frozen; entered before the first call is served,
    left after the last one. An exception on entering stops the start.
    """
    raise NotImplementedError
