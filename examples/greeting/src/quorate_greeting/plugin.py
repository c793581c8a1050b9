"""What the plugin declares: every hook that it implements, and nothing else."""

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from quorate.plugin import (
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
    hookimpl,
)

from quorate_greeting import apply, caches, controllers, families, salutations, service, vocabulary
from quorate_greeting.config import GreetingConfig
from quorate_greeting.v1 import commands_pb2 as commands


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
    return [
        DataRoute(message=commands.SayHelloCommand, apply=apply.say_hello),
        DataRoute(message=commands.SayHelloBatchCommand, apply=apply.say_hello_batch),
        DataRoute(message=commands.ForgetCommand, apply=apply.forget),
        DataRoute(message=commands.ExpireGreetingsCommand, apply=apply.expire_greetings),
        DataRoute(message=commands.RecordTallyCommand, apply=apply.record_tally),
    ]


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return vocabulary.QUERIES


@hookimpl
def quorate_caches() -> Sequence[Cache]:
    return [caches.TALLIES]


@hookimpl
def quorate_controllers() -> Sequence[Controller | Timer]:
    return [controllers.EXPIRY, controllers.TALLY_KEEPING]


@hookimpl
def quorate_grpc_services() -> Sequence[GrpcService]:
    return [service.GREETING]


@hookimpl
def quorate_metrics() -> Sequence[Metric]:
    return [service.HELLOS]


@hookimpl
def quorate_config_sections() -> Sequence[ConfigSection]:
    return [ConfigSection(model=GreetingConfig)]


@hookimpl
def quorate_cli_commands() -> Sequence[CliCommand]:
    return [
        CliCommand(
            name="greeting",
            help="See how people are greeted.",
            load=lambda: import_module("quorate_greeting.cli").greeting,
        )
    ]


@hookimpl
def quorate_extensions() -> Sequence[ExtensionPoint | Extension]:
    return [salutations.POINT, *salutations.OWN]
