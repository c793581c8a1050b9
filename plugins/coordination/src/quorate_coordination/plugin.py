"""What the plugin declares: every hook that it implements, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from quorate.plugin import (
    CliCommand,
    ColumnFamily,
    Controller,
    Query,
    Resource,
    Timer,
    hookimpl,
)

from quorate_coordination.attachments import ATTACHMENT, ENDED_ONES, ENDING
from quorate_coordination.families import INDEXES
from quorate_coordination.leases import EXPIRY, LEASE
from quorate_coordination.locks import CLAIM, LOCK

if TYPE_CHECKING:
    import click


@hookimpl
def quorate_column_families() -> Sequence[ColumnFamily]:
    return INDEXES


@hookimpl
def quorate_resources() -> Sequence[Resource[Any]]:
    return [LEASE, LOCK, CLAIM, ATTACHMENT]


@hookimpl
def quorate_queries() -> Sequence[Query[Any]]:
    return [ENDED_ONES]


@hookimpl
def quorate_controllers() -> Sequence[Controller | Timer]:
    return [EXPIRY, ENDING]


@hookimpl
def quorate_cli_commands() -> Sequence[CliCommand]:
    return [
        CliCommand(name=name, help=text, load=partial(_command, name))
        for name, text in (
            ("lock", "Run commands under locks, and see who holds which."),
            ("election", "Lead, and see who does."),
            ("lease", "See leases, and end them."),
        )
    ]


def _command(name: str) -> click.Command:
    command: click.Command = getattr(import_module("quorate_coordination.cli"), name)
    return command
