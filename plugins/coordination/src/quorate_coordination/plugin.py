"""The declarations of the plugin."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING

from quorate.plugin import CliCommand, Declaration, Extension, hookimpl
from quorate.plugin.advanced import Demo

from quorate_coordination.attachments import ATTACHMENT, ENDED_ONES, ENDING
from quorate_coordination.families import INDEXES
from quorate_coordination.fences import FIND, NAMES
from quorate_coordination.leases import EXPIRY, LEASE
from quorate_coordination.locks import CLAIM, LOCK

if TYPE_CHECKING:
    import click


@hookimpl
def quorate_declarations() -> Sequence[Declaration]:
    return [
        *INDEXES,
        *(LEASE, LOCK, CLAIM, ATTACHMENT),
        *(ENDED_ONES, FIND),
        *NAMES,
        *(EXPIRY, ENDING),
        *(
            CliCommand(name=name, help=text, load=partial(_command, name), former=former)
            for name, text, former in (
                (
                    "lock",
                    "Run commands under locks, and list locks and their holders.",
                    {"coordination locks": "lock", "lock show": "lock get"},
                ),
                (
                    "election",
                    "Campaign for leadership, and show leaders.",
                    {"election leader": "election get"},
                ),
                (
                    "lease",
                    "See leases, and end them.",
                    {"coordination leases": "lease", "lease end": "lease delete"},
                ),
            )
        ),
        Extension(
            point="cluster.demos",
            name="coordination",
            value=Demo(load=lambda: import_module("quorate_coordination.client.demo").demo),
        ),
        Extension(point="cluster.console_groups", name="coordination", value="Coordination"),
    ]


def _command(name: str) -> click.Command:
    command: click.Command = getattr(import_module("quorate_coordination.cli"), name)
    return command
