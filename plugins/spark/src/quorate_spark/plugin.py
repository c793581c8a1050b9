"""The declarations of the plugin."""

from collections.abc import Sequence
from importlib import import_module
from typing import Final

from quorate.plugin import CliCommand, Declaration, Extension, hookimpl
from quorate.plugin.advanced import ConsoleAction, ConsolePage

from quorate_spark import api, loads, vocabulary

_PAGE: Final = ConsolePage(
    title="Bulk loads",
    tables={"Loads": ("spark", "load", "list")},
    actions={
        verb: ConsoleAction(
            title=f"{verb.capitalize()} a load",
            command=("spark", "load", verb, *agreed, "{load_id}"),
            plan=("spark", "load", "get", "{load_id}"),
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
            name="spark",
            help="Load files into tables, and write tables into files.",
            load=lambda: import_module("quorate_spark.cli").spark,
            former={
                "export": "spark export",
                "load": "spark load run",
                "loads": "spark load",
                "loads show": "spark load get",
                "spark check": "spark load check",
            },
        ),
        api.TABLES,
        Extension(point="cluster.console_pages", name="loads", value=_PAGE),
        Extension(point="cluster.console_groups", name="loads", value="Cluster"),
    ]
