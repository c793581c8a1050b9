"""What the plugin declares: every hook that it implements, and nothing else."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Final

from quorate.plugin import (
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

from quorate_offset import families, vocabulary
from quorate_offset.config import OffsetConfig
from quorate_offset.expiry import apply as expiry, controllers
from quorate_offset.names import TENANTS
from quorate_offset.offsets import apply as offsets, service, tables
from quorate_offset.subscriptions import apply as subscriptions, service as subscription_service
from quorate_offset.tenants import controllers as tenants
from quorate_offset.v1 import commands_pb2 as commands

#: Copies of core's rows: whether there is such a tenant.
_READS: Final = (TENANTS,)


@hookimpl
def quorate_raft_groups() -> Sequence[RaftGroup]:
    return [RaftGroup(name=families.GROUP)]


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    return families.FAMILIES


@hookimpl
def quorate_commands() -> Sequence[Command[Any]]:
    return vocabulary.COMMANDS


@hookimpl
def quorate_data_routes() -> Sequence[DataRoute[Any]]:
    put_groups = commands.PutSubscriptionGroupsCommand
    delete_groups = commands.DeleteSubscriptionGroupsCommand
    return [
        DataRoute(
            message=commands.CommitOffsetsCommand, apply=offsets.commit_offsets, reads=_READS
        ),
        DataRoute(message=commands.FenceGroupsCommand, apply=offsets.fence_groups, reads=_READS),
        DataRoute(message=commands.ResetOffsetsCommand, apply=offsets.reset_offsets, reads=_READS),
        DataRoute(message=commands.DeleteOffsetsCommand, apply=offsets.delete_offsets),
        DataRoute(message=put_groups, apply=subscriptions.put_groups, reads=_READS),
        DataRoute(message=delete_groups, apply=subscriptions.delete_groups),
        DataRoute(message=commands.ExpireGroupsCommand, apply=expiry.expire_groups),
    ]


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return vocabulary.QUERIES


@hookimpl
def quorate_controllers() -> Sequence[Controller | Timer]:
    return [controllers.EXPIRY, tenants.DELETION]


@hookimpl
def quorate_grpc_services() -> Sequence[GrpcService]:
    return [service.OFFSET, subscription_service.SUBSCRIPTION_GROUP]


@hookimpl
def quorate_metrics() -> Sequence[Metric]:
    return [service.COMMITTED, service.ROWS_READ, service.GROUPS_LISTED, controllers.EXPIRED]


@hookimpl
def quorate_config_sections() -> Sequence[ConfigSection]:
    return [ConfigSection(model=OffsetConfig)]


@hookimpl
def quorate_cli_commands() -> Sequence[CliCommand]:
    return [
        CliCommand(
            name="offset",
            help="See, reset and delete the offsets of groups of consumers.",
            load=lambda: import_module("quorate_offset.cli").offset,
        )
    ]


@hookimpl
def quorate_extensions() -> Sequence[ExtensionPoint | Extension]:
    return [tenants.TAKES_PART, tables.EXTENSION]
