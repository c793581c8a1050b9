"""The declarations of the plugin."""

from collections.abc import Sequence
from importlib import import_module

from quorate.plugin import (
    CliCommand,
    ConfigSection,
    Declaration,
    RaftGroup,
    hookimpl,
)

from quorate_greeting import caches, controllers, families, salutations, service, vocabulary
from quorate_greeting.config import GreetingConfig


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        RaftGroup(name=families.GROUP),
        *families.FAMILIES,
        *vocabulary.COMMANDS,
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
