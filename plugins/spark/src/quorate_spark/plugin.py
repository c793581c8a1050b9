"""The declarations of the plugin."""

from collections.abc import Sequence
from importlib import import_module
from typing import Final

from quorate.plugin import CliCommand, Declaration, Extension, hookimpl
from quorate.plugin.advanced import ConsoleAction, ConsolePage

from quorate_spark import api, loads, vocabulary

_PAGE: Final = ConsolePage(
    title="Bulk loads",
    tables={"Loads": ("loads", "list")},
    actions={
        verb: ConsoleAction(
            title=f"{verb.capitalize()} a load",
            command=("loads", verb, *agreed, "{load_id}"),
            plan=("loads", "show", "{load_id}"),
        )
        for verb, agreed in (("publish", ()), ("abort", ("--yes",)), ("forget", ()))
    },
)


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        *loads.FAMILIES,
        *vocabulary.COMMANDS,
        *loads.QUERIES,
        loads.SERVICE,
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
        api.TABLES,
        Extension(point="cluster.console_pages", name="loads", value=_PAGE),
        Extension(point="cluster.console_groups", name="loads", value="Cluster"),
    ]
