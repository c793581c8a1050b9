"""The fifteen hooks of a plugin.

Each is called once, at boot, in the order of the plugins' names, one implementation at a time, so
that every answer and every error has an owner. All are pure and do no I/O, except the lifespan.
On a node they are called for the plugins that the configuration enables; the command line and the
client call those of every installed plugin.
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
    DataRoute,
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

#: What the hook ``quorate_declarations`` may return.
Declaration: TypeAlias = (
    RaftGroup
    | ColumnFamily
    | Resource[Any]
    | Command[Any]
    | DataRoute[Any]
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

# Everything: all that the plugin declares, in one list.


@hookspec
def quorate_declarations() -> Sequence[Declaration]:
    """Return declarations of any kind, as the hooks of the single kinds return them.

    The order within each kind is kept. Refused: declarations that the hook of their kind refuses.
    """
    raise NotImplementedError


# Vocabulary: the rows that the plugin stores, and the messages for changing and reading them.


@hookspec
def quorate_raft_groups() -> Sequence[RaftGroup]:
    """Return the Raft groups that the plugin's rows live in.

    Equal declarations of several plugins merge. Refused: two different declarations of one name.
    """
    raise NotImplementedError


@hookspec
def quorate_column_families() -> Sequence[ColumnFamily]:
    """Return the column families that the plugin owns.

    Refused: a name that does not begin with the plugin's own, and an undeclared group.
    """
    raise NotImplementedError


@hookspec
def quorate_resources() -> Sequence[Resource[Any]]:
    """Return the plain resources: rows with a key that are written, read, listed and watched.

    Families, commands, routes, queries, services, the deletion with a tenant, the records of the
    clients, the command line and the table are derived.

    Refused: a method without a verb, a verb without a method, and a message that does not fit.
    """
    raise NotImplementedError


@hookspec
def quorate_commands() -> Sequence[Command[Any]]:
    """Return the vocabulary of writes: enough to propose, also where no replica is.

    Refused: a message that another plugin declares, a command without examples, without a data
    route, and with both or neither of `shard_key` and `items`.
    """
    raise NotImplementedError


@hookspec
def quorate_data_routes() -> Sequence[DataRoute[Any]]:
    """Return the handlers of the commands; each command runs once, on the leader of its shard.

    Refused: a route without a command, a second route, and `reads` of a family that is neither in
    the command's group nor mirrored.
    """
    raise NotImplementedError


@hookspec
def quorate_queries() -> Sequence[Query[Any]]:
    """Return the vocabulary of reads.

    Refused: a message that is declared twice, a query over all shards without an `order`, and one
    with both `shard_key` and `items`.
    """
    raise NotImplementedError


# Behaviour: the work of the plugin on a node.


@hookspec
def quorate_caches() -> Sequence[Cache]:
    """Return the caches that the host keeps up on every node.

    Refused: a family that no plugin declares or that has no `row`.
    """
    raise NotImplementedError


@hookspec
def quorate_controllers() -> Sequence[Controller | Timer]:
    """Return the background tasks and timers that run on leaders.

    Refused: a name that does not begin with the plugin's own, and an undeclared group.
    """
    raise NotImplementedError


@hookspec
def quorate_grpc_services() -> Sequence[GrpcService]:
    """Return the gRPC services that every node serves.

    A servicer is a plain class: each method of the service is bound to its method of that name,
    streams and message classes as the `.proto` file has them.

    Refused: a full name that another plugin declares; a servicer without a method of its service,
    or with a public one that the service does not have.
    """
    raise NotImplementedError


@hookspec
def quorate_metrics() -> Sequence[Metric]:
    """Return the metrics that the plugin reports.

    Refused: a name that does not begin with `quorate_<plugin>_`.
    """
    raise NotImplementedError


@hookspec
def quorate_lifespan(node: NodeApi) -> AbstractAsyncContextManager[None]:
    """Return the context that the plugin's own tasks and connections live in while the node serves.

    Called on a node alone, after the catalog is frozen; entered before the first call is served,
    left after the last one. An exception on entering stops the start.
    """
    raise NotImplementedError


# Surroundings: additions to the configuration file, the command line and other plugins.


@hookspec
def quorate_config_sections() -> Sequence[ConfigSection]:
    """Return the model of the plugin's section `[plugins.<name>]`, if it has one.

    Refused: more than one, and a model that is not frozen or does not forbid unknown keys.
    """
    raise NotImplementedError


@hookspec
def quorate_cli_commands() -> Sequence[CliCommand]:
    """Return the commands that the plugin adds below `quorate`.

    Refused: a name that the command line or another plugin has.
    """
    raise NotImplementedError


@hookspec
def quorate_extensions() -> Sequence[ExtensionPoint | Extension]:
    """Return the plugin's extension points, and its extensions to the points of other plugins.

    Refused: a point that is declared twice, and an extension that is not of the point's type.
    """
    raise NotImplementedError
