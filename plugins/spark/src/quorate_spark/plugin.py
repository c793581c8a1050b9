"""What the plugin declares: every hook that it implements, and nothing else."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from quorate.plugin import (
    CliCommand,
    ColumnFamily,
    Command,
    ConsoleAction,
    ConsolePage,
    DataRoute,
    Extension,
    ExtensionPoint,
    GrpcService,
    Query,
    hookimpl,
)

from quorate_spark import api, apply, loads
from quorate_spark.v1 import commands_pb2 as commands


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    return loads.FAMILIES


@hookimpl
def quorate_commands() -> Sequence[Command[Any]]:
    return loads.COMMANDS


@hookimpl
def quorate_data_routes() -> Sequence[DataRoute[Any]]:
    return [
        DataRoute(message=commands.BeginLoadCommand, apply=apply.begin_load),
        DataRoute(message=commands.ReportPartitionCommand, apply=apply.report_partition),
        DataRoute(message=commands.EndLoadCommand, apply=apply.end_load),
        DataRoute(message=commands.BeginAbortCommand, apply=apply.begin_abort),
        DataRoute(message=commands.EndAbortCommand, apply=apply.end_abort),
        DataRoute(message=commands.ForgetLoadCommand, apply=apply.forget_load),
    ]


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return loads.QUERIES


@hookimpl
def quorate_grpc_services() -> Sequence[GrpcService]:
    return [loads.SERVICE]


@hookimpl
def quorate_cli_commands() -> Sequence[CliCommand]:
    return [
        CliCommand(
            name="load",
            help="Load files into a table, with Spark on this machine.",
            load=lambda: import_module("quorate_spark.cli").load,
        ),
        CliCommand(
            name="export",
            help="Write the rows of a table into files.",
            load=lambda: import_module("quorate_spark.cli").export,
        ),
        CliCommand(
            name="spark",
            help="Check files before they are loaded.",
            load=lambda: import_module("quorate_spark.cli").spark,
        ),
        CliCommand(
            name="loads",
            help="List bulk loads; publish, abort and forget them.",
            load=lambda: import_module("quorate_spark.cli").loads,
        ),
    ]


@hookimpl
def quorate_extensions() -> Sequence[ExtensionPoint | Extension]:
    page = ConsolePage(
        title="Bulk loads",
        tables={"Loads": ("loads", "list")},
        actions={
            verb: ConsoleAction(
                title=title,
                command=("loads", verb, "{load_id}"),
                plan=("loads", "show", "{load_id}"),
            )
            for verb, title in (
                ("publish", "Publish a load"),
                ("abort", "Abort a load"),
                ("forget", "Forget a load"),
            )
        },
    )
    return [
        api.TABLES,
        Extension(point="cluster.console_pages", name="loads", value=page),
    ]
