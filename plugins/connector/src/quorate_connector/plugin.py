"""The declarations of the plugin."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Final

from quorate.plugin import (
    CliCommand,
    ConfigSection,
    Declaration,
    Extension,
    ExtensionPoint,
    RaftGroup,
    hookimpl,
)
from quorate.plugin.advanced import ConsoleAction, ConsolePage, Demo

from quorate_connector import families, resources
from quorate_connector.api import TYPES, ConnectorType
from quorate_connector.config import ConnectorConfig
from quorate_connector.scheduling.controllers import METRICS
from quorate_connector.types.shipped import SHIPPED

_TASKS: Final = ("connector", "task", "list", "--limit", "200", "--state")


def _of_connector(verb: str) -> ConsoleAction:
    return ConsoleAction(
        title=f"{verb.capitalize()} a connector",
        command=("connector", verb, "{tenant}", "{connector}"),
        plan=("connector", "task", "list", "{tenant}", "{connector}"),
    )


_PAGE: Final = ConsolePage(
    title="Tasks of connectors",
    tables={
        "Failed tasks": (*_TASKS, "failed"),
        "Tasks without a worker": (*_TASKS, "unassigned"),
        "Workers": ("connector", "worker", "list"),
    },
    actions={
        **{verb: _of_connector(verb) for verb in ("pause", "resume", "stop", "restart")},
        "drain": ConsoleAction(
            title="Drain a worker", command=("connector", "worker", "drain", "{worker}")
        ),
        "undrain": ConsoleAction(
            title="Let a worker have tasks again",
            command=("connector", "worker", "undrain", "{worker}"),
        ),
    },
)


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        RaftGroup(name=families.GROUP),
        *families.FAMILIES,
        *resources.RESOURCES,
        resources.REPORT,
        *resources.QUERIES,
        *resources.CONTROLLERS,
        *METRICS,
        ConfigSection(model=ConnectorConfig),
        CliCommand(
            name="connector",
            help="Define connectors, and see the states of their tasks.",
            load=lambda: import_module("quorate_connector.cli").connector,
            former={
                "connector show": "connector get",
                "connector versions": "connector version list",
                "connector types": "connector type list",
                "connector status": "connector task list",
                "connector history": "connector task history",
                "connector workers": "connector worker list",
                "connector drain": "connector worker drain",
                "connector undrain": "connector worker undrain",
            },
        ),
        ExtensionPoint(name=TYPES, type=ConnectorType),
        *(each.extension for each in SHIPPED),
        Extension(point="cluster.console_pages", name="connector", value=_PAGE),
        Extension(
            point="cluster.demos",
            name="connector",
            value=Demo(load=lambda: import_module("quorate_connector.client.demo").demo),
        ),
        Extension(point="cluster.console_groups", name="connector", value="Connectors"),
    ]
