"""The declarations of the plugin."""

from collections.abc import Sequence
from importlib import import_module
from typing import Final

from quorate.plugin import (
    CliCommand,
    ConfigSection,
    DataRoute,
    Declaration,
    RaftGroup,
    hookimpl,
)

from quorate_greeting import apply, caches, controllers, families, salutations, service, vocabulary
from quorate_greeting.config import GreetingConfig
from quorate_greeting.v1 import commands_pb2 as commands

ROUTES: Final = (
    DataRoute(message=commands.SayHelloCommand, apply=apply.say_hello),
    DataRoute(message=commands.SayHelloBatchCommand, apply=apply.say_hello_batch),
    DataRoute(message=commands.ForgetCommand, apply=apply.forget),
    DataRoute(message=commands.ExpireGreetingsCommand, apply=apply.expire_greetings),
    DataRoute(message=commands.RecordTallyCommand, apply=apply.record_tally),
)


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        RaftGroup(name=families.GROUP),
        *families.FAMILIES,
        *vocabulary.COMMANDS,
        *ROUTES,
        *vocabulary.QUERIES,
        caches.TALLIES,
        controllers.EXPIRY,
        controllers.TALLY_KEEPING,
        service.GREETING,
        service.HELLOS,
        ConfigSection(model=GreetingConfig),
        CliCommand(
            name="greeting",
            help="See how people are greeted.",
            load=lambda: import_module("quorate_greeting.cli").greeting,
        ),
        salutations.POINT,
        *salutations.OWN,
    ]
